// Weights that stay in 8 bits on their way from the file: the same as rounding the floats gives,
// and nothing of it believed unchecked.
#include <doctest/doctest.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <string>

#include "tests/core/formats_folder.hpp"

using namespace relata;
using namespace relata::test;
using kernels::WeightMatrix;
using kernels::WeightType;

namespace {

const std::string kWeight = "encoder.block.0.layer.0.SelfAttention.q.weight";
const std::string kFile = "model.safetensors: ";

const WeightMatrix& query_of(const Model& model) {
  return model.weights.encoder.layers[0].self_attention.query.weight;
}

/// All that a matrix of 8 bits holds.
std::string bits_of(const WeightMatrix& matrix) {
  std::string bits;
  const auto append = [&](const void* from, std::size_t size) {
    bits.append(static_cast<const char*>(from), size);
  };
  std::vector<std::int8_t> row(static_cast<std::size_t>(matrix.depth()));
  for (int col = 0; col < matrix.cols(); ++col) {
    matrix.copy_integers(col, row.data());
    append(row.data(), row.size());
  }
  const auto view = matrix.int8();
  append(view.column_scales, static_cast<std::size_t>(matrix.cols()) * sizeof(float));
  append(view.reach, static_cast<std::size_t>(matrix.depth()) * sizeof(float));
  return bits;
}

/// t5_folder in floats and as somebody who has rounded its matrices would write it.
struct Kept {
  Folder floats = t5_folder();
  Folder folder = floats;
  nlohmann::json quantisation = {
      {"quant_method", "compressed-tensors"},
      {"format", "int-quantized"},
      {"config_groups",
       {{"group_0",
         {{"targets", {"Linear"}},
          {"weights", {{"num_bits", 8}, {"strategy", "channel"}, {"levelled", true}}}}}}}};

  Kept() {
    std::vector<FileTensor> factors;
    for (FileTensor& tensor : folder.tensors) {
      if (tensor.shape.size() != 2 || tensor.name.find("relative") != std::string::npos) {
        continue;
      }
      const int rows = static_cast<int>(tensor.shape[0]);
      const int cols = static_cast<int>(tensor.shape[1]);
      auto matrix = WeightMatrix::allocate(WeightType::int8, rows, cols, "test");
      REQUIRE(matrix.ok());
      const auto row = [&](int i) { return tensor.values.data() + i * cols; };
      for (int i = 0; i < rows; ++i) {
        matrix.value().level(row(i));
      }
      std::vector<float> integers;
      for (int i = 0; i < rows; ++i) {
        matrix.value().set_row(i, row(i));
        std::vector<std::int8_t> kept(static_cast<std::size_t>(cols));
        matrix.value().copy_integers(i, kept.data());
        integers.insert(integers.end(), kept.begin(), kept.end());
      }
      const auto view = matrix.value().int8();
      factors.push_back({tensor.name + "_scale",
                         {tensor.shape[0], 1},
                         {view.column_scales, view.column_scales + rows}});
      factors.push_back(
          {tensor.name + "_reach", {1, tensor.shape[1]}, {view.reach, view.reach + cols}});
      tensor.dtype = "I8";
      tensor.values = integers;
    }
    folder.tensors.insert(folder.tensors.begin(), factors.begin(), factors.end());
  }
  Loaded load(const Loading& loading = {KeptType::as_stored, 0}) const {
    auto config = nlohmann::json::parse(folder.config);
    config["quantization_config"] = quantisation;
    Folder written = folder;
    written.config = config.dump();
    return relata::test::load(written, loading);
  }
  std::string error(const Loading& loading = {KeptType::as_stored, 0}) const {
    const Loaded loaded = load(loading);
    return loaded.ok() ? "loads"
                       : std::string(to_string(loaded.error.code)) + ": " + loaded.error.where;
  }
  nlohmann::json& weights() { return quantisation["config_groups"]["group_0"]["weights"]; }
};

}  // namespace

