// The learned tensors of a model, shape beside each, owned and packed for the kernels. Read-only
// after loading.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "src/base/aligned_buffer.hpp"
#include "src/base/parallel.hpp"
#include "src/kernels/weight_matrix.hpp"
#include "src/model/config.hpp"
#include "src/relation/relation_effect.hpp"

namespace relata {

struct Linear {
  kernels::WeightMatrix weight;  // [out, in]
  AlignedBuffer<float> bias;     // [out], or empty
};

struct Norm {
  AlignedBuffer<float> weight;  // [d_model]
  AlignedBuffer<float> bias;    // [d_model], or empty (RMS norm)
};

struct AttentionWeights {
  Linear query;   // [num_heads * head_dim, d_model]
  Linear key;     // [num_heads * head_dim, d_model]
  Linear value;   // [num_heads * head_dim, d_model]
  Linear output;  // [d_model, num_heads * head_dim]
};

struct FeedForwardWeights {
  Linear input;   // [d_ff, d_model]; the activated half when gated
  Linear gate;    // [d_ff, d_model]; gated only, not activated
  Linear output;  // [d_model, d_ff]
};

struct LayerWeights {
  AttentionWeights self_attention;
  Norm self_attention_norm;
  AttentionWeights cross_attention;  // decoder only
  Norm cross_attention_norm;         // decoder only
  FeedForwardWeights feed_forward;
  Norm feed_forward_norm;
};

struct StackWeights {
  std::vector<LayerWeights> layers;
  Norm final_norm;                  // pre-norm stacks only
  std::vector<Relation> relations;  // empty, one shared by all layers, or one per layer

  /// The relation of layer i's self-attention; null where the stack has none.
  const Relation* relation_of(int i) const {
    if (relations.empty()) {
      return nullptr;
    }
    return &relations[relations.size() == 1 ? 0 : static_cast<std::size_t>(i)];
  }
};

struct Weights {
  /// [vocab_size, d_model], shared by encoder, decoder and a tied output; or the encoder's alone
  /// [source_vocab_size, d_model].
  kernels::WeightMatrix embedding;
  kernels::WeightMatrix decoder_embedding;  // [vocab_size, d_model], empty when shared
  kernels::WeightMatrix lm_head;            // [vocab_size, d_model], empty when tied
  AlignedBuffer<float> logits_bias;         // [vocab_size], or empty
  Matrix positions;          // [max_positions, d_model] where positions are a table, or empty
  Matrix decoder_positions;  // likewise, empty when shared
  StackWeights encoder;
  StackWeights decoder;

  /// What all matrices are kept in.
  kernels::WeightType type() const { return embedding.type(); }
  /// The embedding of the decoder's tokens.
  const kernels::WeightMatrix& target_embedding() const {
    return decoder_embedding.cols() > 0 ? decoder_embedding : embedding;
  }
  /// The positions of the decoder's tokens, where they are a table.
  const Matrix& target_positions() const {
    return decoder_positions.rows() > 0 ? decoder_positions : positions;
  }
  /// The matrix that turns hidden states into logits.
  const kernels::WeightMatrix& output_projection() const {
    return lm_head.cols() > 0 ? lm_head : target_embedding();
  }
};

/// Of all tensors, as kept in memory.
std::uint64_t weight_bytes(const Weights& weights);

/// A loaded model: immutable, so that several sessions may share it.
struct Model {
  Config config;
  Weights weights;
  std::unique_ptr<Parallel> parallel;  // the threads that work for it, or null
};

}  // namespace relata
