// int8 weights in the convention of compressed-tensors: what they stand for, and what is refused.
#include <doctest/doctest.h>

#include <functional>
#include <limits>
#include <string>

#include "tests/core/formats_folder.hpp"
#include "tests/core/model_checks.hpp"

using namespace relata;
using namespace relata::test;

namespace {

const std::string kWeight = "encoder.block.0.layer.0.SelfAttention.q.weight";
const std::string kScale = kWeight + "_scale";

/// A small T5 with one matrix [6, 4] in int8, its scales before it.
struct Quantised {
  Folder folder = t5_folder();
  nlohmann::json quantisation = {
      {"quant_method", "compressed-tensors"},
      {"format", "int-quantized"},
      {"quantization_status", "compressed"},
      {"config_groups",
       {{"group_0",
         {{"targets", {"Linear"}},
          {"input_activations", nullptr},
          {"weights",
           {{"num_bits", 8}, {"type", "int"}, {"symmetric", true}, {"strategy", "channel"}}}}}}}};

  Quantised() {
    FileTensor scale{kScale, {6, 1}, {}};
    for (int i = 0; i < 6; ++i) {
      scale.values.push_back(static_cast<float>(i + 1) / 16);
    }
    folder.tensors.insert(folder.tensors.begin(), scale);
    FileTensor& weight = folder.tensor(kWeight);
    weight.dtype = "I8";
    for (std::size_t i = 0; i < weight.values.size(); ++i) {
      weight.values[i] = static_cast<float>(static_cast<int>(i * 53 % 256) - 128);
    }
  }
  Loaded load() const {
    auto config = nlohmann::json::parse(folder.config);
    if (!quantisation.is_null()) {
      config["quantization_config"] = quantisation;
    }
    Folder written = folder;
    written.config = config.dump();
    return relata::test::load(written);
  }
  std::string error() const {
    const Loaded loaded = load();
    return loaded.ok() ? "loads"
                       : std::string(to_string(loaded.error.code)) + ": " + loaded.error.where;
  }
  nlohmann::json& weights() { return quantisation["config_groups"]["group_0"]["weights"]; }
};

void check_values(const Model& model, const std::function<float(int)>& scale) {
  const auto& matrix = model.weights.encoder.layers[0].self_attention.query.weight;
  for (int row = 0; row < 6; ++row) {
    float values[4];
    matrix.copy_row(row, values);
    for (int col = 0; col < 4; ++col) {
      CHECK_EQ(values[col], static_cast<float>((row * 4 + col) * 53 % 256 - 128) * scale(row));
    }
  }
}

}  // namespace

TEST_CASE("int8 weights times their scales, a scale a row or one for all") {
  Quantised made;
  for (const std::string dtype : {"F32", "F16", "BF16"}) {
    made.folder.tensor(kScale).dtype = dtype;
    const Loaded loaded = made.load();
    REQUIRE_MESSAGE(loaded.ok(), loaded.error.where);
    check_values(*loaded.model, [](int row) { return static_cast<float>(row + 1) / 16; });
  }
  made.folder.tensor(kScale).shape = {1};
  made.folder.tensor(kScale).values = {0.25F};
  CHECK_EQ(made.error(), "tensor_invalid: model.safetensors: " + kScale);
  made.weights()["strategy"] = "tensor";
  const Loaded loaded = made.load();
  REQUIRE_MESSAGE(loaded.ok(), loaded.error.where);
  check_values(*loaded.model, [](int) { return 0.25F; });
}

TEST_CASE("an unused copy of the embedding may be in int8 too") {
  Quantised made;
  made.folder.tensors.push_back({"encoder.embed_tokens.weight_scale", {5, 1}, {1, 1, 1, 1, 1}});
  made.folder.tensors.push_back(
      {"encoder.embed_tokens.weight", {5, 4}, std::vector<float>(20, 3), "I8"});
  CHECK_EQ(made.error(), "loads");
}

