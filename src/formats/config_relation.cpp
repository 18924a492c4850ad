// The `relation` of a stack in our own schema: an index with the effect that goes with it, as the
// top of config_relata.cpp describes them.
#include <climits>

#include "src/formats/config_file.hpp"

namespace relata::formats {
namespace {

// `distance` is a word of the file only: a fixed slope needs no ids, so the core has no such index.
enum class IndexWord { none, distance, clipped_distance, bucketed_distance, labels };

Result<IndexWord> read_index(const JsonObject& index, RelationIndexConfig& config) {
  RELATA_TRY_ASSIGN(
      const IndexWord word,
      index.choice<IndexWord>("type", {{"none", IndexWord::none},
                                       {"distance", IndexWord::distance},
                                       {"clipped_distance", IndexWord::clipped_distance},
                                       {"bucketed_distance", IndexWord::bucketed_distance},
                                       {"labels", IndexWord::labels}}));
  switch (word) {
    case IndexWord::none:
    case IndexWord::distance:
      RELATA_TRY(index.allow_only({"type"}));
      break;
    case IndexWord::clipped_distance: {
      config.kind = IndexKind::clipped_distance;
      RELATA_TRY(index.allow_only({"type", "left", "right"}));
      RELATA_TRY_ASSIGN(config.left, index.integer("left", 0, INT_MAX));
      RELATA_TRY_ASSIGN(config.right, index.integer("right", 0, INT_MAX));
      break;
    }
    case IndexWord::bucketed_distance: {
      config.kind = IndexKind::bucketed_distance;
      RELATA_TRY(index.allow_only({"type", "num_buckets", "max_distance", "bidirectional"}));
      RELATA_TRY_ASSIGN(config.num_buckets, index.integer("num_buckets", 1, INT_MAX));
      RELATA_TRY_ASSIGN(config.max_distance, index.integer("max_distance", 1, INT_MAX));
      RELATA_TRY_ASSIGN(config.bidirectional, index.boolean("bidirectional"));
      break;
    }
    case IndexWord::labels: {
      config.kind = IndexKind::labels;
      RELATA_TRY(index.allow_only({"type", "num_labels"}));
      RELATA_TRY_ASSIGN(config.num_labels, index.integer("num_labels", 1, INT_MAX));
      break;
    }
  }
  return word;
}

/// Returns whether every layer has tables of its own.
Result<bool> read_effect(const JsonObject& effect, RelationEffectConfig& config) {
  RELATA_TRY_ASSIGN(config.kind,
                    effect.choice<EffectKind>("type", {{"none", EffectKind::none},
                                                       {"vectors", EffectKind::vectors},
                                                       {"bias", EffectKind::bias},
                                                       {"fixed_slope", EffectKind::fixed_slope}}));
  switch (config.kind) {
    case EffectKind::none:
    case EffectKind::fixed_slope:
      break;
    case EffectKind::vectors: {
      RELATA_TRY(effect.allow_only({"type", "keys", "values", "per_head", "per_layer"}));
      RELATA_TRY_ASSIGN(config.keys, effect.boolean("keys"));
      RELATA_TRY_ASSIGN(config.values, effect.boolean("values"));
      RELATA_TRY_ASSIGN(config.per_head, effect.boolean_or("per_head", false));
      return effect.boolean_or("per_layer", true);
    }
    case EffectKind::bias:
      RELATA_TRY(effect.allow_only({"type", "per_layer"}));
      return effect.boolean_or("per_layer", false);
  }
  RELATA_TRY(effect.allow_only({"type"}));
  return false;
}

}  // namespace

Result<bool> read_relata_relation(const JsonObject& relation, bool labels_allowed,
                                  RelationConfig& config) {
  RELATA_TRY(relation.allow_only({"index", "effect"}));
  RELATA_TRY_ASSIGN(const JsonObject index, relation.object("index"));
  RELATA_TRY_ASSIGN(const JsonObject effect, relation.object("effect"));
  RELATA_TRY_ASSIGN(const IndexWord word, read_index(index, config.index));
  RELATA_TRY_ASSIGN(const bool per_layer, read_effect(effect, config.effect));

  const bool sloped = config.effect.kind == EffectKind::fixed_slope;
  if (sloped != (word == IndexWord::distance)) {
    return effect.invalid("type",
                          "fixed_slope and the index type distance go only with each other");
  }
  if ((config.effect.kind == EffectKind::none) != (word == IndexWord::none)) {
    return effect.invalid("type",
                          "an effect needs an index and an index an effect, or both are none");
  }
  if (config.effect.kind == EffectKind::vectors && !config.effect.keys && !config.effect.values) {
    return effect.invalid("keys", "vectors need keys, values or both");
  }
  if (word == IndexWord::labels && !labels_allowed) {
    return index.invalid("type", "labels are possible in encoder_self only");
  }
  return per_layer;
}

}  // namespace relata::formats
