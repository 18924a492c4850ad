// Valid folders: every tensor ends up in its place with its value, every field of a configuration
// means what its schema says.
#include <doctest/doctest.h>

#include <array>
#include <bit>
#include <cmath>
#include <string>

#include "src/formats/widen.hpp"
#include "tests/core/formats_folder.hpp"
#include "tests/core/relation_scores.hpp"

using namespace relata;
using namespace relata::test;

namespace {

/// Every value of a packed matrix equals the file's tensor of that name.
void check_matrix(const kernels::WeightMatrix& matrix, const std::string& name, int rows,
                  int cols) {
  CAPTURE(name);
  REQUIRE(matrix.cols() == rows);
  REQUIRE(matrix.depth() == cols);
  std::vector<float> row(static_cast<std::size_t>(cols));
  for (int i = 0; i < rows; ++i) {
    matrix.copy_row(i, row.data());
    for (int j = 0; j < cols; ++j) {
      CHECK(row[static_cast<std::size_t>(j)] ==
            value_of(name, static_cast<std::size_t>(i * cols + j)));
    }
  }
}

void check_vector(const AlignedBuffer<float>& values, const std::string& name, std::size_t count) {
  CAPTURE(name);
  REQUIRE(values.size() == count);
  for (std::size_t i = 0; i < count; ++i) {
    CHECK(values[i] == value_of(name, i));
  }
}

/// The scores a relation adds for one query at `position` over `num_keys` keys.
std::vector<float> relation_scores(const Relation& relation, int head, std::vector<float> query,
                                   int position, int num_keys) {
  auto scratch = relation.make_scratch(1, num_keys);
  REQUIRE(scratch.ok());
  RelationTile tile;
  tile.first_query = position;
  tile.num_keys = num_keys;
  std::vector<float> scores(static_cast<std::size_t>(num_keys));
  const int width = static_cast<int>(query.size());
  test::set_scores(relation, head, {query.data(), 1, width, width}, tile, scratch.value(),
                   {scores.data(), 1, num_keys, num_keys});
  return scores;
}

std::vector<float> relation_context(const Relation& relation, int head, std::vector<float> weights,
                                    int position, int head_dim) {
  auto scratch = relation.make_scratch(1, static_cast<int>(weights.size()));
  REQUIRE(scratch.ok());
  RelationTile tile;
  tile.first_query = position;
  tile.num_keys = static_cast<int>(weights.size());
  std::vector<float> context(static_cast<std::size_t>(head_dim));
  relation.add_context(head, {weights.data(), 1, tile.num_keys, tile.num_keys}, tile,
                       scratch.value(), {context.data(), 1, head_dim, head_dim});
  return context;
}

Loaded load_config(const Folder& folder, const std::string& from, const std::string& to) {
  return load(replaced(folder.config, from, to), folder.generation_config,
              write_weights(folder.tensors));
}

}  // namespace

