// Everything a call of generation can ask for, in one plain struct, checked in one place.
#pragma once

#include <cstdint>
#include <vector>

#include "src/model/attention_trace.hpp"
#include "src/model/config.hpp"
#include "src/model/relation_switch.hpp"
#include "src/model/search_options.hpp"

namespace relata {

struct GenerateOptions {
  int max_new_tokens = 0;  // 0: the model's own
  TraceRequest trace = {};
  RelationSwitch relation = {};
  SearchOptions search = {};  // of itself greedy; the model's own is in Config::search

  int decoder_start_token_id = -1;       // -1: the model's own
  std::vector<int> stop_token_ids = {};  // end a text as its end token does
  /// Ends a text that has begun to loop: one in which a group of 1 .. max_repeat_ngram tokens has
  /// come more than max_repeats times in a row. 0: off.
  int max_repeats = 0;
  int max_repeat_ngram = 8;
  /// Only these targets (without start token, target prefix and forced first token; an end token at
  /// the end changes nothing). Empty: any.
  std::vector<std::vector<int>> allowed_sequences = {};
  /// The caller gives the allowed tokens of every step: see Session::allow.
  bool constrained = false;
  std::uint32_t seed = 0;
  int batch_size = 0;  // texts worked on at once; 0: as many as make 16 rows
};

/// Greedy, beams or sampling as the model's own configuration says.
GenerateOptions default_options(const Config& config);

/// Every range and every contradiction. Errors: option_invalid naming the option.
Result<void> check(const Config& config, const GenerateOptions& options);

}  // namespace relata
