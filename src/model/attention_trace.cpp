#include "src/model/attention_trace.hpp"

#include <algorithm>
#include <string>
#include <utility>

namespace relata {
namespace {

bool wanted(const std::vector<int>& chosen, int index) {
  return chosen.empty() || std::find(chosen.begin(), chosen.end(), index) != chosen.end();
}

bool asks_for(const TraceRequest& request, AttentionKind kind) {
  return std::find(request.kinds.begin(), request.kinds.end(), kind) != request.kinds.end();
}

Result<void> check_indices(const char* what, const std::vector<int>& chosen, int count) {
  for (const int index : chosen) {
    if (index < 0 || index >= count) {
      return fail(ErrorCode::option_invalid, {"trace.", what},
                  {index, " is not one of the ", count, " ", what});
    }
  }
  return {};
}

}  // namespace

Result<AttentionTrace> AttentionTrace::allocate(const Config& config, const TraceRequest& request,
                                                int source_length, int max_target_length) {
  AttentionTrace trace;
  if (request.kinds.empty()) {
    return trace;
  }
  const bool encoder = asks_for(request, AttentionKind::encoder_self);
  const bool decoder =
      asks_for(request, AttentionKind::decoder_self) || asks_for(request, AttentionKind::cross);
  RELATA_TRY(check_indices(
      "layers", request.layers,
      std::max(encoder ? config.num_encoder_layers : 0, decoder ? config.num_decoder_layers : 0)));
  RELATA_TRY(check_indices("heads", request.heads, config.num_heads));
  for (const auto kind :
       {AttentionKind::encoder_self, AttentionKind::decoder_self, AttentionKind::cross}) {
    if (!asks_for(request, kind)) {
      continue;
    }
    const bool of_encoder = kind == AttentionKind::encoder_self;
    const int queries = of_encoder ? source_length : max_target_length;
    const int keys = kind == AttentionKind::decoder_self ? max_target_length : source_length;
    const RelationConfig& relation = of_encoder ? config.encoder_relation : config.decoder_relation;
    const bool related = kind != AttentionKind::cross && relation.effect.kind != EffectKind::none;
    for (int layer = 0;
         layer < (of_encoder ? config.num_encoder_layers : config.num_decoder_layers); ++layer) {
      for (int head = 0; head < config.num_heads; ++head) {
        if (!wanted(request.layers, layer) || !wanted(request.heads, head)) {
          continue;
        }
        HeadTrace entry;
        entry.kind = kind;
        entry.layer = layer;
        entry.head = head;
        RELATA_TRY(entry.weights.reset(queries, keys, "trace"));
        RELATA_TRY(entry.content_scores.reset(queries, keys, "trace"));
        if (related) {
          RELATA_TRY(entry.relation_scores.reset(queries, keys, "trace"));
        }
        trace.heads_.push_back(std::move(entry));
      }
    }
  }
  return trace;
}

HeadTrace* AttentionTrace::find(AttentionKind kind, int layer, int head) {
  for (HeadTrace& entry : heads_) {
    if (entry.kind == kind && entry.layer == layer && entry.head == head) {
      return &entry;
    }
  }
  return nullptr;
}

}  // namespace relata