TEST_CASE("a relata folder in every weight type") {
  Folder folder = relata_folder();
  for (const std::string dtype : {"F32", "F16", "BF16"}) {
    CAPTURE(dtype);
    for (FileTensor& tensor : folder.tensors) {
      tensor.dtype = dtype;
    }
    const Loaded loaded = load(folder);
    CAPTURE(loaded.error.where);
    CAPTURE(loaded.error.message);
    REQUIRE(loaded.ok());
    const Weights& weights = loaded.model->weights;
    check_matrix(weights.embedding, "embedding.weight", 5, 4);
    check_matrix(weights.lm_head, "lm_head.weight", 5, 4);

    for (const bool decoder : {false, true}) {
      const StackWeights& stack = decoder ? weights.decoder : weights.encoder;
      const std::string name = decoder ? "decoder" : "encoder";
      REQUIRE(stack.layers.size() == 1);
      const LayerWeights& layer = stack.layers[0];
      const auto check_linear = [](const Linear& linear, const std::string& linear_name, int out,
                                   int in) {
        check_matrix(linear.weight, linear_name + ".weight", out, in);
        check_vector(linear.bias, linear_name + ".bias", static_cast<std::size_t>(out));
      };
      const auto check_norm = [](const Norm& norm, const std::string& norm_name) {
        check_vector(norm.weight, norm_name + ".weight", 4);
        check_vector(norm.bias, norm_name + ".bias", 4);
      };
      const auto check_attention = [&](const AttentionWeights& attention,
                                       const std::string& attention_name) {
        check_linear(attention.query, attention_name + ".query", 6, 4);
        check_linear(attention.key, attention_name + ".key", 6, 4);
        check_linear(attention.value, attention_name + ".value", 6, 4);
        check_linear(attention.output, attention_name + ".output", 4, 6);
      };
      check_attention(layer.self_attention, name + ".layers.0.self_attention");
      check_norm(layer.self_attention_norm, name + ".layers.0.self_attention_norm");
      if (decoder) {
        check_attention(layer.cross_attention, "decoder.layers.0.cross_attention");
        check_norm(layer.cross_attention_norm, "decoder.layers.0.cross_attention_norm");
      } else {
        CHECK(layer.cross_attention.query.weight.cols() == 0);
      }
      check_linear(layer.feed_forward.input, name + ".layers.0.feed_forward.input", 6, 4);
      check_linear(layer.feed_forward.output, name + ".layers.0.feed_forward.output", 4, 6);
      CHECK(layer.feed_forward.gate.weight.cols() == 0);
      check_norm(layer.feed_forward_norm, name + ".layers.0.feed_forward_norm");
      check_norm(stack.final_norm, name + ".final_norm");
    }

    // Query 1 sees keys 0 .. 5 at distances -1 .. 4, clipped to -1 .. 2: ids 0 1 2 3 3 3.
    const std::array<std::size_t, 6> ids = {0, 1, 2, 3, 3, 3};
    REQUIRE(weights.encoder.relations.size() == 1);
    const Relation& vectors = weights.encoder.relations[0];
    const auto scores = relation_scores(vectors, 1, {0, 1, 0}, 1, 6);
    for (std::size_t key = 0; key < ids.size(); ++key) {
      CHECK(scores[key] ==
            value_of("encoder.layers.0.self_attention.relation_keys", ids[key] * 3 + 1));
      std::vector<float> one_key(6);
      one_key[key] = 1;
      const auto context = relation_context(vectors, 0, one_key, 1, 3);
      for (std::size_t d = 0; d < 3; ++d) {
        CHECK(context[d] ==
              value_of("encoder.layers.0.self_attention.relation_values", ids[key] * 3 + d));
      }
    }
    // One-sided buckets 0 .. 3 are distances 0 .. -3.
    REQUIRE(weights.decoder.relations.size() == 1);
    for (const int head : {0, 1}) {
      const auto bias = relation_scores(weights.decoder.relations[0], head, {0, 0, 0}, 3, 4);
      for (std::size_t key = 0; key < 4; ++key) {
        CHECK(bias[key] ==
              value_of("decoder.relation_bias", static_cast<std::size_t>(head) * 8 + 3 - key));
      }
    }
  }
}

