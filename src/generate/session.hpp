// Generation, pulled step by step: a Session owns every mutable byte of one text; the Model is
// shared and constant.
#pragma once

#include <span>
#include <vector>

#include "src/model/attention_trace.hpp"
#include "src/model/decoder.hpp"
#include "src/model/weights.hpp"

namespace relata {

struct GenerateOptions {
  int max_new_tokens = 0;  // 0: the model's own
  TraceRequest trace;
};

enum class FinishReason { none, eos, length };

/// One generated token with its natural-log probability.
struct GeneratedToken {
  int token_id = 0;
  float log_probability = 0;
};

class Session {
 public:
  /// Runs the encoder (once) and prepares the decoder. labels as in `encode`. The model must
  /// outlive the session. Errors: input_invalid, option_invalid (negative or too many
  /// max_new_tokens, trace), out_of_memory.
  static Result<Session> start(const Model& model, std::span<const int> source_ids,
                               MatrixView<const int> labels, const GenerateOptions& options);

  FinishReason finish_reason() const { return finish_reason_; }
  /// The next token, greedily (lower id on ties). Errors: option_invalid when already finished.
  Result<GeneratedToken> step();
  const AttentionTrace& trace() const { return trace_; }
  /// How often the encoder ran: 1.
  int encoder_runs() const { return encoder_runs_; }

 private:
  AttentionTrace* trace_or_null() { return trace_.empty() ? nullptr : &trace_; }

  const Model* model_ = nullptr;
  Decoder decoder_;
  AttentionTrace trace_;
  Matrix logits_;  // [1, vocab_size]
  int next_input_ = 0;
  int remaining_ = 0;
  int encoder_runs_ = 0;
  FinishReason finish_reason_ = FinishReason::none;
};

/// A teacher-forced pass over a given target.
struct TeacherForced {
  std::vector<float>
      log_probabilities;  // [target_ids.size()]: of each target token given those before it
  AttentionTrace trace;   // queries: the start token, then all target tokens but the last
};

/// Scores target_ids (end token included by the caller where wanted) given the source and records
/// the asked attentions. Errors: as Session::start.
Result<TeacherForced> teacher_force(const Model& model, std::span<const int> source_ids,
                                    std::span<const int> target_ids, MatrixView<const int> labels,
                                    const TraceRequest& trace);

}  // namespace relata
