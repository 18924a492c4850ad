#include "src/generate/search_rules.hpp"

#include <algorithm>

namespace relata {
namespace {

bool contains(const std::vector<int>& ids, int id) {
  return std::find(ids.begin(), ids.end(), id) != ids.end();
}

}  // namespace

Result<SearchRules> SearchRules::make(const Config& config, const GenerateOptions& options) {
  RELATA_TRY(check(config, options));
  SearchRules rules;
  rules.search = options.search;
  rules.vocab_size = config.vocab_size;
  rules.start_id = options.decoder_start_token_id < 0 ? config.decoder_start_token_id
                                                      : options.decoder_start_token_id;
  rules.max_new_tokens =
      options.max_new_tokens == 0 ? config.max_new_tokens : options.max_new_tokens;
  rules.eos_ids = config.eos_token_ids;
  rules.stop_ids = options.stop_token_ids;
  rules.max_repeats = options.max_repeats;
  rules.max_repeat_ngram = options.max_repeat_ngram;
  rules.constrained = options.constrained;
  rules.seed = options.seed;
  for (std::span<const int> sequence : options.allowed_sequences) {
    while (!sequence.empty() && contains(rules.eos_ids, sequence.back())) {
      sequence = sequence.first(sequence.size() - 1);
    }
    rules.trie.add(sequence);
  }
  // An end token by itself is no word: the reference lets it pass, too.
  std::erase_if(rules.search.bad_words_ids, [&rules](const std::vector<int>& word) {
    return word.size() == 1 && contains(rules.eos_ids, word.front());
  });
  return rules;
}

int SearchRules::num_branches() const {
  return std::max(search.num_beams, search.num_return_sequences);
}

FinishReason SearchRules::reason(std::span<const int> token_ids, int num_new) const {
  if (contains(eos_ids, token_ids.back())) {
    return FinishReason::eos;
  }
  if (contains(stop_ids, token_ids.back())) {
    return FinishReason::stop_token;
  }
  if (max_repeats > 0 && ends_in_loop(token_ids, max_repeat_ngram, max_repeats)) {
    return FinishReason::loop;
  }
  return num_new >= max_new_tokens ? FinishReason::length : FinishReason::none;
}

bool ends_in_loop(std::span<const int> token_ids, int max_length, int max_repeats) {
  const auto total = token_ids.size();
  const auto times = static_cast<std::size_t>(max_repeats) + 1;
  for (std::size_t length = 1; length <= static_cast<std::size_t>(max_length); ++length) {
    if (length * times > total) {
      return false;
    }
    // A tail of period `length`, as long as that many groups.
    std::size_t i = total - length * times;
    while (i + length < total && token_ids[i] == token_ids[i + length]) {
      ++i;
    }
    if (i + length == total) {
      return true;
    }
  }
  return false;
}

}  // namespace relata