TEST_CASE("every field of a relata configuration") {
  const Folder folder = relata_folder();
  const Loaded loaded = load(folder);
  REQUIRE(loaded.ok());
  const Config& config = loaded.model->config;
  CHECK(config.model_type == "relata");
  CHECK(config.vocab_size == 5);
  CHECK(config.d_model == 4);
  CHECK(config.num_heads == 2);
  CHECK(config.head_dim == 3);
  CHECK(config.d_ff == 6);
  CHECK(config.num_encoder_layers == 1);
  CHECK(config.num_decoder_layers == 1);
  CHECK(config.norm == NormKind::layer_norm);
  CHECK(config.norm_position == NormPosition::pre);
  CHECK(config.norm_epsilon == 1e-5F);
  CHECK(config.activation == kernels::Activation::relu);
  CHECK_FALSE(config.gated);
  CHECK(config.attention_bias);
  CHECK(config.feed_forward_bias);
  CHECK(config.attention_scale == doctest::Approx(0.57735027));  // 1 / sqrt(3)
  CHECK(config.embedding_scale == 2);
  CHECK(config.logits_scale == 1);
  CHECK(config.positions.kind == PositionKind::none);
  CHECK(config.encoder_relation.index.kind == IndexKind::clipped_distance);
  CHECK(config.encoder_relation.index.left == 1);
  CHECK(config.encoder_relation.index.right == 2);
  CHECK(config.encoder_relation.effect.kind == EffectKind::vectors);
  CHECK(config.encoder_relation.effect.keys);
  CHECK(config.encoder_relation.effect.values);
  CHECK_FALSE(config.encoder_relation.effect.per_head);
  CHECK(config.decoder_relation.index.kind == IndexKind::bucketed_distance);
  CHECK(config.decoder_relation.index.num_buckets == 8);
  CHECK(config.decoder_relation.index.max_distance == 16);
  CHECK_FALSE(config.decoder_relation.index.bidirectional);
  CHECK(config.decoder_relation.effect.kind == EffectKind::bias);
  CHECK(config.pad_token_id == 0);
  CHECK(config.eos_token_ids == std::vector<int>{2});
  CHECK(config.decoder_start_token_id == 1);
  CHECK(config.max_new_tokens == 64);

  // Fields that change no tensor, each with another value.
  const auto with = [&](const std::string& from, const std::string& to) {
    Loaded changed = load_config(folder, from, to);
    CAPTURE(to);
    CAPTURE(changed.error.where);
    CAPTURE(changed.error.message);
    REQUIRE(changed.ok());
    return changed.model->config;
  };
  CHECK(with("1e-5", "1").norm_epsilon == 1);
  CHECK(with("\"activation\": \"relu\"", "\"activation\": \"gelu\"").activation ==
        kernels::Activation::gelu);
  CHECK(with("\"activation\": \"relu\"", "\"activation\": \"gelu_tanh\"").activation ==
        kernels::Activation::gelu_tanh);
  CHECK(with("\"activation\": \"relu\"", "\"activation\": \"silu\"").activation ==
        kernels::Activation::silu);
  CHECK(with("\"scale_attention\": true", "\"scale_attention\": false").attention_scale == 1);
  CHECK(with("\"scale_embeddings\": true", "\"scale_embeddings\": false").embedding_scale == 1);
  CHECK(with("\"scale_decoder_outputs\": false", "\"scale_decoder_outputs\": true").logits_scale ==
        0.5F);
  CHECK(with("\"pad_token_id\": 0", "\"pad_token_id\": null").pad_token_id == -1);
  CHECK(with("\"eos_token_id\": 2", "\"eos_token_id\": [4, 2]").eos_token_ids ==
        std::vector<int>{4, 2});
  const PositionConfig paper =
      with("{\"type\": \"none\"}", R"({"type": "sinusoidal", "layout": "interleaved"})").positions;
  CHECK(paper.kind == PositionKind::sinusoidal);
  CHECK(paper.interleaved);
  CHECK(paper.first_position == 0);
  CHECK(paper.divisor == 2);
  const PositionConfig heirs =
      with("{\"type\": \"none\"}",
           R"({"type": "sinusoidal", "layout": "halves", "first_position": 1, "divisor": 1.5})")
          .positions;
  CHECK_FALSE(heirs.interleaved);
  CHECK(heirs.first_position == 1);
  CHECK(heirs.divisor == 1.5F);
}

