#include "src/model/attention.hpp"

#include <algorithm>
#include <limits>

#include "src/model/linear.hpp"

namespace relata {
namespace {

/// Copies a tile's rows [rows, keys] below what the trace already holds.
void record(MatrixView<const float> tile, const RelationTile& where, int first_row,
            Matrix& target) {
  for (int i = 0; i < tile.rows; ++i) {
    std::copy_n(tile.row(i), where.visible_keys(i), target.view().row(first_row + i));
  }
}

/// Softmax over the keys each row sees; the keys it does not see get weight zero.
void normalise_scores(MatrixView<float> scores, const RelationTile& tile) {
  for (int i = 0; i < scores.rows; ++i) {
    const int visible = tile.visible_keys(i);
    if (kernels::all_finite(scores.row(i), visible)) {
      kernels::softmax(scores.row(i), visible);
    } else {
      // Overflowed scores have no softmax: NaN carries this to the check of the results.
      std::fill_n(scores.row(i), visible, std::numeric_limits<float>::quiet_NaN());
    }
    std::fill(scores.row(i) + visible, scores.row(i) + scores.cols, 0.0F);
  }
}

/// One head over one tile of queries [rows, head_dim] (already scaled) -> context [rows, head_dim].
void attend_tile(int head, const Relation* relation, const RelationTile& tile,
                 MatrixView<const float> queries, const KeyValues& memory, TileScratch& scratch,
                 HeadTrace* trace, MatrixView<float> context) {
  const auto& keys = memory.keys[static_cast<std::size_t>(head)];
  const auto& values = memory.values[static_cast<std::size_t>(head)];
  const int visible = tile.visible_keys(queries.rows - 1);
  // Whole vectors of keys: what lies past the visible ones is computed and never read.
  const int key_columns = kernels::round_up_to_vector(visible);
  const auto whole = scratch.scores.view().slice_rows(0, queries.rows).slice_cols(0, key_columns);
  const auto scores = whole.slice_cols(0, visible);
  const bool related = relation != nullptr && relation->has_scores();
  const auto start = related ? relation->scores(head, queries, tile, scratch.relation, whole)
                             : MatrixView<const float>{};
  if (trace != nullptr) {
    const auto content =
        scratch.content_scores.view().slice_rows(0, queries.rows).slice_cols(0, key_columns);
    kernels::matmul(queries, keys, visible, {}, scratch.rounded, content);
    record(content, tile, trace->num_queries, trace->content_scores);
    if (related) {
      record(start, tile, trace->num_queries, trace->relation_scores);
    }
  }
  // Content is added to what the relation gives.
  kernels::matmul(queries, keys, visible, start, scratch.rounded, whole);
  normalise_scores(scores, tile);
  if (trace != nullptr) {
    record(scores, tile, trace->num_queries, trace->weights);
    trace->num_queries += queries.rows;
  }
  kernels::matmul(scores, values, visible, {}, scratch.rounded, context);
  if (relation != nullptr) {
    relation->add_context(head, scores, tile, scratch.relation, context);
  }
}

/// Queries [rows, num_heads * head_dim] in the workspace, with the attention's scale.
MatrixView<const float> project_queries(const Config& config, const AttentionWeights& weights,
                                        MatrixView<const float> input, Workspace& workspace) {
  const auto queries = workspace.queries.view().slice_rows(0, input.rows);
  apply(weights.query, input, workspace, queries);
  for (int i = 0; i < queries.rows; ++i) {
    kernels::scale(queries.row(i), config.attention_scale, queries.cols);
  }
  return queries;
}

}  // namespace

void attend(const Config& config, const AttentionPlace& place, MatrixView<const float> queries,
            const KeyValues& memory, Workspace& workspace, AttentionTrace* trace,
            MatrixView<float> context) {
  const auto attend_head = [&](int head, TileScratch& scratch) {
    const int offset = head * config.head_dim;
    HeadTrace* head_trace = trace != nullptr ? trace->find(place.kind, place.layer, head) : nullptr;
    for (int first = 0; first < queries.rows; first += kQueryTile) {
      const int rows = std::min(kQueryTile, queries.rows - first);
      RelationTile tile;
      tile.first_query = place.first_query + first;
      tile.num_keys = memory.length;
      tile.causal = place.kind == AttentionKind::decoder_self;
      if (place.labels.data != nullptr) {
        tile.labels = place.labels.slice_rows(first, rows);
      }
      const auto of_head = [&](auto all_heads) {
        return all_heads.slice_rows(first, rows).slice_cols(offset, config.head_dim);
      };
      attend_tile(head, place.relation.of(head), tile, of_head(queries), memory, scratch,
                  head_trace, of_head(context));
    }
  };
  const double work = 2.0 * queries.rows * queries.cols * memory.length;
  split(workspace.parallel, config.num_heads, 1, work, [&](int first, int last, int thread) {
    for (int head = first; head < last; ++head) {
      attend_head(head, workspace.tiles[static_cast<std::size_t>(thread)]);
    }
  });
}

void self_attention(const Config& config, const AttentionWeights& weights, AttentionKind kind,
                    int layer, const LayerRelation& relation, MatrixView<const float> input,
                    std::span<const AttentionSequence> sequences, Workspace& workspace,
                    MatrixView<float> output) {
  const auto keys = workspace.keys.view().slice_rows(0, input.rows);
  const auto values = workspace.values.view().slice_rows(0, input.rows);
  const auto context = workspace.context.view().slice_rows(0, input.rows);
  const auto queries = project_queries(config, weights, input, workspace);
  apply(weights.key, input, workspace, keys);
  apply(weights.value, input, workspace, values);
  int first = 0;
  for (const AttentionSequence& sequence : sequences) {
    const auto rows_of = [&](auto all) { return all.slice_rows(first, sequence.num_rows); };
    if (kind == AttentionKind::encoder_self) {
      sequence.memory->length = 0;
    }
    sequence.memory->append(rows_of(keys), rows_of(values));
    attend(config, {kind, layer, sequence.first_query, relation, sequence.labels}, rows_of(queries),
           *sequence.memory, workspace, sequence.trace, rows_of(context));
    first += sequence.num_rows;
  }
  apply(weights.output, context, workspace, output);
}

void cross_attention(const Config& config, const AttentionWeights& weights, int layer,
                     MatrixView<const float> input, std::span<const AttentionSequence> sequences,
                     Workspace& workspace, MatrixView<float> output) {
  const auto context = workspace.context.view().slice_rows(0, input.rows);
  const auto queries = project_queries(config, weights, input, workspace);
  int first = 0;
  for (const AttentionSequence& sequence : sequences) {
    const auto rows_of = [&](auto all) { return all.slice_rows(first, sequence.num_rows); };
    attend(config, {AttentionKind::cross, layer, sequence.first_query, {}, {}}, rows_of(queries),
           *sequence.memory, workspace, sequence.trace, rows_of(context));
    first += sequence.num_rows;
  }
  apply(weights.output, context, workspace, output);
}

void append_key_values(const AttentionWeights& weights, MatrixView<const float> input,
                       Workspace& workspace, KeyValues& memory) {
  const auto keys = workspace.keys.view().slice_rows(0, input.rows);
  const auto values = workspace.values.view().slice_rows(0, input.rows);
  apply(weights.key, input, workspace, keys);
  apply(weights.value, input, workspace, values);
  memory.append(keys, values);
}

}  // namespace relata
