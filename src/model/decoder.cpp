#include "src/model/decoder.hpp"

#include <algorithm>
#include <string>
#include <utility>

#include "src/model/attention.hpp"
#include "src/model/feed_forward.hpp"
#include "src/model/linear.hpp"

namespace relata {
namespace {

/// Source rows projected at once to cross keys and values: enough to share each weight, little to
/// hold.
constexpr int kProjectionRows = 64;

}  // namespace

Result<Decoder> Decoder::start(const Model& model, MatrixView<const float> encoded,
                               int max_target_length, int max_rows, bool with_trace) {
  const Config& config = model.config;
  const StackWeights& stack = model.weights.decoder;
  Decoder decoder;
  decoder.model_ = &model;
  decoder.max_rows_ = max_rows;
  decoder.max_target_length_ = max_target_length;
  RELATA_TRY_ASSIGN(decoder.cache_, KvCache::allocate(config, encoded.rows, max_target_length));
  {
    const int chunk = std::min(encoded.rows, kProjectionRows);
    RELATA_TRY_ASSIGN(auto workspace,
                      Workspace::allocate(config, stack.relations, chunk, 0, false));
    for (int i = 0; i < config.num_decoder_layers; ++i) {
      const auto at = static_cast<std::size_t>(i);
      for (int first = 0; first < encoded.rows; first += chunk) {
        append_key_values(stack.layers[at].cross_attention,
                          encoded.slice_rows(first, std::min(chunk, encoded.rows - first)),
                          workspace, decoder.cache_.cross[at]);
      }
    }
  }
  RELATA_TRY_ASSIGN(decoder.workspace_,
                    Workspace::allocate(config, stack.relations, max_rows,
                                        std::max(encoded.rows, max_target_length), with_trace));
  RELATA_TRY_ASSIGN(decoder.hidden_, Matrix::allocate(max_rows, config.d_model, "decoder"));
  return decoder;
}

Result<void> Decoder::forward(std::span<const int> token_ids, MatrixView<float> logits,
                              AttentionTrace* trace) {
  const Config& config = model_->config;
  const StackWeights& stack = model_->weights.decoder;
  const auto limit = static_cast<std::size_t>(std::min(max_rows_, max_target_length_ - length_));
  if (token_ids.empty() || token_ids.size() > limit) {
    return Error{ErrorCode::input_invalid, "target",
                 "the decoder takes from 1 to " + std::to_string(limit) + " tokens here"};
  }
  const int rows = static_cast<int>(token_ids.size());
  const auto hidden = hidden_.view().slice_rows(0, rows);
  const auto output = workspace_.sublayer_output.view().slice_rows(0, rows);
  RELATA_TRY(embed(*model_, token_ids, length_, hidden));
  for (int i = 0; i < config.num_decoder_layers; ++i) {
    const auto at = static_cast<std::size_t>(i);
    const LayerWeights& layer = stack.layers[at];
    AttentionPlace place;
    place.kind = AttentionKind::decoder_self;
    place.layer = i;
    place.first_query = length_;
    place.relation = stack.relation_of(i);
    auto input = before_sublayer(config, layer.self_attention_norm, hidden, workspace_);
    append_key_values(layer.self_attention, input, workspace_, cache_.self[at]);
    attention(config, layer.self_attention, place, input, cache_.self[at], workspace_, trace,
              output);
    after_sublayer(config, layer.self_attention_norm, output, hidden);

    place.kind = AttentionKind::cross;
    place.relation = nullptr;
    input = before_sublayer(config, layer.cross_attention_norm, hidden, workspace_);
    attention(config, layer.cross_attention, place, input, cache_.cross[at], workspace_, trace,
              output);
    after_sublayer(config, layer.cross_attention_norm, output, hidden);

    input = before_sublayer(config, layer.feed_forward_norm, hidden, workspace_);
    feed_forward(config, layer.feed_forward, input, workspace_, output);
    after_sublayer(config, layer.feed_forward_norm, output, hidden);
  }
  length_ += rows;
  if (config.norm_position == NormPosition::pre) {
    normalise(config, stack.final_norm, hidden, hidden);
  }
  for (int i = 0; i < rows; ++i) {
    kernels::scale(hidden.row(i), config.logits_scale, config.d_model);
  }
  kernels::matmul(hidden, model_->weights.output_projection().view(), nullptr, logits);
  return {};
}

}  // namespace relata