TEST_CASE("int8 weights, one thing damaged") {
  Quantised made;
  const std::string file = "model.safetensors: ";
  SUBCASE("without a quantization_config") {
    made.quantisation = nullptr;
    made.folder.remove(kScale);
    CHECK_EQ(made.error(), "tensor_invalid: " + file + kWeight);
  }
  SUBCASE("without its scale") {
    made.folder.remove(kScale);
    CHECK_EQ(made.error(), "tensor_missing: " + file + kScale);
  }
  SUBCASE("a scale of floats") {
    made.folder.tensor(kWeight).dtype = "F32";
    CHECK_EQ(made.error(), "tensor_invalid: " + file + kScale);
  }
  SUBCASE("scales of another shape") {
    made.folder.tensor(kScale).shape = {1, 6};
    CHECK_EQ(made.error(), "tensor_invalid: " + file + kScale);
    made.folder.tensor(kScale).shape = {6};
    CHECK_EQ(made.error(), "tensor_invalid: " + file + kScale);
  }
  SUBCASE("scales that are integers") {
    made.folder.tensor(kScale).dtype = "I8";
    made.folder.tensor(kScale).values.assign(6, 1);
    CHECK_EQ(made.error(), "tensor_invalid: " + file + kScale);
  }
  SUBCASE("a scale that is not finite") {
    for (const float value : {INFINITY, -INFINITY, std::nanf("")}) {
      made.folder.tensor(kScale).values[2] = value;
      CHECK_EQ(made.error(), "tensor_invalid: " + file + kScale);
    }
  }
  SUBCASE("a negative scale") {
    made.folder.tensor(kScale).values[2] = -0.25F;
    CHECK_EQ(made.error(), "tensor_invalid: " + file + kScale);
    made.folder.tensor(kScale).shape = {1};
    made.folder.tensor(kScale).values = {-0.25F};
    made.weights()["strategy"] = "tensor";
    CHECK_EQ(made.error(), "tensor_invalid: " + file + kScale);
  }
  SUBCASE("a product that is not finite") {
    made.folder.tensor(kScale).values[2] = 3e38F;
    CHECK_EQ(made.error(), "tensor_invalid: " + file + kWeight);
  }
  SUBCASE("scales behind their weights") {
    const FileTensor scale = made.folder.tensor(kScale);
    made.folder.remove(kScale);
    made.folder.tensors.push_back(scale);
    CHECK_EQ(made.error(), "unsupported: " + file + kWeight);
  }
  SUBCASE("a norm in int8") {
    FileTensor& norm = made.folder.tensor("encoder.final_layer_norm.weight");
    norm.dtype = "I8";
    norm.values.assign(4, 1);
    CHECK_EQ(made.error(), "tensor_invalid: " + file + norm.name);
  }
  SUBCASE("a zero point") {
    made.folder.tensors.push_back({kWeight + "_zero_point", {6, 1}, {0, 0, 0, 0, 0, 0}, "I8"});
    CHECK_EQ(made.error(), "tensor_invalid: " + file + kWeight + "_zero_point");
  }
}

TEST_CASE("everything else compressed-tensors has is refused by name") {
  const std::string place = "unsupported: config.json: quantization_config.";
  const std::string group = place + "config_groups.group_0.";
  const auto error = [](const char* pointer, const nlohmann::json& value) {
    Quantised made;
    made.quantisation[nlohmann::json::json_pointer(pointer)] = value;
    return made.error();
  };
  CHECK_EQ(error("/quant_method", "gptq"), place + "quant_method");
  CHECK_EQ(error("/format", "pack-quantized"), place + "format");
  CHECK_EQ(error("/format", "float-quantized"), place + "format");
  CHECK_EQ(error("/quantization_status", "frozen"), place + "quantization_status");
  CHECK_EQ(error("/kv_cache_scheme", {{"num_bits", 8}}), place + "kv_cache_scheme");
  CHECK_EQ(error("/sparsity_config", {{"format", "sparse-24"}}), place + "sparsity_config");
  CHECK_EQ(error("/sparsity_config", nlohmann::json::object()), "loads");
  CHECK_EQ(error("/transform_config", {{"rotation", 1}}), place + "transform_config");
  CHECK_EQ(error("/config_groups/group_0/format", "pack-quantized"), group + "format");
  CHECK_EQ(error("/config_groups/group_0/format", "int-quantized"), "loads");
  CHECK_EQ(error("/config_groups/group_0/input_activations", {{"num_bits", 8}}),
           group + "input_activations");
  CHECK_EQ(error("/config_groups/group_0/output_activations", {{"num_bits", 8}}),
           group + "output_activations");
  const std::string weights = "/config_groups/group_0/weights/";
  CHECK_EQ(error((weights + "num_bits").c_str(), 4), group + "weights.num_bits");
  CHECK_EQ(error((weights + "type").c_str(), "float"), group + "weights.type");
  CHECK_EQ(error((weights + "symmetric").c_str(), false), group + "weights.symmetric");
  CHECK_EQ(error((weights + "dynamic").c_str(), true), group + "weights.dynamic");
  CHECK_EQ(error((weights + "group_size").c_str(), 128), group + "weights.group_size");
  CHECK_EQ(error((weights + "actorder").c_str(), "group"), group + "weights.actorder");
  CHECK_EQ(error((weights + "strategy").c_str(), "group"), group + "weights.strategy");
  CHECK_EQ(error((weights + "strategy").c_str(), "block"), group + "weights.strategy");
  nlohmann::json other = Quantised().weights();
  other["strategy"] = "tensor";
  CHECK_EQ(error("/config_groups/group_1", {{"weights", other}}),
           place + "config_groups.group_1.weights.strategy");

  const std::string invalid = "config_invalid: config.json: quantization_config";
  CHECK_EQ(error("/config_groups", nlohmann::json::object()), invalid + ".config_groups");
  CHECK_EQ(error("/config_groups", 1), invalid + ".config_groups");
  CHECK_EQ(error("/config_groups/group_0", 1), invalid + ".config_groups.group_0");
  CHECK_EQ(error("/config_groups/group_0/weights", nullptr),
           invalid + ".config_groups.group_0.weights");
  CHECK_EQ(error((weights + "num_bits").c_str(), "8"),
           invalid + ".config_groups.group_0.weights.num_bits");
  CHECK_EQ(error("/format", nullptr), invalid + ".format");
}
