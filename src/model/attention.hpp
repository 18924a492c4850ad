// Multi-head attention with a relation (Vaswani et al. 2017, section 3.2; Shaw et al. 2018, section
// 3).
#pragma once

#include <span>

#include "src/model/attention_trace.hpp"
#include "src/model/kv_cache.hpp"
#include "src/model/relation_switch.hpp"
#include "src/model/weights.hpp"
#include "src/model/workspace.hpp"

namespace relata {

/// Where the queries of one sequence stand: in which attention, and how they lie against the keys.
struct AttentionPlace {
  AttentionKind kind = AttentionKind::encoder_self;
  int layer = 0;
  int first_query = 0;           // position of the first query row
  LayerRelation relation;        // none in cross attention
  MatrixView<const int> labels;  // [queries, keys], only for an index of labels
};

/// One sequence of a batch. The rows of all sequences lie one after the other, without padding.
struct AttentionSequence {
  int num_rows = 0;             // its queries, in this pass
  int first_query = 0;          // position of the first of them
  KeyValues* memory = nullptr;  // the keys and values they attend to
  MatrixView<const int> labels;
  AttentionTrace* trace = nullptr;
};

/// output = Attention(input, input) [rows, d_model]: every projection reads its weights once for
/// all rows; each sequence then attends to its own memory alone, to which its keys and values are
/// appended first (the encoder's memory holds one sequence at a time). A row's result does not
/// depend on the other sequences, not by a bit. Decoder self-attention is causal.
void self_attention(const Config& config, const AttentionWeights& weights, AttentionKind kind,
                    int layer, const LayerRelation& relation, MatrixView<const float> input,
                    std::span<const AttentionSequence> sequences, Workspace& workspace,
                    MatrixView<float> output);

/// output = Attention(input, source) [rows, d_model], with the sources in the sequences' memories.
void cross_attention(const Config& config, const AttentionWeights& weights, int layer,
                     MatrixView<const float> input, std::span<const AttentionSequence> sequences,
                     Workspace& workspace, MatrixView<float> output);

/// The part between the projections, for one sequence: scores, relation, softmax and context of
/// every head. queries [n, num_heads * head_dim] already carry the attention's scale; context has
/// the same shape.
void attend(const Config& config, const AttentionPlace& place, MatrixView<const float> queries,
            const KeyValues& memory, Workspace& workspace, AttentionTrace* trace,
            MatrixView<float> context);

/// Projects input [n, d_model], one sequence, to keys and values and appends them to memory.
void append_key_values(const AttentionWeights& weights, MatrixView<const float> input,
                       Workspace& workspace, KeyValues& memory);

}  // namespace relata
