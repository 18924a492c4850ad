// Beam search over one text, as Hugging Face's `generate` does it (transformers 5, _beam_search),
// with hypotheses of probability zero left out where the reference fills up with them.
#pragma once

#include <span>
#include <vector>

#include "src/generate/search_rules.hpp"

namespace relata {

/// The best continuations of all beams in one step: num_beams for each way to end and one more, so
/// that num_beams are left that go on.
class BeamCandidates {
 public:
  struct Entry {
    int beam = 0;
    int token_id = 0;
    float score = 0;            // of the hypothesis with this token
    float log_probability = 0;  // of this token, as the model says
  };

  explicit BeamCandidates(const SearchRules& rules);
  /// Every token of one beam. scores [vocab_size]: processed log-probabilities; logits with their
  /// log_sum_exp: the model's own.
  void add(int beam, float beam_score, std::span<const float> scores, const float* logits,
           float log_sum_exp);
  /// Best first; on ties the lower beam, then the lower id.
  std::span<const Entry> entries() const { return entries_; }

 private:
  std::size_t limit_;
  std::vector<Entry> entries_;
};

class BeamSearch {
 public:
  /// prefix: the target prefix with its log-probabilities.
  explicit BeamSearch(Hypothesis prefix);

  /// The running beams, best first: one at first, at most num_beams.
  std::span<const Hypothesis> running() const { return running_; }
  /// The best finished hypotheses, best first, at most num_beams.
  std::span<const Hypothesis> finished() const { return finished_; }
  bool done() const { return done_; }
  /// Moves on by one token; the parent of each beam now running.
  std::vector<int> advance(const SearchRules& rules, const BeamCandidates& candidates);

 private:
  bool is_over(const SearchRules& rules, int num_new) const;

  std::vector<Hypothesis> running_;
  std::vector<Hypothesis> finished_;
  int prefix_length_ = 0;
  bool done_ = false;
};

/// What a sum of log-probabilities is divided by.
float length_penalty(const SearchOptions& search, int length);

}  // namespace relata
