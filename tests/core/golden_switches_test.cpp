// The golden comparisons can fail: every switch of a configuration and every relation table, set
// wrongly, moves the result far beyond their tolerance. And what a configuration may leave out or
// contradict is resolved as documented.
#include <doctest/doctest.h>

#include <algorithm>
#include <utility>

#include "tests/core/model_checks.hpp"

using namespace relata;
using namespace relata::test;

namespace {

constexpr double kFarBeyond = 1e-2;  // a hundred times the tolerance of the golden comparisons

/// How far encoder output and logits are from the golden values, the worse of both.
double distance_from_golden(const FolderFiles& files, const GoldenCase& example) {
  const Differences found = differences(*load(files), example);
  return std::max(found.encoder, found.logits);
}

struct Switch {
  std::string folder;
  std::string pointer;  // into config.json
  nlohmann::json value;
};

}  // namespace

TEST_CASE("relation tables of zeros are noticed, table by table") {
  const std::vector<std::pair<std::string, std::string>> tables = {
      {"t5-relu-tied", "encoder.block.0.layer.0.SelfAttention.relative_attention_bias"},
      {"t5-relu-tied", "decoder.block.0.layer.0.SelfAttention.relative_attention_bias"},
      {"t5-bfloat16", "encoder.block.0.layer.0.SelfAttention.relative_attention_bias"},
      {"shaw", "encoder.layers.0.self_attention.relation_keys"},
      {"shaw", "encoder.layers.1.self_attention.relation_values"},
      {"shaw", "decoder.layers.0.self_attention.relation_keys"},
      {"shaw", "decoder.layers.1.self_attention.relation_values"},
      {"shaw-keys", "decoder.layers.1.self_attention.relation_keys"},
      {"shaw-values", "encoder.layers.0.self_attention.relation_values"},
      {"shaw-per-head", "decoder.layers.0.self_attention.relation_keys"},
      {"shaw-shared-tables", "encoder.relation_keys"},
      {"shaw-shared-tables", "decoder.relation_values"},
      {"bucketed-bias", "encoder.relation_bias"},
      {"bucketed-bias", "decoder.relation_bias"},
      {"bucketed-bias-per-layer", "encoder.layers.1.self_attention.relation_bias"},
      {"bucketed-vectors", "encoder.layers.0.self_attention.relation_keys"},
      {"labels-vectors", "encoder.layers.1.self_attention.relation_keys"},
      {"labels-bias", "encoder.relation_bias"},
  };
  for (const auto& [folder, table] : tables) {
    const auto golden = read_golden(folder);
    FolderFiles files = golden->files;
    CAPTURE(folder);
    CAPTURE(table);
    REQUIRE_EQ(files.zero_tensors(table), 1);
    CHECK_GE(distance_from_golden(files, golden->cases.at(1)), kFarBeyond);
  }
}

