#include "src/relation/relation_index.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <string>
#include <utility>

#include "src/base/elementary.hpp"

namespace relata {
namespace {

// A table per distance is made from these numbers: a limit keeps a hostile file from asking for
// gigabytes. Published models stay below 1,000.
constexpr int kMaxReach = 1 << 20;
constexpr int kMaxRelations = 1 << 16;

Handed out_of_range(const char* field, const Words& range) {
  return fail(ErrorCode::config_invalid, field, {field, " must be ", range});
}

}  // namespace

Result<RelationIndex> RelationIndex::make(const RelationIndexConfig& config) {
  RelationIndex index;
  index.kind_ = config.kind;
  switch (config.kind) {
    case IndexKind::none:
      return index;
    case IndexKind::clipped_distance: {
      if (config.left < 0 || config.right < 0 || config.left > kMaxRelations ||
          config.right > kMaxRelations) {
        return out_of_range("relation.index.left/right", {"from 0 to ", kMaxRelations});
      }
      index.num_relations_ = config.left + config.right + 1;
      std::vector<int> ids(static_cast<std::size_t>(index.num_relations_));
      std::iota(ids.begin(), ids.end(), 0);
      index.set_ids(-config.left, std::move(ids));
      return index;
    }
    case IndexKind::bucketed_distance: {
      // The exact half of the buckets must leave room for the logarithmic one.
      const int smallest = config.bidirectional ? 4 : 2;
      if (config.num_buckets < smallest || config.num_buckets > kMaxRelations) {
        return out_of_range("relation.index.num_buckets",
                            {"from ", smallest, " to ", kMaxRelations});
      }
      const int exact = (config.bidirectional ? config.num_buckets / 2 : config.num_buckets) / 2;
      if (config.max_distance <= exact || config.max_distance > kMaxReach) {
        return out_of_range(
            "relation.index.max_distance",
            {"above ", exact, " (the buckets of single distances) and at most ", kMaxReach});
      }
      index.num_relations_ = config.num_buckets;
      const int last = config.bidirectional ? config.max_distance
                                            : 0;  // one-sided: every future distance is id 0
      std::vector<int> ids;
      for (int distance = -config.max_distance; distance <= last; ++distance) {
        ids.push_back(
            t5_bucket(distance, config.num_buckets, config.max_distance, config.bidirectional));
      }
      index.set_ids(-config.max_distance, std::move(ids));
      return index;
    }
    case IndexKind::labels:
      if (config.num_labels < 1 || config.num_labels > kMaxRelations) {
        return out_of_range("relation.index.num_labels", {"from 1 to ", kMaxRelations});
      }
      index.num_relations_ = config.num_labels;
      return index;
  }
  return out_of_range("relation.index.type", "known");
}

void RelationIndex::set_ids(int first_distance, std::vector<int> ids) {
  first_distance_ = first_distance;
  ids_ = std::move(ids);
  runs_.clear();
  in_order_ = static_cast<int>(ids_.size()) == num_relations_;
  for (std::size_t i = 0; i < ids_.size(); ++i) {
    in_order_ = in_order_ && ids_[i] == static_cast<int>(i);
    if (i + 1 == ids_.size() || ids_[i + 1] != ids_[i]) {
      runs_.push_back({first_distance_ + static_cast<int>(i), ids_[i]});
    }
  }
  runs_.back().last_distance = std::numeric_limits<int>::max();
}

int RelationIndex::id(int distance) const {
  return ids_[static_cast<std::size_t>(std::clamp(distance, first_distance(), last_distance()) -
                                       first_distance_)];
}

RelationIndex RelationIndex::clipped(int limit) const {
  const int first = std::max(first_distance(), -limit);
  const int last = std::min(last_distance(), limit);
  RelationIndex index = *this;
  index.set_ids(first, {ids_.begin() + (first - first_distance_),
                        ids_.begin() + (last + 1 - first_distance_)});
  return index;
}

RelationIndex RelationIndex::mirrored() const {
  RelationIndex index = *this;
  index.set_ids(-last_distance(), {ids_.rbegin(), ids_.rend()});
  return index;
}

int RelationIndex::reach() const {
  if (runs_.size() < 2) {
    return 0;
  }
  return std::max(-runs_.front().last_distance, runs_[runs_.size() - 2].last_distance + 1);
}

int t5_bucket(int distance, int num_buckets, int max_distance, bool bidirectional) {
  int bucket = 0;
  int apart = 0;  // how far back, or how far apart when both sides count
  if (bidirectional) {
    num_buckets /= 2;
    bucket = distance > 0 ? num_buckets : 0;
    apart = std::abs(distance);
  } else {
    apart = std::max(-distance, 0);
  }
  const int exact = num_buckets / 2;
  if (apart < exact) {
    return bucket + apart;
  }
  // The reference computes in f32; 16, 32, 64 sit exactly on a boundary, so the precision is part
  // of the definition.
  const float ratio = std::log(static_cast<float>(apart) / static_cast<float>(exact)) /
                      static_cast<float>(natural_log(static_cast<double>(max_distance) / exact));
  const int logarithmic = exact + static_cast<int>(ratio * static_cast<float>(num_buckets - exact));
  return bucket + std::min(logarithmic, num_buckets - 1);
}

}  // namespace relata
