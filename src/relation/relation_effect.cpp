#include "src/relation/relation_effect.hpp"

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>

#include "src/base/elementary.hpp"

namespace relata {
namespace {

Handed wrong_shape(const char* table, int rows, int cols) {
  return fail(ErrorCode::tensor_invalid, table,
              {table, " must have shape [", rows, ", ", cols, "]"});
}

bool has_shape(const Matrix& matrix, int rows, int cols) {
  return matrix.rows() == rows && matrix.cols() == cols;
}

/// The three stretches into which a row of keys falls: keys left of first_distance share the first
/// entry, keys in between have an entry each, in order, keys right of last_distance share the last
/// entry.
struct Stretches {
  int near = 0;   // first key with its own entry
  int far = 0;    // first key past those
  int entry = 0;  // entry of key `near`

  Stretches(const RelationIndex& index, int position, int num_keys) {
    near = std::clamp(position + index.first_distance(), 0, num_keys);
    far = std::clamp(position + index.last_distance() + 1, near, num_keys);
    entry = near - position - index.first_distance();
  }
};

/// scores[j] = by_distance[entry of j]: a constant, a run of neighbours, a constant.
void set_by_distance(const RelationIndex& index, const float* by_distance, int position,
                     int num_keys, float* scores) {
  const Stretches stretches(index, position, num_keys);
  const int last = index.last_distance() - index.first_distance();
  kernels::fill(scores, by_distance[0], stretches.near);
  kernels::copy(scores + stretches.near, by_distance + stretches.entry,
                stretches.far - stretches.near);
  kernels::fill(scores + stretches.far, by_distance[last], num_keys - stretches.far);
}

}  // namespace

int RelationTile::visible_keys(int row) const {
  return causal ? std::min(first_query + row + 1, num_keys) : num_keys;
}

Result<Relation> Relation::make(const RelationIndex& index, const RelationEffectConfig& config,
                                int num_heads, int head_dim, RelationTables tables) {
  Relation relation;
  relation.index_ = index;
  relation.config_ = config;
  const int num_relations = index.num_relations();
  const bool indexed = index.kind() != IndexKind::none;
  const bool needs_index = config.kind == EffectKind::vectors || config.kind == EffectKind::bias;
  if (needs_index != indexed) {
    return fail(ErrorCode::config_invalid, "relation",
                "this pair of index and effect has no meaning");
  }
  if (config.kind == EffectKind::vectors) {
    if (!config.keys && !config.values) {
      return fail(ErrorCode::config_invalid, "relation.effect",
                  "vectors need keys, values or both");
    }
    const int copies = config.per_head ? num_heads : 1;
    auto vectors = std::make_shared<PackedTables>();
    if (config.keys && !has_shape(tables.keys, copies * num_relations, head_dim)) {
      return wrong_shape("relation_keys", copies * num_relations, head_dim);
    }
    if (config.values && !has_shape(tables.values, copies * num_relations, head_dim)) {
      return wrong_shape("relation_values", copies * num_relations, head_dim);
    }
    for (int copy = 0; copy < copies; ++copy) {
      if (config.keys) {
        RELATA_TRY_ASSIGN(auto packed,
                          kernels::PackedMatrix::pack(
                              tables.keys.view().slice_rows(copy * num_relations, num_relations),
                              "relation_keys"));
        vectors->keys.push_back(std::move(packed));
      }
      if (config.values) {
        RELATA_TRY_ASSIGN(auto packed, kernels::PackedMatrix::allocate(head_dim, num_relations,
                                                                       "relation_values"));
        for (int r = 0; r < num_relations; ++r) {
          packed.set_depth_row(r, tables.values.view().row(copy * num_relations + r));
        }
        vectors->values.push_back(std::move(packed));
      }
    }
    relation.vectors_ = std::move(vectors);
  } else if (config.kind == EffectKind::bias) {
    if (!has_shape(tables.bias, num_heads, num_relations)) {
      return wrong_shape("relation_bias", num_heads, num_relations);
    }
    // By distance rather than by bucket, so that a row of scores gets its biases as one run.
    const int entries = index.by_distance() ? static_cast<int>(index.ids().size()) : num_relations;
    RELATA_TRY(relation.bias_.reset(num_heads, entries, "relation_bias"));
    for (int head = 0; head < num_heads; ++head) {
      for (int entry = 0; entry < entries; ++entry) {
        const int id = index.by_distance() ? index.ids()[static_cast<std::size_t>(entry)] : entry;
        relation.bias_.view().row(head)[entry] = std::as_const(tables.bias).view().row(head)[id];
      }
    }
  } else if (config.kind == EffectKind::fixed_slope) {
    relation.slopes_ = alibi_slopes(num_heads);
  }
  return relation;
}

std::uint64_t Relation::bytes() const {
  const MatrixView<const float> bias = bias_.view();
  std::uint64_t floats =
      static_cast<std::uint64_t>(bias.rows) * static_cast<std::uint64_t>(bias.cols);
  floats += slopes_.size();
  std::uint64_t total = floats * sizeof(float);
  if (vectors_ != nullptr) {
    for (const auto* tables : {&vectors_->keys, &vectors_->values}) {
      for (const kernels::PackedMatrix& table : *tables) {
        total += table.bytes();
      }
    }
  }
  return total;
}

bool Relation::is_diagonal() const {
  return config_.kind == EffectKind::fixed_slope ||
         (config_.kind == EffectKind::bias && index_.by_distance());
}

Result<RelationScratch> Relation::make_scratch(int tile_rows, int key_columns) const {
  RelationScratch scratch;
  if (is_diagonal()) {
    RELATA_TRY(scratch.row.reset(
        static_cast<std::uint64_t>(tile_rows) + static_cast<std::uint64_t>(key_columns),
        "relation scratch"));
  }
  if (config_.kind != EffectKind::vectors) {
    return scratch;
  }
  const int num_relations = index_.num_relations();
  RELATA_TRY(scratch.per_relation.reset(tile_rows, kernels::round_up_to_vector(num_relations),
                                        "relation scratch"));
  const auto entries = index_.by_distance()
                           ? index_.ids().size()
                           : static_cast<std::size_t>(num_relations) * kernels::kLanes;
  RELATA_TRY(scratch.row.reset(entries, "relation scratch"));
  return scratch;
}

MatrixView<const float> Relation::scores(int head, MatrixView<const float> queries,
                                         const RelationTile& tile, RelationScratch& scratch,
                                         MatrixView<float> room) const {
  if (is_diagonal()) {
    // The last row, longer to the left by what the rows before it see there: each of them begins
    // one place after the next one.
    const int before = room.rows - 1;
    const int position = tile.first_query + before;
    const int count = before + room.cols;
    float* last = scratch.row.data();
    if (config_.kind == EffectKind::bias) {
      set_by_distance(index_, bias_.view().row(head), position, count, last);
    } else {
      set_slopes(slopes_[static_cast<std::size_t>(head)], position, count, last);
    }
    return {last + before, room.rows, room.cols, -1};
  }
  if (config_.kind == EffectKind::vectors) {
    set_key_scores(head, queries, tile, scratch, room);
  } else {
    for (int i = 0; i < room.rows; ++i) {
      set_row(bias_.view().row(head), tile, i, room.row(i));
    }
  }
  return room;
}

void Relation::set_slopes(float slope, int position, int num_keys, float* scores) const {
  const int past = std::min(position + 1, num_keys);
  // Distances beyond the reach count as the reach.
  const int near = std::clamp(position - slope_reach_, 0, past);
  const int far =
      num_keys - position > slope_reach_ ? std::max(position + slope_reach_, past) : num_keys;
  const float most = -slope * static_cast<float>(slope_reach_);
  kernels::fill(scores, most, near);
  kernels::fill_slope(scores + near, slope, near - position, past - near);
  kernels::fill_slope(scores + past, -slope, past - position, far - past);
  kernels::fill(scores + far, most, num_keys - far);
}

void Relation::set_row(const float* by_entry, const RelationTile& tile, int row,
                       float* scores) const {
  const int visible = tile.visible_keys(row);
  if (index_.by_distance()) {
    set_by_distance(index_, by_entry, tile.first_query + row, visible, scores);
  } else {
    const int* labels = tile.labels.row(row);
    for (int j = 0; j < visible; ++j) {
      scores[j] = by_entry[labels[j]];
    }
  }
}

void Relation::set_key_scores(int head, MatrixView<const float> queries, const RelationTile& tile,
                              RelationScratch& scratch, MatrixView<float> scores) const {
  const auto& table = vectors_->keys[config_.per_head ? static_cast<std::size_t>(head) : 0];
  auto query_dot_keys = scratch.per_relation.view().slice_rows(0, queries.rows);
  kernels::matmul(queries, table.view(query_dot_keys.cols, table.depth()), nullptr, query_dot_keys);
  for (int i = 0; i < queries.rows; ++i) {
    const float* by_entry = query_dot_keys.row(i);
    if (index_.by_distance() && !index_.in_order()) {
      for (std::size_t entry = 0; entry < index_.ids().size(); ++entry) {
        scratch.row[entry] = by_entry[index_.ids()[entry]];
      }
      by_entry = scratch.row.data();
    }
    set_row(by_entry, tile, i, scores.row(i));
  }
}

void Relation::add_context(int head, MatrixView<const float> weights, const RelationTile& tile,
                           RelationScratch& scratch, MatrixView<float> context) const {
  if (!has_values()) {
    return;
  }
  auto sums =
      scratch.per_relation.view().slice_rows(0, weights.rows).slice_cols(0, index_.num_relations());
  for (int i = 0; i < weights.rows; ++i) {
    if (index_.by_distance()) {
      sum_by_distance(weights.row(i), tile.first_query + i, tile.visible_keys(i), sums.row(i));
    } else {
      sum_by_label(weights.row(i), tile.labels.row(i), tile.visible_keys(i), scratch, sums.row(i));
    }
  }
  kernels::matmul_add(
      sums, vectors_->values[config_.per_head ? static_cast<std::size_t>(head) : 0].view(),
      context);
}

void Relation::sum_by_distance(const float* weights, int position, int num_keys,
                               float* sums) const {
  kernels::fill(sums, 0, index_.num_relations());
  if (index_.in_order() && index_.num_relations() > 1) {
    // Every distance between the ends has an id of its own, in order: those weights are copied.
    const int after_first = std::clamp(position + index_.first_distance() + 1, 0, num_keys);
    const int before_last = std::clamp(position + index_.last_distance(), after_first, num_keys);
    sums[0] = kernels::sum_range(weights, 0, after_first);
    kernels::copy(sums + after_first - position - index_.first_distance(), weights + after_first,
                  before_last - after_first);
    sums[index_.num_relations() - 1] = kernels::sum_range(weights, before_last, num_keys);
    return;
  }
  int begin = 0;
  for (const RelationRun& run : index_.runs()) {
    const int end =
        run.last_distance >= num_keys - position ? num_keys : position + run.last_distance + 1;
    if (end <= begin) {
      continue;
    }
    sums[run.id] = end == begin + 1 ? weights[begin] : kernels::sum_range(weights, begin, end);
    begin = end;
  }
}

void Relation::sum_by_label(const float* weights, const int* labels, int num_keys,
                            RelationScratch& scratch, float* sums) const {
  float* lanes = scratch.row.data();
  const int num_relations = index_.num_relations();
  std::fill_n(lanes, num_relations * kernels::kLanes, 0.0F);
  for (int j = 0; j < num_keys; ++j) {
    lanes[labels[j] * kernels::kLanes + j % kernels::kLanes] += weights[j];
  }
  for (int r = 0; r < num_relations; ++r) {
    sums[r] = kernels::sum_lanes(lanes + r * kernels::kLanes);
  }
}

std::vector<float> alibi_slopes(int num_heads) {
  int power = 1;
  while (power * 2 <= num_heads) {
    power *= 2;
  }
  constexpr double kLn2 = 0.693147180559945309;
  const auto slope = [](int step, int steps) {
    return static_cast<float>(natural_exp(-8 * kLn2 * step / steps));
  };
  std::vector<float> slopes;
  for (int head = 0; head < power; ++head) {
    slopes.push_back(slope(head + 1, power));
  }
  // Not a power of two: the odd members of the sequence for twice as many heads fill up.
  for (int head = 0; power + head < num_heads; ++head) {
    slopes.push_back(slope(2 * head + 1, 2 * power));
  }
  return slopes;
}

}  // namespace relata
