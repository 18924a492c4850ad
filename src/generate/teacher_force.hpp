#pragma once

#include <span>
#include <vector>

#include "src/model/attention_trace.hpp"
#include "src/model/relation_switch.hpp"
#include "src/model/weights.hpp"

namespace relata {

/// A teacher-forced pass over a given target.
struct TeacherForced {
  std::vector<float>
      log_probabilities;  // [target_ids.size()]: of each target token given those before it
  AttentionTrace trace;   // queries: the start token, then all target tokens but the last
};

/// Target tokens fed at once where all are known: bounds the logits held at a time to as many rows.
inline constexpr int kForcedRows = 16;

/// Natural logarithm of the softmax of one row of logits [vocab_size] at token_id.
float log_probability(MatrixView<const float> logits, int row, int token_id);

/// Scores target_ids (end token included by the caller where wanted) given the source and records
/// the asked attentions. decoder_start_token_id -1: the model's own. altered: relations to use
/// instead of those trained, or null. Errors: input_invalid, option_invalid (trace), out_of_memory.
Result<TeacherForced> teacher_force(const Model& model, std::span<const int> source_ids,
                                    std::span<const int> target_ids, MatrixView<const int> labels,
                                    const TraceRequest& trace, int decoder_start_token_id = -1,
                                    const AlteredRelations* altered = nullptr);

}  // namespace relata
