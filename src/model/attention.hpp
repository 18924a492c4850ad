// Multi-head attention with a relation (Vaswani et al. 2017, section 3.2; Shaw et al. 2018, section
// 3).
#pragma once

#include "src/model/attention_trace.hpp"
#include "src/model/kv_cache.hpp"
#include "src/model/weights.hpp"
#include "src/model/workspace.hpp"

namespace relata {

/// Where an attention stands: which one it is, and how its queries lie against the keys.
struct AttentionPlace {
  AttentionKind kind = AttentionKind::encoder_self;
  int layer = 0;
  int first_query = 0;                 // position of the first query row
  const Relation* relation = nullptr;  // null in cross attention
  MatrixView<const int> labels;        // [queries, keys], only for an index of labels
};

/// output = Attention(input, memory) [n, d_model]: projects the queries, attends to what `memory`
/// holds, projects the context. Decoder self-attention is causal. trace: records the heads it asks
/// for if not null.
void attention(const Config& config, const AttentionWeights& weights, const AttentionPlace& place,
               MatrixView<const float> input, const KeyValues& memory, Workspace& workspace,
               AttentionTrace* trace, MatrixView<float> output);

/// The part of `attention` between its projections: scores, relation, softmax and context of every
/// head. queries [n, num_heads * head_dim] already carry the attention's scale; context has the
/// same shape.
void attend(const Config& config, const AttentionPlace& place, MatrixView<const float> queries,
            const KeyValues& memory, Workspace& workspace, AttentionTrace* trace,
            MatrixView<float> context);

/// Projects input [n, d_model] to keys and values and appends them to memory.
void append_key_values(const AttentionWeights& weights, MatrixView<const float> input,
                       Workspace& workspace, KeyValues& memory);

}  // namespace relata
