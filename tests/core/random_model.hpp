// A model with random weights of any shape, made in memory: for what no file is needed.
#pragma once

#include <cmath>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <utility>

#include "src/model/weights.hpp"

namespace relata::test {

class RandomModel {
 public:
  /// A T5 with RMS norms, two-sided and one-sided buckets. spread: of the embedding's values, which
  /// are those of the output, too. The same seed gives the same weights, before they are rounded to
  /// `type`.
  static std::unique_ptr<const Model> make(Config config, std::uint32_t seed, float spread,
                                           kernels::WeightType type = kernels::WeightType::f32,
                                           int num_threads = 1) {
    config.norm = NormKind::rms_norm;
    config.norm_epsilon = 1e-6F;
    config.attention_bias = config.feed_forward_bias = false;
    config.encoder_relation.index = {.kind = IndexKind::bucketed_distance,
                                     .num_buckets = 32,
                                     .max_distance = 128,
                                     .bidirectional = true};
    config.encoder_relation.effect.kind = EffectKind::bias;
    config.decoder_relation = config.encoder_relation;
    config.decoder_relation.index.bidirectional = false;
    RandomModel maker(seed, type);
    auto model = std::make_unique<Model>();
    const int width = config.num_heads * config.head_dim;
    model->weights.embedding = maker.weight(config.vocab_size, config.d_model, spread);
    for (StackWeights* stack : {&model->weights.encoder, &model->weights.decoder}) {
      const bool decodes = stack == &model->weights.decoder;
      const int layers = decodes ? config.num_decoder_layers : config.num_encoder_layers;
      const auto attention = [&] {
        AttentionWeights weights;
        for (Linear* linear : {&weights.query, &weights.key, &weights.value}) {
          linear->weight = maker.weight(width, config.d_model, scale(config.d_model));
        }
        weights.output.weight = maker.weight(config.d_model, width, scale(width));
        return weights;
      };
      for (int i = 0; i < layers; ++i) {
        LayerWeights layer;
        layer.self_attention = attention();
        layer.self_attention_norm = ones(config.d_model);
        if (decodes) {
          layer.cross_attention = attention();
          layer.cross_attention_norm = ones(config.d_model);
        }
        layer.feed_forward.input.weight =
            maker.weight(config.d_ff, config.d_model, scale(config.d_model));
        layer.feed_forward.output.weight =
            maker.weight(config.d_model, config.d_ff, scale(config.d_ff));
        layer.feed_forward_norm = ones(config.d_model);
        stack->layers.push_back(std::move(layer));
      }
      stack->final_norm = ones(config.d_model);
      const RelationConfig& relation = decodes ? config.decoder_relation : config.encoder_relation;
      RelationTables tables;
      tables.bias = std::move(Matrix::allocate(config.num_heads, 32, "test").value());
      for (int head = 0; head < config.num_heads; ++head) {
        maker.fill(tables.bias.view().row(head), 32, 2);
      }
      stack->relations.push_back(
          std::move(Relation::make(RelationIndex::make(relation.index).value(), relation.effect,
                                   config.num_heads, config.head_dim, std::move(tables))
                        .value()));
    }
    model->config = std::move(config);
    model->parallel = std::make_unique<Parallel>(num_threads);
    return model;
  }

 private:
  RandomModel(std::uint32_t seed, kernels::WeightType type) : state_(seed), type_(type) {}

  static float scale(int depth) { return 1.7F / std::sqrt(static_cast<float>(depth)); }
  static Norm ones(int count) {
    Norm norm;
    norm.weight = std::move(
        AlignedBuffer<float>::allocate(static_cast<std::uint64_t>(count), "test").value());
    for (std::size_t i = 0; i < norm.weight.size(); ++i) {
      norm.weight[i] = 1;
    }
    return norm;
  }
  void fill(float* values, int count, float spread) {
    for (int i = 0; i < count; ++i) {
      state_ = state_ * 1664525U + 1013904223U;
      values[i] = spread * (static_cast<float>(state_ >> 8) * 0x1p-23F - 1);
    }
  }
  kernels::WeightMatrix weight(int rows, int cols, float spread) {
    auto matrix = std::move(kernels::WeightMatrix::allocate(type_, rows, cols, "test").value());
    std::vector<float> row(static_cast<std::size_t>(cols));
    const std::uint32_t start = state_;
    for (const bool levelled : {false, true}) {
      state_ = start;
      for (int i = 0; i < rows; ++i) {
        fill(row.data(), cols, spread);
        levelled ? matrix.set_row(i, row.data()) : matrix.level(row.data());
      }
    }
    return matrix;
  }

  std::uint32_t state_;
  kernels::WeightType type_;
};

/// The sizes of a tiny model.
inline Config tiny_config(int vocab_size, int eos_id, int max_new_tokens) {
  Config config;
  config.vocab_size = vocab_size;
  config.d_model = 12;
  config.d_ff = 20;
  config.num_heads = 3;
  config.head_dim = 5;
  config.num_encoder_layers = config.num_decoder_layers = 2;
  config.eos_token_ids = {eos_id};
  config.max_new_tokens = max_new_tokens;
  return config;
}

}  // namespace relata::test
