#include "src/generate/session.hpp"

#include <algorithm>
#include <string>
#include <utility>

namespace relata {

AttentionTrace* Session::growing_trace(Item& item) {
  return item.trace.empty() || rules_.num_branches() > 1 ? nullptr : &item.trace;
}

Result<std::vector<GeneratedToken>> Session::step() {
  if (done()) {
    return fail(ErrorCode::option_invalid, "session", "this generation has already finished");
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
    return fail(ErrorCode::option_invalid, "allowed_tokens",
                "a constrained step needs the allowed tokens of every open prefix");
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
                              source.labels, trace_request_, rules_.start_id, altered_.get());
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
    return fail(ErrorCode::option_invalid, "allowed_tokens",
                {"there are ", count, " open prefixes, none of number ", open});
  }
  for (const int id : token_ids) {
    if (id < 0 || id >= rules_.vocab_size) {
      return fail(ErrorCode::option_invalid, "allowed_tokens",
                  {"token id ", id, " is not below the vocabulary size ", rules_.vocab_size});
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
    return fail(ErrorCode::option_invalid, "stop",
                "only a text that is worked on, without beams, can be stopped");
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
