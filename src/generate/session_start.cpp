// How texts come into a session: checked, encoded together, their target prefixes read.
#include "src/generate/session.hpp"

#include <algorithm>
#include <cstdint>
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
  if (options.relation.alteration.kind != Alteration::none) {
    RELATA_TRY_ASSIGN(AlteredRelations altered, alter_relations(model, options.relation));
    session.altered_ = std::make_unique<const AlteredRelations>(std::move(altered));
  }
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
      checked = fail(ErrorCode::input_invalid, "target prefix",
                     {"the target prefix and max_new_tokens together are above this model's limit "
                      "of ",
                      longest, " tokens"});
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
                    Decoder::start(*model_,
                                   {longest_source, longest_prefix + rules_.max_new_tokens, rows,
                                    !trace_request_.kinds.empty()},
                                   altered_.get()));
  RELATA_TRY(logits_.reset(rows, config.vocab_size, "logits"));
  RELATA_TRY(scores_.reset(static_cast<std::uint64_t>(config.vocab_size), "scores"));
  return {};
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
  RELATA_TRY_ASSIGN(auto encoded, encode(*model_, sources, altered_.get()));
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
  if (Result<void> fed = feed_prefix(item, prefix); !fed.ok()) {
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

}  // namespace relata
