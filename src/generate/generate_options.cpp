#include "src/generate/generate_options.hpp"

#include <climits>
#include <span>
#include <string>

namespace relata {
namespace {

constexpr int kMaxBranches = 256;  // beams, or samples, of one text
constexpr int kMaxBatch = 4096;
constexpr int kMaxRepeatNgram = 1024;

Handed invalid(const char* option, const Words& sentence) {
  return fail(ErrorCode::option_invalid, option, {option, " ", sentence});
}

Result<void> check_range(const char* option, int value, int low, int high) {
  if (value < low || value > high) {
    return invalid(option, {"must be from ", low, " to ", high, ", not ", value});
  }
  return {};
}

/// low < value <= high
Result<void> check_number(const char* option, float value, float low, float high,
                          const char* expected) {
  if (!(value > low && value <= high)) {
    return invalid(option, {"must be ", expected});
  }
  return {};
}

Result<void> check_ids(const char* option, std::span<const int> ids, int vocab_size) {
  for (const int id : ids) {
    RELATA_TRY(check_range(option, id, 0, vocab_size - 1));
  }
  return {};
}

/// -1: none, which nobody writes as a number.
Result<void> check_optional_id(const char* option, int id, int vocab_size) {
  return id == -1 ? Result<void>() : check_range(option, id, 0, vocab_size - 1);
}

Result<void> check_sequences(const char* option, const std::vector<std::vector<int>>& sequences,
                             int vocab_size) {
  for (const auto& sequence : sequences) {
    if (sequence.empty()) {
      return invalid(option, "holds a sequence without tokens");
    }
    RELATA_TRY(check_ids(option, sequence, vocab_size));
  }
  return {};
}

Result<void> check_search(const SearchOptions& search, int vocab_size) {
  constexpr float kHuge = 1e9F;
  RELATA_TRY(check_range("num_beams", search.num_beams, 1, kMaxBranches));
  RELATA_TRY(check_range("num_return_sequences", search.num_return_sequences, 1, kMaxBranches));
  if (search.do_sample && search.num_beams > 1) {
    return invalid("num_beams", {"is ", search.num_beams,
                                 " and do_sample is on: beams and sampling do not mix"});
  }
  if (!search.do_sample && search.num_return_sequences > search.num_beams) {
    return invalid("num_return_sequences",
                   {"is ", search.num_return_sequences, ", but there are only ", search.num_beams,
                    " beams (num_beams) to return"});
  }
  RELATA_TRY(check_number("length_penalty", search.length_penalty, -100, 100, "from -100 to 100"));
  RELATA_TRY(
      check_number("repetition_penalty", search.repetition_penalty, 0, kHuge, "a positive number"));
  RELATA_TRY(check_range("no_repeat_ngram_size", search.no_repeat_ngram_size, 0, kMaxTargetLength));
  RELATA_TRY(check_sequences("bad_words_ids", search.bad_words_ids, vocab_size));
  RELATA_TRY(check_ids("suppress_tokens", search.suppress_tokens, vocab_size));
  RELATA_TRY(check_ids("begin_suppress_tokens", search.begin_suppress_tokens, vocab_size));
  RELATA_TRY(check_optional_id("forced_bos_token_id", search.forced_bos_token_id, vocab_size));
  RELATA_TRY(check_ids("forced_eos_token_id", search.forced_eos_token_ids, vocab_size));
  RELATA_TRY(check_number("temperature", search.temperature, 0, kHuge, "a positive number"));
  RELATA_TRY(check_range("top_k", search.top_k, 0, INT_MAX));
  RELATA_TRY(check_number("top_p", search.top_p, 0, 1, "above 0 and at most 1"));
  RELATA_TRY(check_number("min_p", search.min_p, -1e-30F, 1, "from 0 to 1"));
  return check_number("typical_p", search.typical_p, 0, 1, "above 0 and at most 1");
}

}  // namespace

GenerateOptions default_options(const Config& config) {
  GenerateOptions options;
  options.search = config.search;
  return options;
}

Result<void> check(const Config& config, const GenerateOptions& options) {
  RELATA_TRY(check_range("max_new_tokens", options.max_new_tokens, 0, kMaxTargetLength));
  RELATA_TRY(check_search(options.search, config.vocab_size));
  const int most = options.max_new_tokens == 0 ? config.max_new_tokens : options.max_new_tokens;
  if (options.search.min_new_tokens < 0 || options.search.min_new_tokens > most) {
    return invalid("min_new_tokens", {"must be from 0 to max_new_tokens, ", most, ", not ",
                                      options.search.min_new_tokens});
  }
  RELATA_TRY(check_optional_id("decoder_start_token_id", options.decoder_start_token_id,
                               config.vocab_size));
  RELATA_TRY(check_ids("stop_token_ids", options.stop_token_ids, config.vocab_size));
  RELATA_TRY(check_range("max_repeats", options.max_repeats, 0, kMaxTargetLength));
  RELATA_TRY(check_range("max_repeat_ngram", options.max_repeat_ngram, 1, kMaxRepeatNgram));
  RELATA_TRY(check_sequences("allowed_sequences", options.allowed_sequences, config.vocab_size));
  return check_range("batch_size", options.batch_size, 0, kMaxBatch);
}

}  // namespace relata
