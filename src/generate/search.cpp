#include "src/generate/search.hpp"

#include <algorithm>
#include <limits>
#include <string>
#include <utility>

#include "src/generate/logits_processors.hpp"
#include "src/generate/sampler.hpp"
#include "src/kernels/kernels.hpp"

namespace relata {
namespace {

Handed nothing_allowed(std::size_t position) {
  return fail(ErrorCode::option_invalid, {"target token ", position},
              "no token is allowed here: bans and constraints leave nothing");
}

}  // namespace

Search::Search(const SearchRules& rules, Hypothesis prefix)
    : prefix_length_(static_cast<int>(prefix.token_ids.size())) {
  if (rules.search.num_beams > 1) {
    beams_.emplace(std::move(prefix));
  } else {
    live_.push_back(std::move(prefix));
    finished_.resize(static_cast<std::size_t>(rules.search.num_return_sequences));
  }
}

std::span<const Hypothesis> Search::live() const {
  return beams_ ? beams_->running() : std::span<const Hypothesis>(live_);
}

bool Search::done() const { return beams_ ? beams_->done() : live_.empty(); }

/// The scores to choose by: processed in the scratch where there is anything to process.
std::span<const float> Search::processed(const SearchRules& rules, const Hypothesis& hypothesis,
                                         std::span<const float> raw,
                                         std::span<const std::vector<int>> allowed, std::size_t row,
                                         std::span<float> scores) const {
  if (!has_processors(rules)) {
    return raw;
  }
  if (raw.data() != scores.data()) {
    std::copy(raw.begin(), raw.end(), scores.begin());
  }
  std::vector<int> history = {rules.start_id};
  history.insert(history.end(), hypothesis.token_ids.begin(), hypothesis.token_ids.end());
  NextToken next;
  next.history = history;
  next.num_new = static_cast<int>(hypothesis.token_ids.size()) - prefix_length_;
  if (!allowed.empty()) {
    next.allowed = allowed[row];
    next.has_allowed = true;
  }
  process_scores(rules, next, scores);
  return scores;
}

Result<std::vector<int>> Search::advance(const SearchRules& rules, MatrixView<const float> logits,
                                         std::span<const std::vector<int>> allowed,
                                         std::span<float> scores) {
  if (!beams_) {
    return choose(rules, logits, allowed, scores);
  }
  BeamCandidates candidates(rules);
  const auto running = beams_->running();
  const std::size_t position = running.front().token_ids.size();
  for (std::size_t i = 0; i < running.size(); ++i) {
    const float* row = logits.row(static_cast<int>(i));
    const float log_sum_exp = kernels::log_sum_exp(row, logits.cols);
    std::copy_n(row, logits.cols, scores.data());
    kernels::add_constant(scores.data(), -log_sum_exp, logits.cols);
    candidates.add(static_cast<int>(i), running[i].score,
                   processed(rules, running[i], scores, allowed, i, scores), row, log_sum_exp);
  }
  std::vector<int> parents = beams_->advance(rules, candidates);
  if (beams_->done() && beams_->finished().empty()) {
    return nothing_allowed(position);
  }
  return parents;
}

Result<std::vector<int>> Search::choose(const SearchRules& rules, MatrixView<const float> logits,
                                        std::span<const std::vector<int>> allowed,
                                        std::span<float> scores) {
  // Samples part ways at the first token: until then they are one hypothesis.
  const bool first = samples_.empty();
  if (first) {
    for (std::uint32_t stream = 0; stream < finished_.size(); ++stream) {
      samples_.push_back({stream, Random(rules.seed, stream)});
    }
  }
  std::vector<Hypothesis> live;
  std::vector<Sample> samples;
  std::vector<int> parents;
  std::vector<Candidate> candidates;
  std::span<const float> chosen_by;
  for (std::size_t i = 0; i < samples_.size(); ++i) {
    const std::size_t parent = first ? 0 : i;
    const std::span<const float> raw(logits.row(static_cast<int>(parent)), scores.size());
    if (parent == i) {
      chosen_by = processed(rules, live_[parent], raw, allowed, parent, scores);
      if (rules.search.do_sample) {
        candidates = sampling_candidates(rules.search, chosen_by);
      }
    }
    int token_id = kernels::argmax(chosen_by.data(), logits.cols);
    if (!(chosen_by[static_cast<std::size_t>(token_id)] >
          -std::numeric_limits<float>::infinity())) {
      return nothing_allowed(live_[parent].token_ids.size());
    }
    if (rules.search.do_sample) {
      token_id = draw(candidates, samples_[i].random);
    }
    const float log_probability =
        raw[static_cast<std::size_t>(token_id)] - kernels::log_sum_exp(raw.data(), logits.cols);
    Hypothesis next = first && i + 1 < samples_.size() ? live_[parent] : std::move(live_[parent]);
    next.token_ids.push_back(token_id);
    next.log_probabilities.push_back(log_probability);
    next.score += log_probability;
    next.finish_reason =
        rules.reason(next.token_ids, static_cast<int>(next.token_ids.size()) - prefix_length_);
    if (next.finish_reason == FinishReason::none) {
      live.push_back(std::move(next));
      samples.push_back(samples_[i]);
      parents.push_back(static_cast<int>(parent));
    } else {
      finished_[samples_[i].stream] = std::move(next);
    }
  }
  live_ = std::move(live);
  samples_ = std::move(samples);
  return parents;
}

void Search::stop() {
  for (std::size_t stream = 0; stream < finished_.size(); ++stream) {
    if (finished_[stream].finish_reason != FinishReason::none) {
      continue;
    }
    std::size_t at = 0;  // before the first token one stands for all
    while (at < samples_.size() && samples_[at].stream != stream) {
      ++at;
    }
    finished_[stream] = live_[samples_.empty() ? 0 : at];
    finished_[stream].finish_reason = FinishReason::stopped;
  }
  live_.clear();
  samples_.clear();
}

const Hypothesis& Search::leader() const {
  if (beams_) {
    return beams_->done() ? beams_->finished().front() : beams_->running().front();
  }
  // Samples stand in order: the first one is alive in front or has finished.
  const bool ended = finished_.front().finish_reason != FinishReason::none;
  return ended ? finished_.front() : live_.front();
}

int Search::stable_length() const {
  const std::vector<int>& ids = leader().token_ids;
  auto end = ids.end();
  const auto agree = [&](const Hypothesis& other) {
    end = std::mismatch(ids.begin(), end, other.token_ids.begin(), other.token_ids.end()).first;
  };
  if (beams_ && !beams_->done()) {
    for (const Hypothesis& beam : beams_->running()) {
      agree(beam);
    }
    if (!beams_->finished().empty()) {
      agree(beams_->finished().front());
    }
  }
  return static_cast<int>(end - ids.begin());
}

std::vector<Hypothesis> Search::take_results(const SearchRules& rules) {
  if (!beams_) {
    return std::move(finished_);
  }
  const auto best = beams_->finished();
  const auto count =
      std::min(best.size(), static_cast<std::size_t>(rules.search.num_return_sequences));
  return {best.begin(), best.begin() + static_cast<std::ptrdiff_t>(count)};
}

}  // namespace relata
