#pragma once

#include <span>

#include "src/model/attention_trace.hpp"
#include "src/model/relation_switch.hpp"
#include "src/model/weights.hpp"

namespace relata {

/// What the encoder reads: one text's ids and what is to be known about their relations.
struct Source {
  std::span<const int> token_ids;
  /// [n, n] relation ids (row query, column key), exactly when the encoder's index is `labels`,
  /// else empty.
  MatrixView<const int> labels;
  AttentionTrace* trace =
      nullptr;  // records encoder_self if not null; changes no bit of the result
};

/// Whether `encode` takes this source. Errors: input_invalid (no tokens, an id outside the
/// vocabulary, labels absent, unwanted or out of range).
Result<void> check(const Config& config, const Source& source);

/// The last hidden states [sum of the sources' lengths, d_model] of several sources, one after the
/// other without padding; each has the bits it has alone. altered: relations to use instead of
/// those trained, or null. Errors: input_invalid as `check`, out_of_memory.
Result<Matrix> encode(const Model& model, std::span<const Source> sources,
                      const AlteredRelations* altered = nullptr);

/// The encoder's last hidden state [token_ids.size(), d_model] of one source.
Result<Matrix> encode(const Model& model, std::span<const int> token_ids,
                      MatrixView<const int> labels, AttentionTrace* trace,
                      const AlteredRelations* altered = nullptr);

}  // namespace relata
