#include "src/generate/session.hpp"

#include <algorithm>
#include <limits>
#include <string>
#include <utility>

namespace relata {
namespace {

/// Rows of a decoding step where the caller does not say: beyond, weights are hardly read less.
constexpr int kDefaultRows = 16;
/// Source tokens encoded at once, if there is more than one text: bounds the scratch memory.
constexpr std::int64_t kEncodeRows = 512;

}  // namespace

Source Session::Item::source() {
  const int length = static_cast<int>(source_ids.size());
  Source result{source_ids, {}, nullptr};
  if (!labels.empty()) {
    result.labels = {labels.data(), static_cast<int>(labels.size()) / length, length, length};
  }
  return result;
}

Result<Session> Session::start(const Model& model, std::span<const int> source_ids,
                               MatrixView<const int> labels, const GenerateOptions& options) {
  const SessionInput input{source_ids, labels, {}};
  RELATA_TRY_ASSIGN(auto session, start(model, {&input, 1}, options));
  if (session.error(0) != nullptr) {
    return *session.error(0);
  }
  return session;
}

Result<Session> Session::start(const Model& model, std::span<const SessionInput> inputs,
                               const GenerateOptions& options) {
  Session session;
  session.model_ = &model;
  RELATA_TRY_ASSIGN(session.rules_, SearchRules::make(model.config, options));
  // What may be asked of the trace does not depend on the lengths.
  RELATA_TRY(AttentionTrace::allocate(model.config, options.trace, 1, 1));
  session.trace_request_ = options.trace;
  RELATA_TRY(session.prepare(inputs, options));
  RELATA_TRY(session.admit());
  return session;
}

/// Checks and copies the texts and makes room for the largest of them.
Result<void> Session::prepare(std::span<const SessionInput> inputs,
                              const GenerateOptions& options) {
  const Config& config = model_->config;
  int longest_source = 1;
  int longest_prefix = 0;
  for (const SessionInput& input : inputs) {
    Item item;
    Result<void> checked = check(config, Source{input.source_ids, input.labels, nullptr});
    if (checked.ok()) {
      checked = check_token_ids(config, input.target_prefix, "target prefix");
    }
    const int longest = max_target_length(config);
    if (checked.ok() &&
        input.target_prefix.size() + static_cast<std::size_t>(rules_.max_new_tokens) >
            static_cast<std::size_t>(longest)) {
      checked = Error{ErrorCode::input_invalid, "target prefix",
                      "the target prefix and max_new_tokens together are above this model's limit "
                      "of " +
                          std::to_string(longest) + " tokens"};
    }
    if (checked.ok()) {
      item.source_ids.assign(input.source_ids.begin(), input.source_ids.end());
      item.target_prefix.assign(input.target_prefix.begin(), input.target_prefix.end());
      for (int i = 0; i < input.labels.rows; ++i) {
        item.labels.insert(item.labels.end(), input.labels.row(i),
                           input.labels.row(i) + input.labels.cols);
      }
      longest_source = std::max(longest_source, static_cast<int>(input.source_ids.size()));
      longest_prefix = std::max(longest_prefix, static_cast<int>(input.target_prefix.size()));
    } else {
      item.error = checked.error();
    }
    items_.push_back(std::move(item));
  }
  const int branches = rules_.num_branches();
  batch_size_ = options.batch_size > 0 ? options.batch_size : std::max(1, kDefaultRows / branches);
  batch_size_ = std::min(batch_size_, std::max(1, num_items()));
  const int rows = std::max(batch_size_ * branches, std::min(longest_prefix, kForcedRows));
  RELATA_TRY_ASSIGN(decoder_,
                    Decoder::start(*model_, {longest_source, longest_prefix + rules_.max_new_tokens,
                                             rows, !trace_request_.kinds.empty()}));
  RELATA_TRY_ASSIGN(logits_, Matrix::allocate(rows, config.vocab_size, "logits"));
  RELATA_TRY_ASSIGN(scores_, AlignedBuffer<float>::allocate(
                                 static_cast<std::uint64_t>(config.vocab_size), "scores"));
  return {};
}

AttentionTrace* Session::growing_trace(Item& item) {
  return item.trace.empty() || rules_.num_branches() > 1 ? nullptr : &item.trace;
}

/// Takes up texts until the batch is full.
Result<void> Session::admit() {
  while (static_cast<int>(active_.size()) < batch_size_ && next_item_ < num_items()) {
    std::vector<int> group;
    std::int64_t rows = 0;
    const std::size_t room = static_cast<std::size_t>(batch_size_) - active_.size();
    for (; next_item_ < num_items() && group.size() < room; ++next_item_) {
      const Item& item = item_at(next_item_);
      if (item.error) {
        continue;
      }
      rows += static_cast<std::int64_t>(item.source_ids.size());
      if (!group.empty() && rows > kEncodeRows) {
        break;
      }
      group.push_back(next_item_);
    }
    if (group.empty()) {
      continue;
    }
    if (take_up(group).ok()) {
      continue;
    }
    // Too large together, or one of them alone: the others go on without it.
    for (const int at : group) {
      if (std::find(active_.begin(), active_.end(), at) != active_.end()) {
        continue;
      }
      if (const Result<void> alone = take_up({&at, 1}); !alone.ok()) {
        item_at(at).error = alone.error();
      }
    }
  }
  return {};
}

/// Encodes texts together and opens a hypothesis for each.
Result<void> Session::take_up(std::span<const int> group) {
  std::vector<Source> sources;
  for (const int at : group) {
    Item& item = item_at(at);
    if (rules_.num_branches() == 1) {
      RELATA_TRY_ASSIGN(
          item.trace, AttentionTrace::allocate(
                          model_->config, trace_request_, static_cast<int>(item.source_ids.size()),
                          static_cast<int>(item.target_prefix.size()) + rules_.max_new_tokens));
    }
    sources.push_back(item.source());
    sources.back().trace = growing_trace(item);
  }
  RELATA_TRY_ASSIGN(auto encoded, encode(*model_, sources));
  int first = 0;
  for (const int at : group) {
    const int rows = static_cast<int>(item_at(at).source_ids.size());
    RELATA_TRY(open(at, encoded.view().slice_rows(first, rows)));
    first += rows;
  }
  return {};
}

Result<void> Session::open(int at, MatrixView<const float> encoded) {
  Item& item = item_at(at);
  RELATA_TRY(decoder_.add_source(encoded));
  Hypothesis prefix;
  if (const Result<void> fed = feed_prefix(item, prefix); !fed.ok()) {
    std::vector<int> others;
    for (int i = 0; i + 1 < decoder_.num_hypotheses(); ++i) {
      others.push_back(i);
    }
    RELATA_TRY(decoder_.reorder(others));
    return fed;
  }
  item.search = Search(rules_, std::move(prefix));
  item.encoder_runs = 1;
  active_.push_back(at);
  return {};
}

/// Feeds the start token and the target prefix but for its last token, which is the first step's,
/// to the decoder's last hypothesis.
Result<void> Session::feed_prefix(Item& item, Hypothesis& prefix) {
  prefix.token_ids = item.target_prefix;
  std::vector<int> input_ids = {rules_.start_id};
  input_ids.insert(input_ids.end(), prefix.token_ids.begin(), prefix.token_ids.end());
  const std::span<const int> to_feed(input_ids.data(), input_ids.size() - 1);
  std::vector<DecoderRun> runs(static_cast<std::size_t>(decoder_.num_hypotheses()));
  const auto most = static_cast<std::size_t>(kForcedRows);
  for (std::size_t first = 0; first < to_feed.size(); first += most) {
    const auto chunk = to_feed.subspan(first, std::min(most, to_feed.size() - first));
    runs.back() = {chunk, growing_trace(item)};
    RELATA_TRY(decoder_.forward(runs, logits_.view()));
    for (std::size_t i = 0; i < chunk.size(); ++i) {
      prefix.log_probabilities.push_back(
          log_probability(logits_.view(), static_cast<int>(i), prefix.token_ids[first + i]));
    }
  }
  return {};
}

Result<std::vector<GeneratedToken>> Session::step() {
  if (done()) {
    return Error{ErrorCode::option_invalid, "session", "this generation has already finished"};
  }
  std::vector<int> next_ids;
  std::vector<AttentionTrace*> traces;
  for (const int at : active_) {
    for (const Hypothesis& hypothesis : item_at(at).search.live()) {
      next_ids.push_back(hypothesis.token_ids.empty() ? rules_.start_id
                                                      : hypothesis.token_ids.back());
      traces.push_back(growing_trace(item_at(at)));
    }
  }
  is_allowed_.resize(next_ids.size());
  if (rules_.constrained &&
      std::find(is_allowed_.begin(), is_allowed_.end(), false) != is_allowed_.end()) {
    return Error{ErrorCode::option_invalid, "allowed_tokens",
                 "a constrained step needs the allowed tokens of every open prefix"};
  }
  std::vector<DecoderRun> runs;
  for (std::size_t i = 0; i < next_ids.size(); ++i) {
    runs.push_back({{&next_ids[i], 1}, traces[i]});
  }
  const int rows = static_cast<int>(runs.size());
  RELATA_TRY(decoder_.forward(runs, logits_.view().slice_rows(0, rows)));

  std::vector<GeneratedToken> tokens;
  std::vector<int> parents;
  std::vector<int> still_active;
  int first = 0;
  for (const int at : active_) {
    Item& item = item_at(at);
    const int count = static_cast<int>(item.search.live().size());
    std::span<const std::vector<int>> allowed;
    if (rules_.constrained) {
      allowed = std::span<const std::vector<int>>(allowed_).subspan(
          static_cast<std::size_t>(first), static_cast<std::size_t>(count));
    }
    auto chosen =
        item.search.advance(rules_, std::as_const(logits_).view().slice_rows(first, count), allowed,
                            {scores_.data(), scores_.size()});
    if (!chosen.ok()) {
      item.error = chosen.error();
    } else {
      emit(at, tokens);
      if (item.search.done()) {
        RELATA_TRY(finish(item));
      } else {
        still_active.push_back(at);
        for (const int parent : chosen.value()) {
          parents.push_back(first + parent);
        }
      }
    }
    first += count;
  }
  active_ = std::move(still_active);
  RELATA_TRY(decoder_.reorder(parents));
  RELATA_TRY(admit());
  allowed_.clear();
  is_allowed_.clear();
  return tokens;
}

void Session::emit(int at, std::vector<GeneratedToken>& tokens) {
  Item& item = item_at(at);
  const Hypothesis& leader = item.search.leader();
  for (const int stable = item.search.stable_length(); item.emitted < stable; ++item.emitted) {
    const auto index = static_cast<std::size_t>(item.emitted);
    tokens.push_back({leader.token_ids[index], leader.log_probabilities[index], at, item.emitted});
  }
}

Result<void> Session::finish(Item& item) {
  item.results = item.search.take_results(rules_);
  item.search = Search();
  if (trace_request_.kinds.empty() || rules_.num_branches() == 1) {
    return {};
  }
  // The attention of several hypotheses is not kept while they compete.
  const Source source = item.source();
  auto forced = teacher_force(*model_, source.token_ids, item.results.front().token_ids,
                              source.labels, trace_request_, rules_.start_id);
  if (forced.ok()) {
    item.trace = std::move(forced.value().trace);
  } else {
    item.error = forced.error();
    item.results.clear();
  }
  return {};
}

std::vector<OpenPrefix> Session::open_prefixes() const {
  std::vector<OpenPrefix> prefixes;
  if (rules_.constrained) {
    for (const int at : active_) {
      for (const Hypothesis& hypothesis : item_at(at).search.live()) {
        prefixes.push_back({at, hypothesis.token_ids});
      }
    }
  }
  return prefixes;
}

Result<void> Session::allow(int open, std::span<const int> token_ids) {
  const auto count = open_prefixes().size();
  if (open < 0 || static_cast<std::size_t>(open) >= count) {
    return Error{ErrorCode::option_invalid, "allowed_tokens",
                 "there are " + std::to_string(count) + " open prefixes, none of number " +
                     std::to_string(open)};
  }
  for (const int id : token_ids) {
    if (id < 0 || id >= rules_.vocab_size) {
      return Error{ErrorCode::option_invalid, "allowed_tokens",
                   "token id " + std::to_string(id) + " is not below the vocabulary size " +
                       std::to_string(rules_.vocab_size)};
    }
  }
  allowed_.resize(count);
  is_allowed_.resize(count);
  allowed_[static_cast<std::size_t>(open)].assign(token_ids.begin(), token_ids.end());
  is_allowed_[static_cast<std::size_t>(open)] = true;
  return {};
}

Result<void> Session::stop(int item) {
  const auto place = std::find(active_.begin(), active_.end(), item);
  if (place == active_.end() || rules_.search.num_beams > 1) {
    return Error{ErrorCode::option_invalid, "stop",
                 "only a text that is worked on, without beams, can be stopped"};
  }
  std::vector<int> others;
  int first = 0;
  for (const int at : active_) {
    const int count = static_cast<int>(item_at(at).search.live().size());
    for (int i = 0; i < count && at != item; ++i) {
      others.push_back(first + i);
    }
    first += count;
  }
  item_at(item).search.stop();
  RELATA_TRY(finish(item_at(item)));
  active_.erase(place);
  RELATA_TRY(decoder_.reorder(others));
  return admit();
}

FinishReason Session::finish_reason(int item) const {
  const auto& results = item_at(item).results;
  return results.empty() ? FinishReason::none : results.front().finish_reason;
}

const Error* Session::error(int item) const {
  const auto& error = item_at(item).error;
  return error ? &*error : nullptr;
}

std::span<const Hypothesis> Session::hypotheses(int item) const { return item_at(item).results; }

const AttentionTrace& Session::trace(int item) const { return item_at(item).trace; }

int Session::encoder_runs(int item) const { return item_at(item).encoder_runs; }

}  // namespace relata
