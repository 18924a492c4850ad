// The shipped model against PyTorch: greedy ids of 200 sentences, logits of some, from the same f16
// weights.
#include <doctest/doctest.h>

#include <cmath>
#include <string>

#include "src/generate/session.hpp"
#include "src/model/decoder.hpp"
#include "src/model/encoder.hpp"
#include "tests/core/support.hpp"

namespace relata::test {
namespace {

constexpr const char* kFolder = "captions-en-de";

std::unique_ptr<const Model> load_captions() {
  const std::string folder = golden_path("../../models/captions-en-de/");
  FolderFiles files;
  files.config = read_file(folder + "config.json");
  files.generation_config = read_file(folder + "generation_config.json");
  files.weights = read_file(folder + "model.safetensors");
  return load(files);
}

}  // namespace

TEST_CASE("the shipped model writes what PyTorch writes, 200 sentences") {
  const auto model = load_captions();
  const auto golden = read_json(golden_path(std::string(kFolder) + "/greedy.json"));
  GenerateOptions options = default_options(model->config);
  options.max_new_tokens = golden.at("max_new_tokens");
  int different = 0;
  for (const auto& item : golden.at("cases")) {
    const std::vector<int> source = item.at("source");
    const std::vector<int> target = item.at("target");
    auto session = Session::start(*model, source, {}, options);
    REQUIRE(session.ok());
    std::vector<int> ids;
    while (!session.value().done()) {
      const auto step = session.value().step();
      REQUIRE(step.ok());
      for (const GeneratedToken& token : step.value()) {
        ids.push_back(token.token_id);
      }
    }
    different += ids == target ? 0 : 1;
  }
  CHECK(golden.at("cases").size() == 200);
  CHECK(different == 0);
}

TEST_CASE("the shipped model's logits equal PyTorch's") {
  const auto model = load_captions();
  const auto golden = read_json(golden_path(std::string(kFolder) + "/greedy.json"));
  const Tensors expected = read_tensors(golden_path(std::string(kFolder) + "/logits.safetensors"));
  const int stride = golden.at("stride");
  for (const auto& forced : golden.at("teacher_forced")) {
    const std::size_t number = forced.at("case");
    const std::vector<int> source = golden.at("cases").at(number).at("source");
    const std::vector<int> target = golden.at("cases").at(number).at("target");
    std::vector<int> input = {model->config.decoder_start_token_id};
    input.insert(input.end(), target.begin(), target.end() - 1);
    const int length = static_cast<int>(input.size());
    const auto encoded = encode(*model, source, {}, nullptr);
    REQUIRE(encoded.ok());
    auto decoder = Decoder::start(*model, encoded.value().view(), length, length, false);
    REQUIRE(decoder.ok());
    auto logits = std::move(Matrix::allocate(length, model->config.vocab_size, "test").value());
    REQUIRE(decoder.value().forward(input, logits.view(), nullptr).ok());
    const auto sampled = expected.at("logits." + std::to_string(number)).matrix();
    int row = 0;
    for (const int position : forced.at("positions")) {
      REQUIRE_EQ(sampled.cols, (model->config.vocab_size + stride - 1) / stride);
      for (int i = 0; i < sampled.cols; ++i) {
        CHECK(std::abs(logits.view().row(position)[i * stride] - sampled.row(row)[i]) < 1e-3);
      }
      ++row;
    }
    if (&forced == &golden.at("teacher_forced").back()) {
      CHECK(max_difference(logits.view().slice_rows(length - 1, 1), expected.at("last").matrix()) <
            1e-3);
    }
  }
}

TEST_CASE("weights so large that numbers overflow give an error, never NaN") {
  auto golden = read_golden("shaw");
  for (const std::string name : {"embedding.weight", "decoder.final_norm.weight",
                                 "encoder.layers.0.self_attention.query.weight"}) {
    CAPTURE(name);
    FolderFiles files = golden->files;
    files.fill_tensor(name, 3e38F);
    const auto model = load(files);
    const auto& source = golden->cases.front().source_ids;
    const std::vector<int> target = {4, 5, 6};
    const auto forced = teacher_force(*model, source, target, {}, {});
    REQUIRE_FALSE(forced.ok());
    CHECK(forced.error().code == ErrorCode::tensor_invalid);
    auto session = Session::start(*model, source, {}, default_options(model->config));
    bool failed = !session.ok();
    while (!failed && !session.value().done()) {
      failed = !session.value().step().ok();
    }
    CHECK((failed || session.value().error(0) != nullptr));
  }
}

}  // namespace relata::test
