#include "src/generate/logits_processors.hpp"

#include <algorithm>
#include <limits>

#include "src/base/sort.hpp"

namespace relata {
namespace {

constexpr float kBanned = -std::numeric_limits<float>::infinity();

float& at(std::span<float> scores, int id) { return scores[static_cast<std::size_t>(id)]; }

std::vector<int> distinct(std::span<const int> ids) {
  std::vector<int> result(ids.begin(), ids.end());
  sort_stably(result, [](int a, int b) { return a < b; });
  result.erase(std::unique(result.begin(), result.end()), result.end());
  return result;
}

/// Only what continues one of the trie's sequences, which begin behind prefix and forced token.
void follow_trie(const SearchRules& rules, const NextToken& next, std::span<float> scores) {
  const bool has_prefix = next.history.size() > static_cast<std::size_t>(next.num_new) + 1;
  const int forced = rules.search.forced_bos_token_id >= 0 && !has_prefix ? 1 : 0;
  if (next.num_new < forced) {
    return;
  }
  auto [allowed, complete] =
      rules.trie.after(next.history.last(static_cast<std::size_t>(next.num_new - forced)));
  if (complete) {
    allowed.insert(allowed.end(), rules.eos_ids.begin(), rules.eos_ids.end());
  }
  allow_only(allowed, scores);
}

}  // namespace

void penalise_repetition(std::span<const int> history, float penalty, std::span<float> scores) {
  for (const int id : distinct(history)) {
    float& score = at(scores, id);
    score = score < 0 ? score * penalty : score / penalty;
  }
}

void ban_repeated_ngrams(std::span<const int> history, int size, std::span<float> scores) {
  const auto context = static_cast<std::size_t>(size) - 1;
  if (history.size() < context) {
    return;
  }
  const auto tail = history.last(context);
  for (std::size_t i = 0; i + context < history.size(); ++i) {
    if (std::equal(tail.begin(), tail.end(), history.begin() + static_cast<std::ptrdiff_t>(i))) {
      at(scores, history[i + context]) = kBanned;
    }
  }
}

void ban_words(std::span<const int> history, const std::vector<std::vector<int>>& words,
               std::span<float> scores) {
  for (const std::vector<int>& word : words) {
    const std::size_t context = word.size() - 1;
    if (context == 0 || (word.size() <= history.size() &&
                         std::equal(word.begin(), word.end() - 1, history.last(context).begin()))) {
      at(scores, word.back()) = kBanned;
    }
  }
}

void ban(std::span<const int> token_ids, std::span<float> scores) {
  for (const int id : token_ids) {
    at(scores, id) = kBanned;
  }
}

void allow_only(std::span<const int> token_ids, std::span<float> scores) {
  std::vector<std::pair<int, float>> kept;
  for (const int id : token_ids) {
    kept.emplace_back(id, at(scores, id));
  }
  std::fill(scores.begin(), scores.end(), kBanned);
  for (const auto& [id, score] : kept) {
    at(scores, id) = score;
  }
}

void force(std::span<const int> token_ids, std::span<float> scores) {
  std::fill(scores.begin(), scores.end(), kBanned);
  for (const int id : token_ids) {
    at(scores, id) = 0;
  }
}

void process_scores(const SearchRules& rules, const NextToken& next, std::span<float> scores) {
  const SearchOptions& search = rules.search;
  if (search.repetition_penalty != 1) {
    penalise_repetition(next.history, search.repetition_penalty, scores);
  }
  if (search.no_repeat_ngram_size > 0) {
    ban_repeated_ngrams(next.history, search.no_repeat_ngram_size, scores);
  }
  ban_words(next.history, search.bad_words_ids, scores);
  if (next.num_new < search.min_new_tokens) {
    ban(rules.eos_ids, scores);
    ban(rules.stop_ids, scores);
  }
  if (!rules.trie.empty()) {
    follow_trie(rules, next, scores);
  }
  if (next.has_allowed) {
    allow_only(next.allowed, scores);
  }
  if (search.forced_bos_token_id >= 0 && next.history.size() == 1) {
    force({&search.forced_bos_token_id, 1}, scores);
  }
  if (!search.forced_eos_token_ids.empty() && next.num_new == rules.max_new_tokens - 1) {
    force(search.forced_eos_token_ids, scores);
  }
  ban(search.suppress_tokens, scores);
  const bool forced_first = search.forced_bos_token_id >= 0 &&
                            next.history.size() == static_cast<std::size_t>(next.num_new) + 1;
  if (next.num_new == (forced_first ? 1 : 0)) {
    ban(search.begin_suppress_tokens, scores);
  }
}

bool has_processors(const SearchRules& rules) {
  const SearchOptions& search = rules.search;
  return search.repetition_penalty != 1 || search.no_repeat_ngram_size > 0 ||
         !search.bad_words_ids.empty() || search.min_new_tokens > 0 || !rules.trie.empty() ||
         rules.constrained || search.forced_bos_token_id >= 0 ||
         !search.forced_eos_token_ids.empty() || !search.suppress_tokens.empty() ||
         !search.begin_suppress_tokens.empty();
}

}  // namespace relata