TEST_CASE("fields of a relata configuration that change the tensors") {
  Folder folder = relata_folder();

  SUBCASE("post-norm has no final norms") {
    folder.config = replaced(folder.config, "\"position\": \"pre\"", "\"position\": \"post\"");
    CHECK(load(folder).error.where == "model.safetensors: encoder.final_norm.weight");
    for (const std::string name : {"encoder.final_norm", "decoder.final_norm"}) {
      folder.remove(name + ".weight");
      folder.remove(name + ".bias");
    }
    CHECK(load(folder).ok());
  }
  SUBCASE("RMS norm, and no biases") {
    folder.config = replaced(folder.config, "layer_norm", "rms_norm");
    folder.config =
        replaced(folder.config, "\"attention_bias\": true", "\"attention_bias\": false");
    folder.config =
        replaced(folder.config, "\"feed_forward_bias\": true", "\"feed_forward_bias\": false");
    CHECK(load(folder).error.code == ErrorCode::tensor_invalid);
    std::erase_if(folder.tensors,
                  [](const FileTensor& tensor) { return tensor.name.ends_with(".bias"); });
    const Loaded loaded = load(folder);
    REQUIRE(loaded.ok());
    CHECK(loaded.model->weights.encoder.layers[0].self_attention.query.bias.empty());
    CHECK(loaded.model->weights.encoder.final_norm.bias.empty());
  }
  SUBCASE("gated feed forward") {
    folder.config = replaced(folder.config, "\"gated\": false", "\"gated\": true");
    CHECK(load(folder).error.where ==
          "model.safetensors: encoder.layers.0.feed_forward.gate.weight");
    for (const std::string stack : {"encoder", "decoder"}) {
      const std::string input = stack + ".layers.0.feed_forward.input";
      const std::string gate = stack + ".layers.0.feed_forward.gate";
      FileTensor weight = folder.tensor(input + ".weight");
      FileTensor bias = folder.tensor(input + ".bias");
      weight.name = gate + ".weight";
      bias.name = gate + ".bias";
      folder.tensors.push_back(weight);
      folder.tensors.push_back(bias);
    }
    const Loaded loaded = load(folder);
    REQUIRE(loaded.ok());
    check_matrix(loaded.model->weights.decoder.layers[0].feed_forward.gate.weight,
                 "decoder.layers.0.feed_forward.input.weight", 6, 4);
  }
  SUBCASE("a tied output matrix is not in the file") {
    folder.config =
        replaced(folder.config, "\"tie_word_embeddings\": false", "\"tie_word_embeddings\": true");
    CHECK(load(folder).error.where == "model.safetensors: lm_head.weight");
    folder.remove("lm_head.weight");
    const Loaded loaded = load(folder);
    REQUIRE(loaded.ok());
    CHECK(loaded.model->weights.lm_head.cols() == 0);
  }
  SUBCASE("vectors per head, one table for all layers, keys only") {
    folder.config =
        replaced(folder.config, R"("keys": true, "values": true)",
                 R"("keys": true, "values": false, "per_head": true, "per_layer": false)");
    folder.remove("encoder.layers.0.self_attention.relation_keys");
    folder.remove("encoder.layers.0.self_attention.relation_values");
    CHECK(load(folder).error.where == "model.safetensors: encoder.relation_keys");
    FileTensor table{"encoder.relation_keys", {8, 3}, {}};
    for (std::size_t i = 0; i < 24; ++i) {
      table.values.push_back(value_of(table.name, i));
    }
    folder.tensors.push_back(table);
    const Loaded loaded = load(folder);
    REQUIRE(loaded.ok());
    const auto scores =
        relation_scores(loaded.model->weights.encoder.relations[0], 1, {0, 0, 1}, 0, 2);
    CHECK(scores[0] == value_of(table.name, (4 + 1) * 3 + 2));  // head 1, distance 0 is id 1
    CHECK(scores[1] == value_of(table.name, (4 + 2) * 3 + 2));
  }
  SUBCASE("a bias per layer") {
    folder.config =
        replaced(folder.config, R"({"type": "bias"})", R"({"type": "bias", "per_layer": true})");
    folder.tensor("decoder.relation_bias").name = "decoder.layers.0.self_attention.relation_bias";
    CHECK(load(folder).ok());
  }
  SUBCASE("labels, in the encoder") {
    folder.config =
        replaced(folder.config, R"({"type": "clipped_distance", "left": 1, "right": 2})",
                 R"({"type": "labels", "num_labels": 4})");
    const Loaded loaded = load(folder);
    REQUIRE(loaded.ok());
    CHECK(loaded.model->config.encoder_relation.index.kind == IndexKind::labels);
    CHECK(loaded.model->config.encoder_relation.index.num_labels == 4);
  }
  SUBCASE("a fixed slope has no tensors") {
    folder.config =
        replaced(folder.config, R"({"type": "clipped_distance", "left": 1, "right": 2})",
                 R"({"type": "distance"})");
    folder.config = replaced(folder.config, R"({"type": "vectors", "keys": true, "values": true})",
                             R"({"type": "fixed_slope"})");
    folder.remove("encoder.layers.0.self_attention.relation_keys");
    folder.remove("encoder.layers.0.self_attention.relation_values");
    const Loaded loaded = load(folder);
    REQUIRE(loaded.ok());
    CHECK(loaded.model->config.encoder_relation.effect.kind == EffectKind::fixed_slope);
    CHECK(loaded.model->weights.encoder.relations.size() == 1);
  }
  SUBCASE("no relation") {
    folder.config = replaced(
        folder.config,
        R"({"type": "bucketed_distance", "num_buckets": 8, "max_distance": 16, "bidirectional": false})",
        R"({"type": "none"})");
    folder.config = replaced(folder.config, R"({"type": "bias"})", R"({"type": "none"})");
    folder.remove("decoder.relation_bias");
    const Loaded loaded = load(folder);
    REQUIRE(loaded.ok());
    CHECK(loaded.model->weights.decoder.relations.empty());
  }
}

