// What is done to the scores of a next token before one is chosen: penalties, bans, forced tokens,
// in the order and with the meaning of Hugging Face's logits_process.py. A banned token has the
// score -infinity. `history` is all the decoder has read: start token, target prefix, new tokens.
#pragma once

#include <span>

#include "src/generate/search_rules.hpp"

namespace relata {

/// Where a row of scores belongs.
struct NextToken {
  std::span<const int> history;
  int num_new = 0;                    // how many of them are new
  std::span<const int> allowed = {};  // what the caller allows, where has_allowed
  bool has_allowed = false;
};

/// All of the rules. scores [vocab_size]: logits, or log-probabilities for beams.
void process_scores(const SearchRules& rules, const NextToken& next, std::span<float> scores);
/// Whether process_scores could change anything at all.
bool has_processors(const SearchRules& rules);

/// Scores of tokens in the history, each token once: divided by the penalty where positive,
/// multiplied where negative.
void penalise_repetition(std::span<const int> history, float penalty, std::span<float> scores);
/// Bans what would complete an n-gram that the history already has. Linear in the history.
void ban_repeated_ngrams(std::span<const int> history, int size, std::span<float> scores);
/// Bans what would complete one of the words.
void ban_words(std::span<const int> history, const std::vector<std::vector<int>>& words,
               std::span<float> scores);
void ban(std::span<const int> token_ids, std::span<float> scores);
/// Bans all others.
void allow_only(std::span<const int> token_ids, std::span<float> scores);
/// Bans all others and gives these the score 0.
void force(std::span<const int> token_ids, std::span<float> scores);

}  // namespace relata
