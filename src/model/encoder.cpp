#include "src/model/encoder.hpp"

#include <string>
#include <utility>

#include "src/model/attention.hpp"
#include "src/model/feed_forward.hpp"
#include "src/model/linear.hpp"

namespace relata {
namespace {

Result<void> check_labels(const Config& config, MatrixView<const int> labels, int length) {
  const RelationIndexConfig& index = config.encoder_relation.index;
  if (index.kind != IndexKind::labels) {
    if (labels.data != nullptr) {
      return Error{ErrorCode::input_invalid, "labels", "this model's relation is not by labels"};
    }
    return {};
  }
  if (labels.data == nullptr || labels.rows != length || labels.cols != length) {
    return Error{ErrorCode::input_invalid, "labels",
                 "this model needs a matrix of " + std::to_string(length) + " x " +
                     std::to_string(length) + " labels"};
  }
  for (int i = 0; i < length; ++i) {
    for (int j = 0; j < length; ++j) {
      const int label = labels.row(i)[j];
      if (label < 0 || label >= index.num_labels) {
        return Error{ErrorCode::input_invalid,
                     "labels[" + std::to_string(i) + "][" + std::to_string(j) + "]",
                     "label " + std::to_string(label) + " is not below the number of labels " +
                         std::to_string(index.num_labels)};
      }
    }
  }
  return {};
}

}  // namespace

Result<Matrix> encode(const Model& model, std::span<const int> token_ids,
                      MatrixView<const int> labels, AttentionTrace* trace) {
  const Config& config = model.config;
  const StackWeights& stack = model.weights.encoder;
  if (token_ids.empty() || token_ids.size() > static_cast<std::size_t>(kMaxSourceLength)) {
    return Error{ErrorCode::input_invalid, "source",
                 "a source has from 1 to " + std::to_string(kMaxSourceLength) + " tokens"};
  }
  const int length = static_cast<int>(token_ids.size());
  RELATA_TRY(check_labels(config, labels, length));
  RELATA_TRY_ASSIGN(auto workspace,
                    Workspace::allocate(config, stack.relations, length, length, trace != nullptr));
  RELATA_TRY_ASSIGN(auto memory, KeyValues::allocate(config, length));
  RELATA_TRY_ASSIGN(auto result, Matrix::allocate(length, config.d_model, "encoder output"));
  const auto hidden = result.view();
  const auto output = workspace.sublayer_output.view();
  RELATA_TRY(embed(model, token_ids, 0, hidden));
  for (int i = 0; i < config.num_encoder_layers; ++i) {
    const LayerWeights& layer = stack.layers[static_cast<std::size_t>(i)];
    AttentionPlace place;
    place.kind = AttentionKind::encoder_self;
    place.layer = i;
    place.relation = stack.relation_of(i);
    place.labels = labels;
    auto input = before_sublayer(config, layer.self_attention_norm, hidden, workspace);
    memory.length = 0;
    append_key_values(layer.self_attention, input, workspace, memory);
    attention(config, layer.self_attention, place, input, memory, workspace, trace, output);
    after_sublayer(config, layer.self_attention_norm, output, hidden);

    input = before_sublayer(config, layer.feed_forward_norm, hidden, workspace);
    feed_forward(config, layer.feed_forward, input, workspace, output);
    after_sublayer(config, layer.feed_forward_norm, output, hidden);
  }
  if (config.norm_position == NormPosition::pre) {
    normalise(config, stack.final_norm, hidden, hidden);
  }
  return result;
}

}  // namespace relata
