// Every scratch buffer of a forward pass, made once and reused for each layer. Grows with the rows
// fed at once and with one tile of queries times the keys; never with heads x queries x keys.
#pragma once

#include <vector>

#include "src/base/aligned_buffer.hpp"
#include "src/base/parallel.hpp"
#include "src/kernels/weight_matrix.hpp"
#include "src/model/config.hpp"
#include "src/relation/relation_effect.hpp"

namespace relata {

/// Queries per tile of scores.
inline constexpr int kQueryTile = 16;

/// What one thread needs for one tile of queries.
struct TileScratch {
  Matrix scores;                 // [kQueryTile, keys rounded up to a panel]
  Matrix content_scores;         // without the relation, only while a trace is recorded
  kernels::RoundedRows rounded;  // a tile of queries, then of weights, beside int8 weights
  RelationScratch relation;
};

struct Workspace {
  Matrix normalised;               // [rows, d_model]
  Matrix sublayer_output;          // [rows, d_model]
  Matrix queries;                  // [rows, num_heads * head_dim]
  Matrix keys;                     // [rows, num_heads * head_dim]
  Matrix values;                   // [rows, num_heads * head_dim]
  Matrix context;                  // [rows, num_heads * head_dim]
  Matrix hidden;                   // [rows, d_ff]
  Matrix gate;                     // [rows, d_ff], gated only
  kernels::RoundedRows rounded;    // [rows, widest input of a product], for int8 weights
  std::vector<TileScratch> tiles;  // per thread
  Parallel* parallel = nullptr;

  /// Errors: out_of_memory.
  static Result<Workspace> allocate(const Config& config, const std::vector<Relation>& relations,
                                    int max_rows, int max_keys, bool with_trace,
                                    Parallel* parallel = nullptr);
};

}  // namespace relata
