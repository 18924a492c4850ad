#include "src/relation/relation_alteration.hpp"

#include <utility>

#include "src/relation/relation_effect.hpp"

namespace relata {
namespace {

Handed refused(const Words& why) { return fail(ErrorCode::option_invalid, "relation.switch", why); }

}  // namespace

Result<Relation> Relation::altered(const RelationAlteration& alteration) const {
  const bool by_slope = config_.kind == EffectKind::fixed_slope;
  Relation result;
  result.index_ = index_;
  result.config_ = config_;
  switch (alteration.kind) {
    case Alteration::none:
      break;
    case Alteration::off:
      result.config_.kind = EffectKind::none;
      return result;
    case Alteration::keys_only:
    case Alteration::values_only:
      if (config_.kind != EffectKind::vectors || !config_.keys || !config_.values) {
        return refused("only a relation with vectors for keys and for values can lose one of them");
      }
      result.vectors_ = vectors_;
      result.config_.keys = alteration.kind == Alteration::keys_only;
      result.config_.values = !result.config_.keys;
      return result;
    case Alteration::clipped:
      if (alteration.clip < 0) {
        return refused("the distance to clip at must be 0 or more");
      }
      if (by_slope) {
        result.slopes_ = slopes_;
        result.slope_reach_ = alteration.clip;
        return result;
      }
      if (!index_.by_distance()) {
        return refused("labels have no distance to clip");
      }
      if (alteration.clip >= index_.reach()) {
        return refused({"clipping at ", alteration.clip, " changes nothing: from ", index_.reach(),
                        " on all distances are one to this relation"});
      }
      return with_index(index_.clipped(alteration.clip), false);
    case Alteration::mirrored:
      if (by_slope) {
        return refused("a fixed slope is the same to both sides: mirrored it changes nothing");
      }
      if (!index_.by_distance()) {
        return refused("labels have no distance to mirror");
      }
      if (index_.reach() == 0) {
        return refused("all distances are one to this relation: mirrored it changes nothing");
      }
      return with_index(index_.mirrored(), true);
  }
  return refused("no such alteration");
}

/// The same effect read by another index; opposite: whose entries are of the opposite distance.
Result<Relation> Relation::with_index(RelationIndex index, bool opposite) const {
  Relation result;
  result.config_ = config_;
  result.vectors_ = vectors_;
  result.slopes_ = slopes_;
  result.slope_reach_ = slope_reach_;
  if (bias_.rows() > 0) {
    const int entries = index.by_distance() ? static_cast<int>(index.ids().size()) : bias_.cols();
    RELATA_TRY_ASSIGN(result.bias_, Matrix::allocate(bias_.rows(), entries, "relation_bias"));
    for (int head = 0; head < bias_.rows(); ++head) {
      for (int entry = 0; entry < entries; ++entry) {
        const int distance = index.first_distance() + entry;
        result.bias_.view().row(head)[entry] =
            bias_.view().row(head)[(opposite ? -distance : distance) - index_.first_distance()];
      }
    }
  }
  result.index_ = std::move(index);
  return result;
}

}  // namespace relata
