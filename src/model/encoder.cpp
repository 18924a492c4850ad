#include "src/model/encoder.hpp"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "src/model/attention.hpp"
#include "src/model/feed_forward.hpp"
#include "src/model/linear.hpp"

namespace relata {
namespace {

Result<void> check_labels(const Config& config, MatrixView<const int> labels, int length) {
  const RelationIndexConfig& index = config.encoder_relation.index;
  if (index.kind != IndexKind::labels) {
    if (labels.data != nullptr) {
      return fail(ErrorCode::input_invalid, "labels", "this model's relation is not by labels");
    }
    return {};
  }
  if (labels.data == nullptr || labels.rows != length || labels.cols != length) {
    return fail(ErrorCode::input_invalid, "labels",
                {"this model needs a matrix of ", length, " x ", length, " labels"});
  }
  for (int i = 0; i < length; ++i) {
    for (int j = 0; j < length; ++j) {
      const int label = labels.row(i)[j];
      if (label < 0 || label >= index.num_labels) {
        return fail(ErrorCode::input_invalid, {"labels[", i, "][", j, "]"},
                    {"label ", label, " is not below the number of labels ", index.num_labels});
      }
    }
  }
  return {};
}

}  // namespace

Result<void> check(const Config& config, const Source& source) {
  const std::span<const int> ids = source.token_ids;
  if (ids.empty() || ids.size() > static_cast<std::size_t>(kMaxSourceLength)) {
    return fail(ErrorCode::input_invalid, "source",
                {"a source has from 1 to ", kMaxSourceLength, " tokens"});
  }
  if (config.positions.kind == PositionKind::table &&
      ids.size() > static_cast<std::size_t>(config.positions.max_positions)) {
    return fail(
        ErrorCode::input_invalid, "source",
        {"this model has positions for ", config.positions.max_positions, " tokens and no more"});
  }
  RELATA_TRY(check_source_ids(config, ids, "source"));
  return check_labels(config, source.labels, static_cast<int>(ids.size()));
}

Result<Matrix> encode(const Model& model, std::span<const Source> sources,
                      const AlteredRelations* altered) {
  const Config& config = model.config;
  const StackWeights& stack = model.weights.encoder;
  std::int64_t total = 0;
  int longest = 0;
  bool traced = false;
  for (const Source& source : sources) {
    RELATA_TRY(check(config, source));
    longest = std::max(longest, static_cast<int>(source.token_ids.size()));
    total += static_cast<std::int64_t>(source.token_ids.size());
    traced = traced || source.trace != nullptr;
  }
  if (total > std::numeric_limits<int>::max()) {
    return fail(ErrorCode::out_of_memory, "encoder", {"cannot encode ", total, " tokens at once"});
  }
  const int rows = static_cast<int>(total);
  RELATA_TRY_ASSIGN(auto workspace, Workspace::allocate(config, stack.relations, rows, longest,
                                                        traced, model.parallel.get()));
  RELATA_TRY_ASSIGN(auto memory, KeyValues::allocate(config, model.weights.type(), longest));
  RELATA_TRY_ASSIGN(auto result, Matrix::allocate(rows, config.d_model, "encoder output"));
  const auto hidden = result.view();
  const auto output = workspace.sublayer_output.view();
  const AlteredStack* relations = altered == nullptr ? nullptr : &altered->encoder;
  std::vector<AttentionSequence> sequences;
  int first = 0;
  for (const Source& source : sources) {
    const int length = static_cast<int>(source.token_ids.size());
    RELATA_TRY(embed(model, Side::source, source.token_ids, 0, hidden.slice_rows(first, length)));
    sequences.push_back({length, 0, &memory, source.labels, source.trace});
    first += length;
  }
  for (int i = 0; i < config.num_encoder_layers; ++i) {
    const LayerWeights& layer = stack.layers[static_cast<std::size_t>(i)];
    auto input = before_sublayer(config, layer.self_attention_norm, hidden, workspace);
    self_attention(config, layer.self_attention, AttentionKind::encoder_self, i,
                   relation_of(stack, relations, i), input, sequences, workspace, output);
    after_sublayer(config, layer.self_attention_norm, output, hidden);

    input = before_sublayer(config, layer.feed_forward_norm, hidden, workspace);
    feed_forward(config, layer.feed_forward, input, workspace, output);
    after_sublayer(config, layer.feed_forward_norm, output, hidden);
  }
  if (config.norm_position == NormPosition::pre) {
    normalise(config, stack.final_norm, hidden, hidden);
  }
  RELATA_TRY(check_finite(hidden, "encoder output"));
  return result;
}

Result<Matrix> encode(const Model& model, std::span<const int> token_ids,
                      MatrixView<const int> labels, AttentionTrace* trace,
                      const AlteredRelations* altered) {
  const Source source{token_ids, labels, trace};
  return encode(model, {&source, 1}, altered);
}

}  // namespace relata
