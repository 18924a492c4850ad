// The options of a call, resolved against the model: what every search of one session has in
// common. Constant once made.
#pragma once

#include <span>

#include "src/generate/generate_options.hpp"
#include "src/generate/hypothesis.hpp"
#include "src/generate/token_trie.hpp"

namespace relata {

struct SearchRules {
  SearchOptions search;
  int vocab_size = 0;
  int start_id = 0;
  int max_new_tokens = 0;
  std::vector<int> eos_ids;
  std::vector<int> stop_ids;
  int max_repeats = 0;
  int max_repeat_ngram = 0;
  TokenTrie trie;  // empty: any target
  bool constrained = false;
  std::uint32_t seed = 0;

  /// Errors: option_invalid, as `check`.
  static Result<SearchRules> make(const Config& config, const GenerateOptions& options);

  /// Hypotheses of one text at most.
  int num_branches() const;
  /// Why a target of these tokens, num_new of them new, ends with its last one; none if it goes on.
  FinishReason reason(std::span<const int> token_ids, int num_new) const;
};

/// Whether the last tokens are one group of 1 .. max_length tokens, more than max_repeats times in
/// a row.
bool ends_in_loop(std::span<const int> token_ids, int max_length, int max_repeats);

}  // namespace relata
