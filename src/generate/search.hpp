// The search for one text's target, one token at a time: greedy, sampling or beams behind one face.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "src/base/matrix_view.hpp"
#include "src/generate/beam_search.hpp"
#include "src/generate/random.hpp"
#include "src/generate/search_rules.hpp"

namespace relata {

class Search {
 public:
  Search() = default;
  /// prefix: the target prefix with its log-probabilities; empty for none.
  Search(const SearchRules& rules, Hypothesis prefix);

  /// The hypotheses that wait for their next token: one row of logits each.
  std::span<const Hypothesis> live() const;
  bool done() const;
  /// Chooses from logits [live().size(), vocab_size]. allowed: the caller's for each, or empty.
  /// scores [vocab_size] is scratch. The parents of the hypotheses then alive, by index of those
  /// before. Errors: option_invalid where nothing may follow at all.
  Result<std::vector<int>> advance(const SearchRules& rules, MatrixView<const float> logits,
                                   std::span<const std::vector<int>> allowed,
                                   std::span<float> scores);
  /// Ends every live hypothesis as it is. Not for beams.
  void stop();
  /// Once done. Beams: the num_return_sequences best, best first; samples in the order of their
  /// random streams.
  std::vector<Hypothesis> take_results(const SearchRules& rules);
  /// A hypothesis of whose tokens the first `stable_length` are certain: whatever comes, the first
  /// result begins with them.
  const Hypothesis& leader() const;
  int stable_length() const;

 private:
  struct Sample {
    std::uint32_t stream = 0;
    Random random;
  };

  Result<std::vector<int>> choose(const SearchRules& rules, MatrixView<const float> logits,
                                  std::span<const std::vector<int>> allowed,
                                  std::span<float> scores);
  std::span<const float> processed(const SearchRules& rules, const Hypothesis& hypothesis,
                                   std::span<const float> raw,
                                   std::span<const std::vector<int>> allowed, std::size_t row,
                                   std::span<float> scores) const;

  int prefix_length_ = 0;
  std::optional<BeamSearch> beams_;
  // Greedy and sampling: hypotheses that do not know of each other.
  std::vector<Hypothesis> live_;
  std::vector<Sample> samples_;       // of each live one
  std::vector<Hypothesis> finished_;  // by stream
};

}  // namespace relata