TEST_CASE("kept integers are what rounding the floats gives, to the bit, however they are read") {
  const Kept made;
  const Loaded rounded = load(made.floats, {KeptType::int8, 0});
  REQUIRE(rounded.ok());
  const auto expected = matrices_of(*rounded.model);
  for (const KeptType type : {KeptType::as_stored, KeptType::int8}) {
    for (const std::uint64_t most : {0, 1, 7, 50, 333, 100000}) {
      const Loaded kept = made.load({type, most});
      REQUIRE_MESSAGE(kept.ok(), kept.error.where);
      const auto found = matrices_of(*kept.model);
      int wrong = 0;
      for (std::size_t i = 0; i < expected.size(); ++i) {
        wrong += bits_of(*found[i]) == bits_of(*expected[i]) ? 0 : 1;
      }
      CHECK_EQ(wrong, 0);
    }
  }
}

TEST_CASE("kept integers as floats: value times scale times reach") {
  const Kept made;
  const Loaded loaded = made.load({KeptType::f32, 0});
  const Loaded kept = made.load();
  REQUIRE(loaded.ok());
  REQUIRE(kept.ok());
  CHECK(query_of(*loaded.model).type() == WeightType::f32);
  CHECK(query_of(*kept.model).type() == WeightType::int8);
  const auto floats = matrices_of(*loaded.model);
  const auto integers = matrices_of(*kept.model);
  for (std::size_t i = 0; i < floats.size(); ++i) {
    const auto depth = static_cast<std::size_t>(floats[i]->depth());
    for (int col = 0; col < floats[i]->cols(); ++col) {
      std::vector<float> row(depth), other(depth);
      floats[i]->copy_row(col, row.data());
      integers[i]->copy_row(col, other.data());
      CHECK_EQ(row, other);
    }
  }
}

TEST_CASE("what is not in 8 bits stays in floats where nothing else is asked for") {
  const Loaded plain = load(t5_folder(), {KeptType::as_stored, 0});
  REQUIRE(plain.ok());
  CHECK(query_of(*plain.model).type() == WeightType::f32);
  Kept mixed;
  for (const char* ending : {"", "_scale", "_reach"}) {
    mixed.folder.remove(kWeight + ending);
  }
  mixed.folder.tensors.push_back(mixed.floats.tensor(kWeight));
  const Loaded loaded = mixed.load();
  REQUIRE(loaded.ok());
  CHECK(query_of(*loaded.model).type() == WeightType::f32);
  CHECK(loaded.model->weights.embedding.type() == WeightType::int8);
}

TEST_CASE("integers of others stay what they are, unless one is out of our range") {
  Kept made;
  made.weights()["levelled"] = false;
  std::erase_if(made.folder.tensors,
                [](const FileTensor& tensor) { return tensor.name.ends_with("_reach"); });
  const auto check = [&](float first) {
    made.folder.tensor(kWeight).values[0] = first;
    const Loaded loaded = made.load();
    REQUIRE_MESSAGE(loaded.ok(), loaded.error.where);
    const WeightMatrix& matrix = query_of(*loaded.model);
    std::vector<std::int8_t> row(4);
    int same = 0;
    for (int col = 0; col < 6; ++col) {
      matrix.copy_integers(col, row.data());
      for (int k = 0; k < 4; ++k) {
        same += row[static_cast<std::size_t>(k)] ==
                        made.folder.tensor(kWeight).values[static_cast<std::size_t>(col * 4 + k)]
                    ? 1
                    : 0;
      }
    }
    std::vector<float> values(4);
    matrix.copy_row(0, values.data());
    CHECK_EQ(values[0], doctest::Approx(first * made.folder.tensor(kWeight + "_scale").values[0]));
    return same;
  };
  CHECK_EQ(check(-127), 24);
  // That one is rounded again.
  CHECK_LT(check(-128), 24);
}

