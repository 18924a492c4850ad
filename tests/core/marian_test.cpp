// Marian folders against Hugging Face's MarianMTModel: the banned pad, and that each peculiarity of
// the family matters. Numbers and ids are judged in parity_test.cpp.
#include <doctest/doctest.h>

#include <algorithm>

#include "tests/core/model_checks.hpp"

using namespace relata;
using namespace relata::test;

namespace {

const std::vector<std::string> kFolders = {"marian/shared", "marian/separate"};

/// The code and place of the error of a folder whose config.json was changed.
std::string error_after(const std::string& name,
                        const std::function<void(nlohmann::json&)>& change) {
  FolderFiles files = read_folder(name);
  files.edit_config(change);
  const auto model = try_load(files);
  return model.ok() ? "loads"
                    : std::string(to_string(model.error().code)) + ": " + model.error().where;
}

}  // namespace

TEST_CASE("marian folders: what is special") {
  const auto shared = load(read_folder("marian/shared"));
  CHECK_EQ(shared->config.model_type, "marian");
  CHECK_EQ(shared->config.decoder_start_token_id, shared->config.pad_token_id);
  CHECK_EQ(shared->config.eos_token_ids, std::vector<int>{0});
  CHECK_EQ(shared->config.source_vocab_size, 0);
  CHECK_EQ(shared->weights.logits_bias.size(), 30);
  const auto separate = load(read_folder("marian/separate"));
  CHECK_EQ(separate->config.source_vocab_size, 34);
  CHECK_EQ(separate->config.vocab_size, 30);
  CHECK_EQ(separate->weights.embedding.cols(), 34);
  CHECK_EQ(separate->weights.decoder_embedding.cols(), 30);
}

TEST_CASE("marian folders: the pad is banned by the generation config, the end forced") {
  bool pad_was_likelier = false;
  for (const auto& name : kFolders) {
    CAPTURE(name);
    const auto golden = read_golden(name);
    const auto model = load(golden->files);
    const Config& config = model->config;
    REQUIRE_EQ(config.search.bad_words_ids, std::vector<std::vector<int>>{{config.pad_token_id}});
    REQUIRE_EQ(config.search.forced_eos_token_ids, std::vector<int>{0});
    const auto generated = read_json(golden_path(name + "/generated.json"));
    for (const GoldenCase& example : golden->cases) {
      const std::vector<int> expected = generated.at(example.name);
      REQUIRE_LE(expected.size(), static_cast<std::size_t>(config.max_new_tokens));
      auto ids = greedy(*model, example, config.search.bad_words_ids.front());
      ids.resize(expected.size());
      if (expected.size() == static_cast<std::size_t>(config.max_new_tokens)) {
        ids.back() = config.search.forced_eos_token_ids.front();
      }
      CHECK_EQ(ids, expected);
      const auto first_pad =
          std::find(example.greedy_ids.begin(), example.greedy_ids.end(), config.pad_token_id);
      pad_was_likelier = pad_was_likelier || first_pad - example.greedy_ids.begin() <
                                                 static_cast<std::ptrdiff_t>(expected.size()) - 1;
    }
  }
  CHECK(pad_was_likelier);
}

TEST_CASE("marian folders: a wrong choice does not pass") {
  const auto golden = read_golden("marian/shared");
  const auto wrong = [&](const auto& change) {
    auto model = load(golden->files);
    change(const_cast<Model&>(*model));
    return differences(*model, *golden);
  };
  CHECK_GE(wrong([](Model& model) { model.config.positions.divisor = 7; }).encoder, 1e-2);
  CHECK_GE(wrong([](Model& model) { model.config.positions.first_position = 1; }).encoder, 1e-2);
  CHECK_GE(wrong([](Model& model) { model.config.positions.interleaved = true; }).encoder, 1e-2);
  CHECK_GE(wrong([](Model& model) { model.config.embedding_scale = 1; }).encoder, 1e-2);
  CHECK_GE(wrong([](Model& model) { model.config.activation = kernels::Activation::gelu; }).encoder,
           1e-3);
  CHECK_GE(wrong([](Model& model) { model.weights.logits_bias = AlignedBuffer<float>(); }).logits,
           1e-2);
}

TEST_CASE("marian folders: the configuration's errors name its own fields") {
  using nlohmann::json;
  const auto set = [](const char* key, json value) {
    return [key, value](json& config) { config[key] = value; };
  };
  const auto error = [&](const char* key, json value) {
    return error_after("marian/shared", set(key, std::move(value)));
  };
  CHECK_EQ(error("use_cache", false), "loads");
  CHECK_EQ(error("decoder_ffn_dim", 32), "unsupported: config.json: decoder_ffn_dim");
  CHECK_EQ(error("decoder_attention_heads", 4),
           "unsupported: config.json: decoder_attention_heads");
  CHECK_EQ(error("activation_function", "mish"), "unsupported: config.json: activation_function");
  CHECK_EQ(error("decoder_vocab_size", 31), "config_invalid: config.json: decoder_vocab_size");
  CHECK_EQ(error("d_model", 15), "config_invalid: config.json: d_model");
  CHECK_EQ(error("encoder_layers", 0), "config_invalid: config.json: encoder_layers");
  CHECK_EQ(error("encoder_layers", 2000), "config_invalid: config.json: encoder_layers");
  CHECK_EQ(error("encoder_layers", 3),
           "tensor_missing: model.safetensors: model.encoder.layers.2.self_attn.q_proj.weight");
  CHECK_EQ(error("tie_word_embeddings", false),
           "tensor_missing: model.safetensors: lm_head.weight");
  CHECK_EQ(error("quantization_config", {{"quant_method", "gptq"}}),
           "unsupported: config.json: quantization_config.quant_method");
}