TEST_CASE("a T5 folder as transformers saves it") {
  const Folder folder = t5_folder();
  const Loaded loaded = load(folder);
  CAPTURE(loaded.error.where);
  CAPTURE(loaded.error.message);
  REQUIRE(loaded.ok());
  const Config& config = loaded.model->config;
  CHECK(config.model_type == "t5");
  CHECK(config.head_dim == 3);
  CHECK(config.num_encoder_layers == 2);
  CHECK(config.num_decoder_layers == 1);
  CHECK(config.norm == NormKind::rms_norm);
  CHECK(config.norm_position == NormPosition::pre);
  CHECK(config.norm_epsilon == 1e-6F);
  CHECK(config.attention_scale == 1);
  CHECK(config.embedding_scale == 1);
  CHECK(config.logits_scale == 0.5F);
  CHECK(config.encoder_relation.index.bidirectional);
  CHECK_FALSE(config.decoder_relation.index.bidirectional);
  CHECK(config.decoder_start_token_id == 0);
  CHECK(config.eos_token_ids == std::vector<int>{1});

  const Weights& weights = loaded.model->weights;
  check_matrix(weights.embedding, "shared.weight", 5, 4);
  CHECK(weights.lm_head.cols() == 0);
  const LayerWeights& encoder = weights.encoder.layers[1];
  const std::string block = "encoder.block.1.layer.";
  check_matrix(encoder.self_attention.query.weight, block + "0.SelfAttention.q.weight", 6, 4);
  check_matrix(encoder.self_attention.key.weight, block + "0.SelfAttention.k.weight", 6, 4);
  check_matrix(encoder.self_attention.value.weight, block + "0.SelfAttention.v.weight", 6, 4);
  check_matrix(encoder.self_attention.output.weight, block + "0.SelfAttention.o.weight", 4, 6);
  check_vector(encoder.self_attention_norm.weight, block + "0.layer_norm.weight", 4);
  check_matrix(encoder.feed_forward.input.weight, block + "1.DenseReluDense.wi.weight", 6, 4);
  check_matrix(encoder.feed_forward.output.weight, block + "1.DenseReluDense.wo.weight", 4, 6);
  check_vector(encoder.feed_forward_norm.weight, block + "1.layer_norm.weight", 4);
  CHECK(encoder.self_attention.query.bias.empty());
  const LayerWeights& decoder = weights.decoder.layers[0];
  check_matrix(decoder.cross_attention.key.weight,
               "decoder.block.0.layer.1.EncDecAttention.k.weight", 6, 4);
  check_vector(decoder.cross_attention_norm.weight, "decoder.block.0.layer.1.layer_norm.weight", 4);
  check_matrix(decoder.feed_forward.input.weight,
               "decoder.block.0.layer.2.DenseReluDense.wi.weight", 6, 4);
  check_vector(decoder.feed_forward_norm.weight, "decoder.block.0.layer.2.layer_norm.weight", 4);
  check_vector(weights.decoder.final_norm.weight, "decoder.final_layer_norm.weight", 4);

  // Stored [num_buckets, num_heads]. Eight two-sided buckets: past 0 1 (2 from distance -2), future
  // the same plus 4.
  REQUIRE(weights.encoder.relations.size() == 1);
  for (const int head : {0, 1}) {
    const auto bias = relation_scores(weights.encoder.relations[0], head, {0, 0, 0}, 1, 3);
    const std::string table =
        "encoder.block.0.layer.0.SelfAttention.relative_attention_bias.weight";
    const auto at = [&](std::size_t bucket) {
      return value_of(table, bucket * 2 + static_cast<std::size_t>(head));
    };
    CHECK(bias == std::vector<float>{at(1), at(0), at(5)});
  }
}

