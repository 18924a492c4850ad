#include "src/model/decoder.hpp"

#include <algorithm>
#include <string>
#include <utility>

#include "src/model/feed_forward.hpp"
#include "src/model/linear.hpp"

namespace relata {
namespace {

/// Source rows projected at once to cross keys and values: enough to share each weight, little to
/// hold.
constexpr int kProjectionRows = 64;
/// Positions a hypothesis has room for at first; doubled whenever they are full.
constexpr int kFirstCapacity = 32;

}  // namespace

Result<Decoder> Decoder::start(const Model& model, const DecoderLimits& limits,
                               const AlteredRelations* altered) {
  const Config& config = model.config;
  if (config.num_decoder_layers == 0) {
    return fail(ErrorCode::unsupported, "decoder",
                "this model is an encoder alone: it can neither generate nor score");
  }
  Decoder decoder;
  decoder.model_ = &model;
  decoder.relations_ = altered == nullptr ? nullptr : &altered->decoder;
  decoder.limits_ = limits;
  decoder.limits_.max_target_length = std::min(limits.max_target_length, max_target_length(config));
  RELATA_TRY_ASSIGN(
      decoder.workspace_,
      Workspace::allocate(config, model.weights.decoder.relations, limits.max_rows,
                          std::max(limits.max_source_length, decoder.limits_.max_target_length),
                          limits.with_trace, model.parallel.get()));
  RELATA_TRY(decoder.hidden_.reset(limits.max_rows, config.d_model, "decoder"));
  return decoder;
}

Result<Decoder> Decoder::start(const Model& model, MatrixView<const float> encoded,
                               int max_target_length, int max_rows, bool with_trace,
                               const AlteredRelations* altered) {
  RELATA_TRY_ASSIGN(auto decoder,
                    start(model, {encoded.rows, max_target_length, max_rows, with_trace}, altered));
  RELATA_TRY(decoder.add_source(encoded));
  return decoder;
}

Result<void> Decoder::add_source(MatrixView<const float> encoded) {
  const Config& config = model_->config;
  const StackWeights& stack = model_->weights.decoder;
  RELATA_TRY_ASSIGN(auto source, KvCache::allocate(config, model_->weights.type(), encoded.rows));
  RELATA_TRY_ASSIGN(auto self,
                    KvCache::allocate(config, model_->weights.type(),
                                      std::min(kFirstCapacity, limits_.max_target_length)));
  const int chunk = std::min(encoded.rows, kProjectionRows);
  RELATA_TRY_ASSIGN(auto workspace, Workspace::allocate(config, stack.relations, chunk, 0, false,
                                                        model_->parallel.get()));
  for (std::size_t i = 0; i < source.layers.size(); ++i) {
    for (int first = 0; first < encoded.rows; first += chunk) {
      append_key_values(stack.layers[i].cross_attention,
                        encoded.slice_rows(first, std::min(chunk, encoded.rows - first)), workspace,
                        source.layers[i]);
    }
  }
  hypotheses_.push_back({std::make_shared<KvCache>(std::move(source)), std::move(self)});
  return {};
}

Result<void> Decoder::reorder(std::span<const int> parents) {
  std::vector<int> heirs(hypotheses_.size(), -1);  // who took over a parent's cache
  std::vector<Hypothesis> children(parents.size());
  for (std::size_t i = 0; i < parents.size(); ++i) {
    const auto parent = static_cast<std::size_t>(parents[i]);
    children[i].source = hypotheses_[parent].source;
    if (heirs[parent] < 0) {
      heirs[parent] = static_cast<int>(i);
      children[i].self = std::move(hypotheses_[parent].self);
    }
  }
  for (std::size_t i = 0; i < hypotheses_.size(); ++i) {
    if (heirs[i] < 0) {
      spare_.push_back(std::move(hypotheses_[i].self));
    }
  }
  for (std::size_t i = 0; i < parents.size(); ++i) {
    const int heir = heirs[static_cast<std::size_t>(parents[i])];
    if (heir == static_cast<int>(i)) {
      continue;
    }
    const KvCache& original = children[static_cast<std::size_t>(heir)].self;
    const auto fitting = std::find_if(
        spare_.begin(), spare_.end(),
        [&original](const KvCache& spare) { return spare.capacity() >= original.length(); });
    if (fitting != spare_.end()) {
      children[i].self = std::move(*fitting);
      spare_.erase(fitting);
    } else {
      RELATA_TRY_ASSIGN(children[i].self, KvCache::allocate(model_->config, model_->weights.type(),
                                                            original.capacity()));
    }
    for (std::size_t layer = 0; layer < original.layers.size(); ++layer) {
      children[i].self.layers[layer].assign(original.layers[layer]);
    }
  }
  hypotheses_ = std::move(children);
  // Room for a whole round of copies is worth keeping, more is not.
  spare_.resize(std::min(spare_.size(), hypotheses_.size()));
  return {};
}

Result<int> Decoder::check(std::span<const DecoderRun> runs) {
  if (runs.size() != hypotheses_.size()) {
    return fail(ErrorCode::input_invalid, "target",
                {"the decoder takes one run of tokens for each of its ", hypotheses_.size(),
                 " hypotheses"});
  }
  std::size_t rows = 0;
  auto limit = static_cast<std::size_t>(limits_.max_rows);
  bool fits = true;
  for (std::size_t i = 0; i < runs.size(); ++i) {
    const auto room =
        static_cast<std::size_t>(limits_.max_target_length - length(static_cast<int>(i)));
    limit = std::min(limit, room);
    fits = fits && runs[i].token_ids.size() <= room;
    rows += runs[i].token_ids.size();
    RELATA_TRY(check_token_ids(model_->config, runs[i].token_ids, "target"));
  }
  if (!fits || rows == 0 || rows > static_cast<std::size_t>(limits_.max_rows)) {
    return fail(ErrorCode::input_invalid, "target",
                {"the decoder takes from 1 to ", limit, " tokens here"});
  }
  for (std::size_t i = 0; i < runs.size(); ++i) {
    RELATA_TRY(make_room(hypotheses_[i],
                         length(static_cast<int>(i)) + static_cast<int>(runs[i].token_ids.size())));
  }
  return static_cast<int>(rows);
}

Result<void> Decoder::make_room(Hypothesis& hypothesis, int length) {
  if (length <= hypothesis.self.capacity()) {
    return {};
  }
  const int capacity =
      std::min(std::max(length, 2 * hypothesis.self.capacity()), limits_.max_target_length);
  RELATA_TRY_ASSIGN(auto larger,
                    KvCache::allocate(model_->config, model_->weights.type(), capacity));
  for (std::size_t layer = 0; layer < larger.layers.size(); ++layer) {
    larger.layers[layer].assign(hypothesis.self.layers[layer]);
  }
  hypothesis.self = std::move(larger);
  return {};
}

Result<void> Decoder::forward(std::span<const DecoderRun> runs, MatrixView<float> logits) {
  const Config& config = model_->config;
  const StackWeights& stack = model_->weights.decoder;
  RELATA_TRY_ASSIGN(const int rows, check(runs));
  const auto hidden = hidden_.view().slice_rows(0, rows);
  const auto output = workspace_.sublayer_output.view().slice_rows(0, rows);
  std::vector<AttentionSequence> self;
  std::vector<AttentionSequence> cross;
  std::vector<std::size_t> cross_of;  // hypothesis whose source a cross sequence reads
  int first = 0;
  for (std::size_t i = 0; i < runs.size(); ++i) {
    const int count = static_cast<int>(runs[i].token_ids.size());
    const int position = hypotheses_[i].self.length();
    RELATA_TRY(
        embed(*model_, Side::target, runs[i].token_ids, position, hidden.slice_rows(first, count)));
    self.push_back({count, position, nullptr, {}, runs[i].trace});
    // Neighbours over one source read it together.
    if (i > 0 && hypotheses_[i].source == hypotheses_[i - 1].source && runs[i].trace == nullptr &&
        runs[i - 1].trace == nullptr) {
      cross.back().num_rows += count;
    } else {
      cross.push_back({count, position, nullptr, {}, runs[i].trace});
      cross_of.push_back(i);
    }
    first += count;
  }
  for (int i = 0; i < config.num_decoder_layers; ++i) {
    const auto at = static_cast<std::size_t>(i);
    const LayerWeights& layer = stack.layers[at];
    for (std::size_t j = 0; j < self.size(); ++j) {
      self[j].memory = &hypotheses_[j].self.layers[at];
    }
    for (std::size_t j = 0; j < cross.size(); ++j) {
      cross[j].memory = &hypotheses_[cross_of[j]].source->layers[at];
    }
    auto input = before_sublayer(config, layer.self_attention_norm, hidden, workspace_);
    self_attention(config, layer.self_attention, AttentionKind::decoder_self, i,
                   relation_of(stack, relations_, i), input, self, workspace_, output);
    after_sublayer(config, layer.self_attention_norm, output, hidden);

    input = before_sublayer(config, layer.cross_attention_norm, hidden, workspace_);
    cross_attention(config, layer.cross_attention, i, input, cross, workspace_, output);
    after_sublayer(config, layer.cross_attention_norm, output, hidden);

    input = before_sublayer(config, layer.feed_forward_norm, hidden, workspace_);
    feed_forward(config, layer.feed_forward, input, workspace_, output);
    after_sublayer(config, layer.feed_forward_norm, output, hidden);
  }
  if (config.norm_position == NormPosition::pre) {
    normalise(config, stack.final_norm, hidden, hidden);
  }
  for (int i = 0; i < rows; ++i) {
    kernels::scale(hidden.row(i), config.logits_scale, config.d_model);
  }
  kernels::matmul(workspace_.parallel, hidden, model_->weights.output_projection(),
                  model_->weights.logits_bias.data(), workspace_.rounded, logits);
  return check_finite(logits.slice_rows(0, rows), "logits");
}

Result<void> Decoder::forward(std::span<const int> token_ids, MatrixView<float> logits,
                              AttentionTrace* trace) {
  const DecoderRun run{token_ids, trace};
  return forward({&run, 1}, logits);
}

}  // namespace relata
