// CTranslate2 folders: what their files say, and that each choice of the format matters. Numbers
// and ids are judged in parity_test.cpp.
#include <doctest/doctest.h>

#include <algorithm>

#include "src/model/decoder.hpp"
#include "src/model/encoder.hpp"
#include "tests/core/ctranslate2_folder.hpp"
#include "tests/core/model_checks.hpp"

using namespace relata;
using namespace relata::test;

namespace {

const std::string kPrefix = "ctranslate2/";

std::unique_ptr<const Model> load_golden(const std::string& name) {
  auto model = load(read_ctranslate2_folder(name));
  if (!model.ok()) {
    FAIL(name << ": " << model.error().where << ": " << model.error().message);
  }
  return std::move(model.value());
}

}  // namespace

TEST_CASE("ctranslate2 folders: what the files say of sizes, ids and relations") {
  const auto sinusoidal = load_golden("sinusoidal");
  CHECK_EQ(sinusoidal->config.model_type, "relata");
  CHECK_EQ(sinusoidal->config.vocab_size, 26);
  CHECK_EQ(sinusoidal->config.source_vocab_size, 0);
  CHECK_EQ(sinusoidal->config.d_ff, 24);
  CHECK_EQ(sinusoidal->config.num_decoder_layers, 2);
  CHECK_EQ(sinusoidal->config.decoder_start_token_id, 1);
  CHECK_EQ(sinusoidal->config.eos_token_ids, std::vector<int>{2});
  CHECK(sinusoidal->weights.logits_bias.size() == 26);
  CHECK(sinusoidal->weights.lm_head.cols() == 0);
  const auto shaw = load_golden("shaw-float16");
  CHECK_EQ(shaw->config.source_vocab_size, 30);
  CHECK_EQ(shaw->weights.decoder_embedding.cols(), 26);
  CHECK_EQ(shaw->weights.lm_head.cols(), 26);
  CHECK_EQ(shaw->config.encoder_relation.index.left, 2);
  const auto asymmetric = load_golden("shaw-asymmetric-bfloat16");
  CHECK_EQ(asymmetric->config.decoder_relation.index.left, 3);
  CHECK_EQ(asymmetric->config.decoder_relation.index.right, 1);
  CHECK_FALSE(asymmetric->config.decoder_relation.effect.values);
}

TEST_CASE("ctranslate2 folders: a wrong choice of the format does not pass") {
  const auto wrong = [](const std::string& name, const auto& change) {
    const auto expected = read_cases(kPrefix + name);
    auto model = load_golden(name);
    change(const_cast<Model&>(*model));
    return differences(*model, *expected);
  };
  const auto positions = [&](const auto& change) {
    return wrong("sinusoidal", [&](Model& model) { change(model.config.positions); }).encoder;
  };
  CHECK_GE(positions([](PositionConfig& config) { config.divisor = 8; }), 1e-2);
  CHECK_GE(positions([](PositionConfig& config) { config.first_position = 0; }), 1e-2);
  CHECK_GE(positions([](PositionConfig& config) { config.interleaved = true; }), 1e-2);
  CHECK_GE(
      wrong("sinusoidal", [](Model& model) { model.weights.logits_bias = AlignedBuffer<float>(); })
          .logits,
      1e-2);
  CHECK_GE(
      wrong("shaw-one-table-int8", [](Model& model) { model.config.embedding_scale = 4; }).encoder,
      1e-2);
  // A table that comes into play only beyond the clipping distance of the others.
  Ctranslate2Folder folder = read_ctranslate2_folder("shaw-one-table-int8");
  auto& aliases = folder.model.aliases;
  const auto is_values = [](const auto& alias) {
    return alias.first.ends_with("relative_position_values");
  };
  REQUIRE_EQ(std::count_if(aliases.begin(), aliases.end(), is_values), 4);
  std::erase_if(aliases, is_values);
  const auto keys_only = load(folder);
  REQUIRE(keys_only.ok());
  CHECK_GE(differences(*keys_only.value(), *read_cases("ctranslate2/shaw-one-table-int8")).encoder,
           1e-2);
}

TEST_CASE("a table of positions ends, and says where") {
  const auto model = load_golden("encodings-int16");
  std::vector<int> ids(41, 3);
  const auto encoded = encode(*model, std::span(ids).first(40), {}, nullptr);
  REQUIRE(encoded.ok());
  const auto beyond = encode(*model, ids, {}, nullptr);
  REQUIRE_FALSE(beyond.ok());
  CHECK(beyond.error().code == ErrorCode::input_invalid);
  CHECK_EQ(beyond.error().where, "source");
  CHECK(beyond.error().message.find("40") != std::string::npos);

  auto decoder = Decoder::start(*model, encoded.value().view(), 64, 41, false);
  auto logits = Matrix::allocate(41, model->config.vocab_size, "test");
  REQUIRE(decoder.ok());
  const auto whole = decoder.value().forward(ids, logits.value().view(), nullptr);
  REQUIRE_FALSE(whole.ok());
  CHECK(whole.error().code == ErrorCode::input_invalid);
  CHECK_EQ(whole.error().where, "target");
  CHECK_EQ(decoder.value().length(), 0);
  CHECK(decoder.value()
            .forward(std::span(ids).first(40), logits.value().view().slice_rows(0, 40), nullptr)
            .ok());
  CHECK_FALSE(decoder.value()
                  .forward(std::span(ids).first(1), logits.value().view().slice_rows(0, 1), nullptr)
                  .ok());
}

TEST_CASE("source and target ids are judged by their own vocabularies") {
  const auto model = load_golden("shaw-float16");
  const std::vector<int> ids = {29, 2};
  const auto encoded = encode(*model, ids, {}, nullptr);
  REQUIRE(encoded.ok());
  auto decoder = Decoder::start(*model, encoded.value().view(), 4, 2, false);
  auto logits = Matrix::allocate(2, model->config.vocab_size, "test");
  REQUIRE(decoder.ok());
  CHECK_FALSE(decoder.value().forward(ids, logits.value().view(), nullptr).ok());
  const std::vector<int> unknown = {30};
  CHECK_FALSE(encode(*model, unknown, {}, nullptr).ok());
}