TEST_CASE("every switch of the configuration matters") {
  const std::vector<Switch> switches = {
      {"shaw", "/scale_attention", false},
      {"shaw", "/scale_embeddings", false},
      {"shaw", "/scale_decoder_outputs", true},
      {"shaw", "/activation", "silu"},
      {"shaw-keys", "/activation", "relu"},
      {"shaw-keys", "/norm/epsilon", 0.1},
      {"shaw-values",
       "/relation/encoder_self/index",
       {{"type", "clipped_distance"}, {"left", 2}, {"right", 3}}},
      {"shaw-values",
       "/relation/decoder_self/index",
       {{"type", "clipped_distance"}, {"left", 4}, {"right", 1}}},
      {"shaw-per-head", "/norm/epsilon", 0.1},
      {"shaw-per-head", "/activation", "gelu"},
      {"bucketed-bias", "/relation/encoder_self/index/bidirectional", false},
      {"bucketed-bias", "/relation/decoder_self/index/bidirectional", true},
      {"bucketed-bias", "/relation/encoder_self/index/max_distance", 6},
      {"bucketed-vectors", "/relation/encoder_self/index/bidirectional", false},
      {"labels-bias", "/positions/layout", "halves"},
      {"sinusoidal-interleaved", "/positions/layout", "halves"},
      {"sinusoidal-interleaved", "/positions/first_position", 1},
      {"sinusoidal-interleaved", "/positions/divisor", 7},
      {"sinusoidal-interleaved", "/positions", {{"type", "none"}}},
      {"sinusoidal-halves", "/positions/layout", "interleaved"},
      {"sinusoidal-halves", "/positions/first_position", 0},
      {"sinusoidal-halves", "/positions/divisor", 8},
      {"fixed-slope",
       "/relation/encoder_self",
       {{"index", {{"type", "none"}}}, {"effect", {{"type", "none"}}}}},
      {"fixed-slope",
       "/relation/decoder_self",
       {{"index", {{"type", "none"}}}, {"effect", {{"type", "none"}}}}},
      {"t5-relu-tied", "/scale_decoder_outputs", false},
      {"t5-gated-untied", "/scale_decoder_outputs", true},
      {"t5-gated-untied", "/relative_attention_max_distance", 7},
      {"t5-gated-untied", "/layer_norm_epsilon", 0.1},
  };
  for (const auto& [folder, pointer, value] : switches) {
    const auto golden = read_golden(folder);
    FolderFiles files = golden->files;
    files.edit_config(
        [&](nlohmann::json& config) { config[nlohmann::json::json_pointer(pointer)] = value; });
    CAPTURE(folder);
    CAPTURE(pointer);
    // Bucket limits show only where the text is longer than they are.
    const bool far_away = pointer.find("max_distance") != std::string::npos;
    CHECK_GE(distance_from_golden(files, golden->cases.at(far_away ? 2 : 1)), kFarBeyond);
  }
}

TEST_CASE("both forms of gelu are told apart") {
  // They differ by less than a thousandth, still well beyond the tolerance.
  const auto golden = read_golden("shaw-keys");
  FolderFiles files = golden->files;
  files.edit_config([](nlohmann::json& config) { config["activation"] = "gelu_tanh"; });
  CHECK_GE(distance_from_golden(files, golden->cases.at(1)), 3e-4);
}

TEST_CASE("the output matrix is the file's own even where the configuration says tied") {
  const auto golden = read_golden("t5-bfloat16");
  CHECK(nlohmann::json::parse(golden->files.config).at("tie_word_embeddings") == true);
  CHECK_GT(load(golden->files)->weights.lm_head.cols(), 0);
  const auto tied = load(read_folder("t5-relu-tied"));
  CHECK_EQ(tied->weights.lm_head.cols(), 0);
}

TEST_CASE("the heads together need not be as wide as the model") {
  for (const std::string folder : {"t5-relu-tied", "shaw"}) {
    const auto model = load(read_folder(folder));
    CHECK_EQ(model->config.d_model, 16);
    CHECK_EQ(model->config.num_heads, 3);
    CHECK_EQ(model->config.head_dim, 4);
  }
}

TEST_CASE("the start token is the configuration's") {
  const auto apart = load(read_folder("t5-gated-untied"));
  CHECK_EQ(apart->config.decoder_start_token_id, 0);
  CHECK_EQ(apart->config.pad_token_id, 1);
  CHECK_EQ(load(read_folder("t5-bfloat16"))->config.decoder_start_token_id, 3);
  // T5 alone falls back to the pad token.
  FolderFiles files = read_folder("t5-gated-untied");
  const auto remove = [](nlohmann::json& config) { config.erase("decoder_start_token_id"); };
  files.edit_config(remove);
  auto generation = nlohmann::json::parse(files.generation_config);
  remove(generation);
  files.generation_config = generation.dump();
  CHECK_EQ(load(files)->config.decoder_start_token_id, 1);
}