TEST_CASE("T5's rules for the output") {
  Folder folder = t5_folder();
  const std::string scale_field = "  \"scale_decoder_outputs\": true,\n";

  SUBCASE("scale_decoder_outputs decides where it is there") {
    CHECK(load_config(folder, "outputs\": true", "outputs\": false").model->config.logits_scale ==
          1);
    const Loaded loaded = load_config(folder, "embeddings\": true", "embeddings\": false");
    CHECK(loaded.model->config.logits_scale == 0.5F);
  }
  SUBCASE("without it, tie_word_embeddings does") {
    folder.config = replaced(folder.config, scale_field, "");
    CHECK(load(folder).model->config.logits_scale == 0.5F);
    CHECK(load_config(folder, "embeddings\": true", "embeddings\": false")
              .model->config.logits_scale == 1);
    CHECK(
        load_config(folder, "  \"tie_word_embeddings\": true,\n", "").model->config.logits_scale ==
        0.5F);
  }
  SUBCASE("mT5 never scales") {
    folder.config = replaced(folder.config, "\"t5\"", "\"mt5\"");
    CHECK(load(folder).model->config.logits_scale == 1);
  }
  SUBCASE("UMT5 always scales, and has a bias table in every layer") {
    folder.config = replaced(folder.config, "\"t5\"", "\"umt5\"");
    folder.config = replaced(folder.config, "embeddings\": true", "embeddings\": false");
    const std::string table =
        "encoder.block.1.layer.0.SelfAttention.relative_attention_bias.weight";
    CHECK(load(folder).error.where == "model.safetensors: " + table);
    FileTensor second{table, {8, 2}, std::vector<float>(16, 0.25F)};
    folder.tensors.push_back(second);
    const Loaded loaded = load(folder);
    REQUIRE(loaded.ok());
    CHECK(loaded.model->config.logits_scale == 0.5F);
    REQUIRE(loaded.model->weights.encoder.relations.size() == 2);
    CHECK(relation_scores(loaded.model->weights.encoder.relations[1], 0, {0, 0, 0}, 0, 1)[0] ==
          0.25F);
    CHECK(relation_scores(loaded.model->weights.encoder.relations[0], 0, {0, 0, 0}, 0, 1)[0] ==
          value_of("encoder.block.0.layer.0.SelfAttention.relative_attention_bias.weight", 0));
  }
  SUBCASE("the projection is lm_head where the file has it, whatever the flag says") {
    FileTensor head{"lm_head.weight", {5, 4}, {}};
    for (std::size_t i = 0; i < 20; ++i) {
      head.values.push_back(value_of(head.name, i));
    }
    folder.tensors.push_back(head);
    const Loaded loaded = load(folder);
    REQUIRE(loaded.ok());
    check_matrix(loaded.model->weights.lm_head, "lm_head.weight", 5, 4);
  }
}

