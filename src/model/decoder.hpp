#pragma once

#include <span>

#include "src/model/attention_trace.hpp"
#include "src/model/kv_cache.hpp"
#include "src/model/weights.hpp"
#include "src/model/workspace.hpp"

namespace relata {

/// The decoder over one encoded source. Feeding several tokens at once gives what feeding them one
/// by one gives.
class Decoder {
 public:
  /// Projects the source [n, d_model] to every layer's cross keys and values, once. Up to max_rows
  /// tokens are fed at once, max_target_length in all. The model must outlive the decoder. Errors:
  /// out_of_memory.
  static Result<Decoder> start(const Model& model, MatrixView<const float> encoded,
                               int max_target_length, int max_rows, bool with_trace);

  /// Tokens fed so far: the position of the next one.
  int length() const { return length_; }
  /// Feeds token_ids at positions length() onwards and writes the logits of each [token_ids.size(),
  /// vocab_size]. trace: records decoder_self and cross if not null. Errors: input_invalid for an
  /// id outside the vocabulary or more tokens than `start` made room for.
  Result<void> forward(std::span<const int> token_ids, MatrixView<float> logits,
                       AttentionTrace* trace);

 private:
  const Model* model_ = nullptr;
  KvCache cache_;
  Workspace workspace_;
  Matrix hidden_;  // [max_rows, d_model]
  int max_rows_ = 0;
  int max_target_length_ = 0;
  int length_ = 0;
};

}  // namespace relata
