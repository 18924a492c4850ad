// How to search for a text: what generation_config.json may say and a call may change. The words
// and, where not said otherwise, the meanings are those of Hugging Face's `generate`.
#pragma once

#include <vector>

namespace relata {

/// What the sum of log-probabilities of a hypothesis of `length` new tokens (the end token counted)
/// is divided by: power, length^a; gnmt, ((5 + length) / 6)^a (Wu et al. 2016, eq. 14).
enum class LengthPenaltyForm { power, gnmt };

/// When beams end. no: once no running beam could, at its present length, beat the worst of
/// num_beams finished ones; yes: once num_beams are finished; never: as no, with the length at
/// which a running beam could do best.
enum class EarlyStopping { no, yes, never };

struct SearchOptions {
  int num_beams = 1;             // 1: greedy, or sampling
  int num_return_sequences = 1;  // at most num_beams, or as many samples
  float length_penalty = 1;      // the exponent a: beams only
  LengthPenaltyForm length_penalty_form = LengthPenaltyForm::power;
  EarlyStopping early_stopping = EarlyStopping::no;  // beams only

  int min_new_tokens = 0;        // until then no end token
  float repetition_penalty = 1;  // above 1 makes tokens already there unlikelier, once each
  int no_repeat_ngram_size = 0;  // no n-gram of this size twice; 0: any
  std::vector<std::vector<int>> bad_words_ids = {};  // sequences that may not appear
  std::vector<int> suppress_tokens = {};             // tokens that may not appear
  std::vector<int> begin_suppress_tokens = {};       // that may not come first
  int forced_bos_token_id = -1;                // the first token where there is no target prefix
  std::vector<int> forced_eos_token_ids = {};  // one of them is the last token at full length

  bool do_sample = false;
  // Sampling only, in this order; 1 or 0 leaves a step out.
  float temperature = 1;
  int top_k = 0;
  float top_p = 1;
  float min_p = 0;
  float typical_p = 1;
};

}  // namespace relata
