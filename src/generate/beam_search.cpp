#include "src/generate/beam_search.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "src/base/elementary.hpp"

namespace relata {

float length_penalty(const SearchOptions& search, int length) {
  const double base =
      search.length_penalty_form == LengthPenaltyForm::power ? length : (5.0 + length) / 6;
  return static_cast<float>(natural_exp(search.length_penalty * natural_log(base)));
}

BeamCandidates::BeamCandidates(const SearchRules& rules)
    : limit_(static_cast<std::size_t>(rules.search.num_beams) *
             (1 + rules.eos_ids.size() + rules.stop_ids.size())) {}

void BeamCandidates::add(int beam, float beam_score, std::span<const float> scores,
                         const float* logits, float log_sum_exp) {
  const auto worst = [this] {
    return entries_.size() < limit_ ? -std::numeric_limits<float>::infinity()
                                    : entries_.back().score;
  };
  float bar = worst();
  for (std::size_t id = 0; id < scores.size(); ++id) {
    const float score = beam_score + scores[id];
    if (!(score > bar)) {
      continue;
    }
    if (entries_.size() == limit_) {
      entries_.pop_back();
    }
    const auto place =
        std::upper_bound(entries_.begin(), entries_.end(), score,
                         [](float value, const Entry& entry) { return value > entry.score; });
    entries_.insert(place, {beam, static_cast<int>(id), score, logits[id] - log_sum_exp});
    bar = worst();
  }
}

BeamSearch::BeamSearch(Hypothesis prefix)
    : prefix_length_(static_cast<int>(prefix.token_ids.size())) {
  running_.push_back(std::move(prefix));
}

std::vector<int> BeamSearch::advance(const SearchRules& rules, const BeamCandidates& candidates) {
  const auto num_beams = static_cast<std::size_t>(rules.search.num_beams);
  const int num_new = static_cast<int>(running_.front().token_ids.size()) + 1 - prefix_length_;
  std::vector<Hypothesis> running;
  std::vector<int> parents;
  std::size_t rank = 0;
  for (const BeamCandidates::Entry& entry : candidates.entries()) {
    if (running.size() == num_beams && rank >= num_beams) {
      break;
    }
    Hypothesis next = running_[static_cast<std::size_t>(entry.beam)];
    next.token_ids.push_back(entry.token_id);
    next.log_probabilities.push_back(entry.log_probability);
    next.score = entry.score;
    next.finish_reason = rules.reason(next.token_ids, num_new);
    if (next.finish_reason == FinishReason::none) {
      if (running.size() < num_beams) {
        running.push_back(std::move(next));
        parents.push_back(entry.beam);
      }
    } else if (rank < num_beams) {
      // Candidates below that are only there to have enough that go on.
      next.score /= length_penalty(rules.search, num_new);
      const auto place = std::upper_bound(
          finished_.begin(), finished_.end(), next.score,
          [](float score, const Hypothesis& other) { return score > other.score; });
      finished_.insert(place, std::move(next));
      finished_.resize(std::min(finished_.size(), num_beams));
    }
    ++rank;
  }
  running_ = std::move(running);
  done_ = is_over(rules, num_new);
  return parents;
}

bool BeamSearch::is_over(const SearchRules& rules, int num_new) const {
  if (running_.empty()) {
    return true;
  }
  if (finished_.size() < static_cast<std::size_t>(rules.search.num_beams)) {
    return false;
  }
  const EarlyStopping stopping = rules.search.early_stopping;
  if (stopping == EarlyStopping::yes) {
    return true;
  }
  const bool longer_is_better = stopping == EarlyStopping::never && rules.search.length_penalty > 0;
  const float best_possible =
      running_.front().score /
      length_penalty(rules.search, longer_is_better ? rules.max_new_tokens : num_new);
  return best_possible <= finished_.back().score;
}

}  // namespace relata
