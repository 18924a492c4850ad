#include "src/model/relation_switch.hpp"

#include <algorithm>
#include <utility>

namespace relata {
namespace {

template <class T>
bool names(const std::vector<T>& list, T item) {
  return std::find(list.begin(), list.end(), item) != list.end();
}

Result<void> check_indices(const char* where, const std::vector<int>& list, int count) {
  for (std::size_t i = 0; i < list.size(); ++i) {
    if (list[i] < 0 || list[i] >= count) {
      return fail(ErrorCode::option_invalid, {where, "[", i, "]"},
                  {"there is no ", list[i], " among the ", count, " of what is altered"});
    }
  }
  return {};
}

Result<void> alter(const StackWeights& stack, int num_heads, const RelationSwitch& wanted,
                   AlteredStack& result) {
  if (stack.relations.empty() || stack.layers.empty()) {
    return fail(ErrorCode::option_invalid, "relation.switch", "there is no relation to alter");
  }
  std::vector<Relation> relations;
  for (const Relation& relation : stack.relations) {
    RELATA_TRY_ASSIGN(Relation altered, relation.altered(wanted.alteration));
    relations.push_back(std::move(altered));
  }
  result.relations = std::move(relations);
  for (int layer = 0; layer < static_cast<int>(stack.layers.size()); ++layer) {
    for (int head = 0; head < num_heads; ++head) {
      const bool is_here = (wanted.layers.empty() || names(wanted.layers, layer)) &&
                           (wanted.heads.empty() || names(wanted.heads, head));
      result.altered.push_back(is_here ? 1 : 0);
    }
  }
  return {};
}

}  // namespace

LayerRelation relation_of(const StackWeights& stack, const AlteredStack* altered, int layer) {
  LayerRelation result(stack.relation_of(layer));
  if (altered != nullptr && !altered->relations.empty()) {
    const auto at = static_cast<std::size_t>(layer);
    const std::size_t num_heads = altered->altered.size() / stack.layers.size();
    result.altered = &altered->relations[altered->relations.size() == 1 ? 0 : at];
    result.altered_heads = std::span(altered->altered).subspan(at * num_heads, num_heads);
  }
  return result;
}

Result<AlteredRelations> alter_relations(const Model& model, const RelationSwitch& wanted) {
  AlteredRelations result;
  if (wanted.alteration.kind == Alteration::none) {
    return result;
  }
  if (names(wanted.kinds, AttentionKind::cross)) {
    return fail(ErrorCode::option_invalid, "relation.kinds", "cross attention has no relation");
  }
  const int num_heads = model.config.num_heads;
  int num_layers = 0;
  Result<void> first;
  for (const auto kind : {AttentionKind::encoder_self, AttentionKind::decoder_self}) {
    if (!wanted.kinds.empty() && !names(wanted.kinds, kind)) {
      continue;
    }
    const bool encoder = kind == AttentionKind::encoder_self;
    const StackWeights& stack = encoder ? model.weights.encoder : model.weights.decoder;
    auto done = alter(stack, num_heads, wanted, encoder ? result.encoder : result.decoder);
    if (done.ok()) {
      num_layers = std::max(num_layers, static_cast<int>(stack.layers.size()));
    } else if (!wanted.kinds.empty() || done.error().code != ErrorCode::option_invalid) {
      return done.hand_on();
    } else if (first.ok()) {
      first = std::move(done);
    }
  }
  if (num_layers == 0) {
    return first.hand_on();
  }
  RELATA_TRY(check_indices("relation.layers", wanted.layers, num_layers));
  RELATA_TRY(check_indices("relation.heads", wanted.heads, num_heads));
  return result;
}

}  // namespace relata
