// What a relation adds to the scores of a tile, copied to where a test looks at it.
#pragma once

#include "src/relation/relation_effect.hpp"

namespace relata::test {

/// scores[i][j] for the visible j of a tile; nothing else of `scores` is written.
inline void set_scores(const Relation& relation, int head, MatrixView<const float> queries,
                       const RelationTile& tile, RelationScratch& scratch,
                       MatrixView<float> scores) {
  const auto added = relation.scores(head, queries, tile, scratch, scores);
  for (int i = 0; i < scores.rows && added.data != scores.data; ++i) {
    for (int j = 0; j < tile.visible_keys(i); ++j) {
      scores.row(i)[j] = added.row(i)[j];
    }
  }
}

}  // namespace relata::test
