// The second axis of a relation: what a relation id adds to the attention.
//
//   vectors      e_ij += q_i . aK[r],  z_i += sum_j w_ij aV[r]       (Shaw, Uszkoreit, Vaswani
//   2018, eq. 3-4) bias         e_ij += b[head][r]                                  (T5)
//   fixed_slope  e_ij -= slope[head] * |distance|                    (ALiBi; Press, Smith, Lewis
//   2022)
//
// Vectors cost O(n R d): q . aK is computed once per query and relation and looked up per pair; for
// the values the weights are added up per relation, then one small product follows. Nothing here is
// n x n x d.
#pragma once

#include <cstdint>
#include <limits>
#include <memory>
#include <span>
#include <vector>

#include "src/base/aligned_buffer.hpp"
#include "src/kernels/kernels.hpp"
#include "src/relation/relation_alteration.hpp"
#include "src/relation/relation_index.hpp"

namespace relata {

enum class EffectKind { none, vectors, bias, fixed_slope };

struct RelationEffectConfig {
  EffectKind kind = EffectKind::none;
  bool keys = false;      // vectors: aK is there
  bool values = false;    // vectors: aV is there
  bool per_head = false;  // vectors: a table per head instead of one shared by all heads
};

/// The learned tables of one attention layer, as they come from a file. Row-major.
struct RelationTables {
  Matrix keys;    // vectors: [(per_head ? num_heads : 1) * num_relations, head_dim], else empty
  Matrix values;  // vectors: likewise
  Matrix bias;    // bias: [num_heads, num_relations], else empty
};

/// Scratch of one tile of queries: rows of R values each. Made once by its owner, reused for every
/// tile.
struct RelationScratch {
  Matrix per_relation;  // [tile rows, num_relations in whole vectors]: q . aK, later the
                        // weights summed per relation
  // One query: q . aK by distance (buckets), or partial sums per label. Biases and slopes: what
  // they add along the diagonals of a tile.
  AlignedBuffer<float> row;
};

/// Where a tile of queries stands: row i is the query at position first_query + i; keys are at 0 ..
/// num_keys - 1.
struct RelationTile {
  int first_query = 0;
  int num_keys = 0;
  bool causal = false;  // query at position p sees keys 0 .. p only
  /// labels: [queries, keys] ids of the tile's rows; checked by whoever took them from the caller.
  MatrixView<const int> labels;

  /// How many keys row i sees.
  int visible_keys(int row) const;
};

/// One attention layer's relation: index x effect with its tables packed for use.
class Relation {
 public:
  Relation() = default;
  /// Errors: config_invalid for a pair of index and effect that has no meaning (fixed_slope needs
  /// distances), tensor_invalid for tables of the wrong shape, out_of_memory.
  static Result<Relation> make(const RelationIndex& index, const RelationEffectConfig& config,
                               int num_heads, int head_dim, RelationTables tables);

  /// This relation altered, with the same tables: nothing learned is copied but biases, which are
  /// kept by distance. Errors: option_invalid where the alteration has no meaning or no effect
  /// here, out_of_memory.
  Result<Relation> altered(const RelationAlteration& alteration) const;

  const RelationIndex& index() const { return index_; }
  const RelationEffectConfig& config() const { return config_; }
  /// The tables `make` took, once more; where no distance has a relation, its bias is zero. Errors:
  /// out_of_memory.
  Result<RelationTables> tables() const;
  bool has_values() const { return config_.kind == EffectKind::vectors && config_.values; }
  /// key_columns: of the widest tile.
  Result<RelationScratch> make_scratch(int tile_rows, int key_columns) const;
  /// Of the tables, as kept in memory.
  std::uint64_t bytes() const;

  bool has_scores() const {
    return config_.kind != EffectKind::none &&
           (config_.kind != EffectKind::vectors || config_.keys);
  }
  /// What the relation adds to content, [rows, >= num_keys], of use for visible j; has_scores().
  /// queries [rows, head_dim] already carry the attention's scale. It stands in `room` [rows, >=
  /// num_keys], or in the scratch with rows that overlap: what depends on the distance alone is the
  /// same along each diagonal.
  MatrixView<const float> scores(int head, MatrixView<const float> queries,
                                 const RelationTile& tile, RelationScratch& scratch,
                                 MatrixView<float> room) const;
  /// context[i] += sum_j weights[i][j] * aV[r(i, j)]. weights [rows, >= num_keys], context [rows,
  /// head_dim].
  void add_context(int head, MatrixView<const float> weights, const RelationTile& tile,
                   RelationScratch& scratch, MatrixView<float> context) const;

 private:
  struct PackedTables {
    // Per head or one: [num_relations columns, depth head_dim].
    std::vector<kernels::PackedMatrix> keys;
    // Per head or one: [head_dim columns, depth num_relations].
    std::vector<kernels::PackedMatrix> values;
  };

  /// Whether what it adds to a score depends on the distance alone.
  bool is_diagonal() const;
  Result<Relation> with_index(RelationIndex index, bool opposite) const;
  void set_slopes(float slope, int position, int num_keys, float* scores) const;
  void set_key_scores(int head, MatrixView<const float> queries, const RelationTile& tile,
                      RelationScratch& scratch, MatrixView<float> scores) const;
  void set_row(const float* by_entry, const RelationTile& tile, int row, float* scores) const;
  void sum_by_distance(const float* weights, int position, int num_keys, float* sums) const;
  void sum_by_label(const float* weights, const int* labels, int num_keys, RelationScratch& scratch,
                    float* sums) const;

  RelationIndex index_;
  RelationEffectConfig config_;
  std::shared_ptr<const PackedTables> vectors_;  // vectors: shared with altered relations
  Matrix bias_;  // by distance [num_heads, reach], or by label [num_heads, num_labels]
  std::vector<float> slopes_;                          // [num_heads]
  int slope_reach_ = std::numeric_limits<int>::max();  // distances beyond count as this one
};

/// ALiBi's slopes: a geometric sequence from 2^(-8/n) for a power of two n, interleaved with the
/// next finer one else.
std::vector<float> alibi_slopes(int num_heads);

}  // namespace relata