TEST_CASE("kept integers, one thing damaged") {
  Kept made;
  SUBCASE("an integer out of range") {
    made.folder.tensor(kWeight).values[9] = -128;
    CHECK_EQ(made.error(), "tensor_invalid: " + kFile + kWeight);
    CHECK_EQ(made.error({KeptType::as_stored, 4}), "tensor_invalid: " + kFile + kWeight);
    CHECK(made.load().error.message.find("[2, 1]") != std::string::npos);
  }
  SUBCASE("without its reach") {
    made.folder.remove(kWeight + "_reach");
    CHECK_EQ(made.error(), "tensor_missing: " + kFile + kWeight + "_reach");
  }
  SUBCASE("a reach that no configuration calls for") {
    made.weights()["levelled"] = false;
    CHECK(made.error().starts_with("tensor_invalid: " + kFile));
    CHECK(made.error().ends_with("_reach"));
  }
  SUBCASE("a reach of another shape") {
    for (const std::vector<std::uint64_t>& shape :
         {std::vector<std::uint64_t>{4}, {4, 1}, {2, 2}}) {
      made.folder.tensor(kWeight + "_reach").shape = shape;
      CHECK_EQ(made.error(), "tensor_invalid: " + kFile + kWeight + "_reach");
    }
  }
  SUBCASE("factors that are not finite") {
    for (const std::string ending : {"_reach", "_scale"}) {
      for (const float value : {INFINITY, -INFINITY, std::nanf("")}) {
        Kept other;
        other.folder.tensor(kWeight + ending).values[1] = value;
        CHECK_EQ(other.error(), "tensor_invalid: " + kFile + kWeight + ending);
      }
    }
  }
  SUBCASE("factors that are negative") {
    for (const std::string ending : {"_reach", "_scale"}) {
      for (const KeptType type : {KeptType::as_stored, KeptType::f32, KeptType::int8}) {
        Kept other;
        other.folder.tensor(kWeight + ending).values[1] = -1.0F;
        const Loaded loaded = other.load({type, 0});
        REQUIRE_FALSE(loaded.ok());
        CHECK_EQ(loaded.error.where, kFile + kWeight + ending);
        CHECK_EQ(std::string(loaded.error.message),
                 std::string("the value at [") + (ending == "_reach" ? "0, 1" : "1, 0") +
                     "] is negative, and integers are multiplied by it");
      }
    }
  }
  SUBCASE("factors whose product is not finite") {
    made.folder.tensor(kWeight + "_scale").values[2] = 1e20F;
    made.folder.tensor(kWeight + "_reach").values[3] = 1e20F;
    CHECK_EQ(made.error(), "tensor_invalid: " + kFile + kWeight);
    CHECK_EQ(made.error({KeptType::int8, 0}), "tensor_invalid: " + kFile + kWeight);
  }
  SUBCASE("a reach behind its weights") {
    const FileTensor reach = made.folder.tensor(kWeight + "_reach");
    made.folder.remove(reach.name);
    made.folder.tensors.push_back(reach);
    CHECK_EQ(made.error(), "unsupported: " + kFile + kWeight);
  }
  SUBCASE("levelled by one scale for all") {
    made.weights()["strategy"] = "tensor";
    CHECK_EQ(
        made.error(),
        "unsupported: config.json: quantization_config.config_groups.group_0.weights.levelled");
  }
  SUBCASE("levelled by a word") {
    made.weights()["levelled"] = "yes";
    CHECK_EQ(made.error(),
             "config_invalid: "
             "config.json: quantization_config.config_groups.group_0.weights.levelled");
  }
}

TEST_CASE("factors of zero make a row and a column of zeros") {
  for (const KeptType type : {KeptType::as_stored, KeptType::f32, KeptType::int8}) {
    Kept made;
    made.folder.tensor(kWeight + "_scale").values[1] = 0;
    made.folder.tensor(kWeight + "_reach").values[2] = 0;
    const Loaded loaded = made.load({type, 0});
    REQUIRE_MESSAGE(loaded.ok(), loaded.error.where);
    for (int row = 0; row < 6; ++row) {
      float values[4];
      query_of(*loaded.model).copy_row(row, values);
      for (int col = 0; col < 4; ++col) {
        CHECK_EQ(values[col] == 0, row == 1 || col == 2);
      }
    }
  }
}

TEST_CASE("copies of an embedding in 8 bits have to agree with it") {
  Kept made;
  const std::string copy = "encoder.embed_tokens.weight";
  for (const std::string ending : {"", "_scale", "_reach"}) {
    made.folder.tensor("shared.weight" + ending).name = "decoder.embed_tokens.weight" + ending;
    FileTensor same = made.folder.tensor("decoder.embed_tokens.weight" + ending);
    same.name = copy + ending;
    if (ending.empty()) {
      made.folder.tensors.push_back(same);
    } else {
      made.folder.tensors.insert(made.folder.tensors.begin(), same);
    }
  }
  CHECK_EQ(made.error(), "loads");
  made.folder.tensor(copy).values[7] -= 1;
  CHECK_EQ(made.error(), "tensor_invalid: " + kFile + copy);
}