TEST_CASE("T5's embedding under any of its names") {
  Folder folder = t5_folder();
  const std::string encoder = "encoder.embed_tokens.weight";
  const std::string decoder = "decoder.embed_tokens.weight";
  FileTensor copy = folder.tensor("shared.weight");

  SUBCASE("shared and copies: shared is used, copies are not even asked for") {
    copy.name = encoder;
    copy.values.assign(20, 0);
    folder.tensors.push_back(copy);
    const WeightsFile file = write_weights(folder.tensors);
    const std::string head = file.head();
    auto loader =
        ModelLoader::open({folder.config, "", std::as_bytes(std::span(head)), file.size()});
    REQUIRE(loader.ok());
    std::size_t wanted = 0;
    while (const TensorInfo* tensor = loader.value().next()) {
      CHECK(tensor->name != encoder);
      const std::vector<std::byte> zeros(static_cast<std::size_t>(tensor->bytes));
      REQUIRE(loader.value().accept(zeros).ok());
      ++wanted;
    }
    CHECK(wanted == folder.tensors.size() - 1);
    CHECK(loader.value().tensors().size() == folder.tensors.size());
  }
  SUBCASE("one copy alone") {
    folder.tensor("shared.weight").name = decoder;
    const Loaded loaded = load(folder);
    REQUIRE(loaded.ok());
    check_matrix(loaded.model->weights.embedding, "shared.weight", 5, 4);
  }
  SUBCASE("two copies that agree") {
    folder.tensor("shared.weight").name = decoder;
    copy.name = encoder;
    folder.tensors.insert(folder.tensors.begin(), copy);
    const Loaded loaded = load(folder);
    REQUIRE(loaded.ok());
    check_matrix(loaded.model->weights.embedding, "shared.weight", 5, 4);
  }
  SUBCASE("two copies that differ") {
    folder.tensor("shared.weight").name = decoder;
    copy.name = encoder;
    copy.values[7] += 1;
    folder.tensors.insert(folder.tensors.begin(), copy);
    const Loaded loaded = load(folder);
    CHECK(loaded.error.code == ErrorCode::tensor_invalid);
    CHECK(loaded.error.where == "model.safetensors: " + decoder);
  }
  SUBCASE("the unused table of old checkpoints is passed over") {
    folder.tensors.push_back(
        {"decoder.block.0.layer.1.EncDecAttention.relative_attention_bias.weight",
         {8, 2},
         std::vector<float>(16)});
    CHECK(load(folder).ok());
  }
}

TEST_CASE("T5's feed forward") {
  Folder folder = t5_folder();
  const std::string repeated = "  \"dense_act_fn\": \"relu\",\n";
  folder.config = replaced(folder.config, repeated, "");
  folder.config = replaced(folder.config, "  \"is_gated_act\": false,\n", "");
  const auto activation = [&](const std::string& projection) {
    const Loaded loaded = load_config(folder, "\"feed_forward_proj\": \"relu\"",
                                      "\"feed_forward_proj\": \"" + projection + "\"");
    REQUIRE(loaded.ok());
    return loaded.model->config.activation;
  };
  CHECK(activation("relu") == kernels::Activation::relu);
  CHECK(activation("gelu") == kernels::Activation::gelu);
  CHECK(activation("gelu_new") == kernels::Activation::gelu_tanh);
  CHECK(activation("silu") == kernels::Activation::silu);
  // T5 without the field is the first T5; its heirs default to the gated form.
  CHECK(load_config(folder, "  \"feed_forward_proj\": \"relu\",\n", "").ok());

  const std::vector<FileTensor> plain = folder.tensors;
  for (const FileTensor& tensor : plain) {
    if (const std::size_t at = tensor.name.find(".wi.weight"); at != std::string::npos) {
      FileTensor gate = tensor;
      gate.name.replace(at, 3, ".wi_1");
      folder.tensors.push_back(gate);
      folder.tensor(tensor.name).name.replace(at, 3, ".wi_0");
    }
  }
  FileTensor& gate = folder.tensor("encoder.block.1.layer.1.DenseReluDense.wi_1.weight");
  for (std::size_t i = 0; i < gate.values.size(); ++i) {
    gate.values[i] = value_of(gate.name, i);
  }
  CHECK(activation("gated-gelu") == kernels::Activation::gelu_tanh);
  CHECK(activation("gated-silu") == kernels::Activation::silu);
  CHECK(activation("gated-relu") == kernels::Activation::relu);
  folder.config = replaced(folder.config, "\"t5\"", "\"mt5\"");
  const Loaded loaded = load_config(folder, "  \"feed_forward_proj\": \"relu\",\n", "");
  REQUIRE(loaded.ok());
  CHECK(loaded.model->config.gated);
  CHECK(loaded.model->config.activation == kernels::Activation::gelu_tanh);
  const FeedForwardWeights& layer = loaded.model->weights.encoder.layers[1].feed_forward;
  check_matrix(layer.input.weight, "encoder.block.1.layer.1.DenseReluDense.wi.weight", 6, 4);
  check_matrix(layer.gate.weight, "encoder.block.1.layer.1.DenseReluDense.wi_1.weight", 6, 4);
}

