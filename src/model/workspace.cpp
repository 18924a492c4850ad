#include "src/model/workspace.hpp"

#include <algorithm>
#include <utility>

namespace relata {

Result<Workspace> Workspace::allocate(const Config& config, const std::vector<Relation>& relations,
                                      int max_rows, int max_keys, bool with_trace,
                                      Parallel* parallel) {
  constexpr const char* kWhere = "workspace";
  const int heads_width = config.num_heads * config.head_dim;
  const int key_columns = kernels::round_up_to_vector(max_keys);
  const int tile_rows = std::min(kQueryTile, max_rows);
  const int num_threads = parallel != nullptr ? parallel->num_threads() : 1;
  Workspace workspace;
  workspace.parallel = parallel;
  RELATA_TRY(workspace.normalised.reset(max_rows, config.d_model, kWhere));
  RELATA_TRY(workspace.sublayer_output.reset(max_rows, config.d_model, kWhere));
  RELATA_TRY(workspace.queries.reset(max_rows, heads_width, kWhere));
  RELATA_TRY(workspace.keys.reset(max_rows, heads_width, kWhere));
  RELATA_TRY(workspace.values.reset(max_rows, heads_width, kWhere));
  RELATA_TRY(workspace.context.reset(max_rows, heads_width, kWhere));
  RELATA_TRY(workspace.hidden.reset(max_rows, config.d_ff, kWhere));
  if (config.gated) {
    RELATA_TRY(workspace.gate.reset(max_rows, config.d_ff, kWhere));
  }
  const int widest = std::max({config.d_model, config.d_ff, heads_width});
  RELATA_TRY_ASSIGN(workspace.rounded, kernels::RoundedRows::allocate(max_rows, widest, kWhere));
  for (int thread = 0; thread < num_threads; ++thread) {
    TileScratch tile;
    RELATA_TRY(tile.scores.reset(tile_rows, key_columns, kWhere));
    if (with_trace) {
      RELATA_TRY(tile.content_scores.reset(tile_rows, key_columns, kWhere));
    }
    RELATA_TRY_ASSIGN(tile.rounded, kernels::RoundedRows::allocate(
                                        tile_rows, std::max(config.head_dim, max_keys), kWhere));
    // All layers of a stack have relations of one shape.
    if (!relations.empty()) {
      RELATA_TRY_ASSIGN(tile.relation, relations.front().make_scratch(tile_rows, key_columns));
    }
    workspace.tiles.push_back(std::move(tile));
  }
  return workspace;
}

}  // namespace relata
