// The first axis of a relation: from a pair (query, key) to a relation id.
//
// For distances the pair is one integer, distance = key position - query position, so the id of
// every distance that has its own is a table made once per model: no logarithm in a forward pass.
#pragma once

#include <vector>

#include "src/base/result.hpp"

namespace relata {

enum class IndexKind { none, clipped_distance, bucketed_distance, labels };

struct RelationIndexConfig {
  IndexKind kind = IndexKind::none;
  int left = 0;                // clipped_distance: distances below -left share id 0
  int right = 0;               // clipped_distance: distances above right share the last id
  int num_buckets = 0;         // bucketed_distance
  int max_distance = 0;        // bucketed_distance: from here on one bucket
  bool bidirectional = false;  // bucketed_distance: two-sided (encoder) or past only (decoder)
  int num_labels = 0;          // labels: ids are 0 .. num_labels - 1, given by the caller
};

/// A stretch of neighbouring distances with one id; it begins where the run before it ended.
struct RelationRun {
  int last_distance = 0;  // the last run's is INT_MAX
  int id = 0;
};

class RelationIndex {
 public:
  RelationIndex() = default;
  /// Errors: config_invalid where a limit is out of range (see the limits in relation_index.cpp).
  static Result<RelationIndex> make(const RelationIndexConfig& config);

  IndexKind kind() const { return kind_; }
  bool by_distance() const {
    return kind_ == IndexKind::clipped_distance || kind_ == IndexKind::bucketed_distance;
  }
  int num_relations() const { return num_relations_; }

  /// Distances first_distance() .. last_distance() have their own entry in ids(); all beyond share
  /// the end's id.
  int first_distance() const { return first_distance_; }
  int last_distance() const { return first_distance_ + static_cast<int>(ids_.size()) - 1; }
  const std::vector<int>& ids() const { return ids_; }
  /// All distances, from the far past to the far future, as runs of one id.
  const std::vector<RelationRun>& runs() const { return runs_; }
  /// The id of any signed distance. Only for by_distance().
  int id(int distance) const;
  /// Whether entry i of ids() is relation i and there are no others.
  bool in_order() const { return in_order_; }

  /// Every distance beyond -limit .. limit read as that limit. Only for by_distance().
  RelationIndex clipped(int limit) const;
  /// Every distance read as its opposite. Only for by_distance().
  RelationIndex mirrored() const;
  /// The smallest limit that clips nothing.
  int reach() const;

 private:
  void set_ids(int first_distance, std::vector<int> ids);

  IndexKind kind_ = IndexKind::none;
  int num_relations_ = 0;
  int first_distance_ = 0;
  bool in_order_ = false;
  std::vector<int> ids_;  // by distance - first_distance_
  std::vector<RelationRun> runs_;
};

/// T5's bucket of a signed distance (Raffel et al. 2020; Hugging Face `_relative_position_bucket`):
/// half of the buckets exact, the other half logarithmic up to max_distance; bidirectional splits
/// them between past and future.
int t5_bucket(int distance, int num_buckets, int max_distance, bool bidirectional);

}  // namespace relata