TEST_CASE("generation fields: the generation config first, then the config") {
  Folder folder = t5_folder();
  folder.generation_config = "";
  const std::string start = "  \"decoder_start_token_id\": 0,\n";

  SUBCASE("start 0, pad 1, eos 2") {
    folder.config = replaced(folder.config, "\"pad_token_id\": 0", "\"pad_token_id\": 1");
    folder.config = replaced(folder.config, "\"eos_token_id\": 1", "\"eos_token_id\": 2");
    const Config config = load(folder).model->config;
    CHECK(config.decoder_start_token_id == 0);
    CHECK(config.pad_token_id == 1);
    CHECK(config.eos_token_ids == std::vector<int>{2});
    folder.generation_config =
        R"({"decoder_start_token_id": 3, "pad_token_id": 4, "eos_token_id": [1, 0], "max_new_tokens": 9, "max_length": 20})";
    const Config other = load(folder).model->config;
    CHECK(other.decoder_start_token_id == 3);
    CHECK(other.pad_token_id == 4);
    CHECK(other.eos_token_ids == std::vector<int>{1, 0});
    CHECK(other.max_new_tokens == 9);
  }
  SUBCASE("without a start id: bos, then pad, then an error") {
    folder.config = replaced(folder.config, "\"pad_token_id\": 0", "\"pad_token_id\": 3");
    const std::string with_bos = replaced(folder.config, start, "  \"bos_token_id\": 2,\n");
    folder.config = replaced(folder.config, start, "");
    CHECK(load(folder).model->config.decoder_start_token_id == 3);
    const WeightsFile weights = write_weights(folder.tensors);
    CHECK(load(with_bos, "", weights).model->config.decoder_start_token_id == 2);
    folder.config = replaced(folder.config, "\"pad_token_id\": 3", "\"pad_token_id\": null");
    CHECK(load(folder).error.where == "config.json: decoder_start_token_id");
  }
  SUBCASE("max_new_tokens in the config") {
    folder.config = replaced(folder.config, start, start + "  \"max_new_tokens\": 7,\n");
    CHECK(load(folder).model->config.max_new_tokens == 7);
  }
}

TEST_CASE("half-width floats are widened exactly, all 65,536 of each kind") {
  // By the definition of the formats: sign, exponent, fraction; value = fraction * 2^exponent.
  const auto expected = [](unsigned bits, int fraction_bits, int bias) {
    const int exponent_bits = 15 - fraction_bits;
    const int exponent = static_cast<int>(bits >> fraction_bits & ((1U << exponent_bits) - 1));
    const int fraction = static_cast<int>(bits & ((1U << fraction_bits) - 1));
    const double sign = bits >> 15 != 0 ? -1 : 1;
    if (exponent == (1 << exponent_bits) - 1) {
      return fraction == 0 ? sign * HUGE_VAL : std::nan("");
    }
    const int whole = exponent == 0 ? fraction : fraction + (1 << fraction_bits);
    return sign * std::ldexp(whole, (exponent == 0 ? 1 : exponent) - bias - fraction_bits);
  };
  std::size_t wrong = 0;
  for (unsigned bits = 0; bits < 65536; ++bits) {
    const auto compare = [&](float widened, double exact) {
      const bool same = std::isnan(exact) ? std::isnan(widened)
                                          : static_cast<double>(widened) == exact &&
                                                std::signbit(widened) == std::signbit(exact);
      wrong += same ? 0 : 1;
    };
    compare(formats::widen_f16(static_cast<std::uint16_t>(bits)), expected(bits, 10, 15));
    compare(formats::widen_bf16(static_cast<std::uint16_t>(bits)), expected(bits, 7, 127));
  }
  CHECK(wrong == 0);
}
