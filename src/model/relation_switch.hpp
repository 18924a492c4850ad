// A loaded model with its relations altered in places, to see what they do: an ordinary argument of
// a pass, like a trace. The model stays as it is, and its tables are shared.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "src/model/attention_trace.hpp"
#include "src/model/weights.hpp"
#include "src/relation/relation_alteration.hpp"

namespace relata {

/// What to alter, and where; everywhere else the relation stays as trained.
struct RelationSwitch {
  RelationAlteration alteration = {};
  /// encoder_self, decoder_self or both. Empty: wherever the alteration has a meaning.
  std::vector<AttentionKind> kinds = {};
  std::vector<int> layers = {};  // empty: all
  std::vector<int> heads = {};   // empty: all
};

/// One layer's relation, head by head: as trained, or altered in the heads that are marked.
struct LayerRelation {
  const Relation* trained = nullptr;                 // null: none, and none altered
  const Relation* altered = nullptr;                 // null: as trained in every head
  std::span<const std::uint8_t> altered_heads = {};  // [num_heads], if there is an altered one

  LayerRelation() = default;
  LayerRelation(const Relation* relation) : trained(relation) {}
  const Relation* of(int head) const {
    return altered != nullptr && altered_heads[static_cast<std::size_t>(head)] != 0 ? altered
                                                                                    : trained;
  }
};

struct AlteredStack {
  std::vector<Relation> relations;    // as in StackWeights; empty: all as trained
  std::vector<std::uint8_t> altered;  // [num_layers * num_heads] whether a head has it
};

/// The relation of a layer of the stack with these weights. altered: of this stack, or null.
LayerRelation relation_of(const StackWeights& stack, const AlteredStack* altered, int layer);

/// Altered relations of one model, of use with that model only, which must outlive them.
struct AlteredRelations {
  AlteredStack encoder;
  AlteredStack decoder;
};

/// An alteration `none` gives relations as trained. What is altered costs what the trained relation
/// costs, off costs nothing. Errors: option_invalid for an alteration that has no meaning or no
/// effect in any of the kinds asked for, for cross, and for a layer or head the model does not
/// have; out_of_memory.
Result<AlteredRelations> alter_relations(const Model& model, const RelationSwitch& wanted);

}  // namespace relata
