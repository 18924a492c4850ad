#pragma once

#include <span>

#include "src/model/attention_trace.hpp"
#include "src/model/weights.hpp"

namespace relata {

/// The encoder's last hidden state [token_ids.size(), d_model].
/// labels: [n, n] relation ids (row query, column key), exactly when the encoder's index is
/// `labels`, else empty. trace: records encoder_self if not null; it changes no bit of the result.
/// Errors: input_invalid (no tokens, an id outside the vocabulary, labels absent, unwanted or out
/// of range), out_of_memory.
Result<Matrix> encode(const Model& model, std::span<const int> token_ids,
                      MatrixView<const int> labels, AttentionTrace* trace);

}  // namespace relata
