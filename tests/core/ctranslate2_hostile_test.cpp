// model.bin as a hostile file: every damage is an error with a code and a place.
#include <doctest/doctest.h>

#include <algorithm>
#include <cstring>
#include <limits>

#include "tests/core/ctranslate2_folder.hpp"

using namespace relata;
using namespace relata::test;

namespace {

using formats::ByteRange;

template <class T>
std::string bytes_of(T value) {
  return std::string(reinterpret_cast<const char*>(&value), sizeof value);
}

BinVariable flag(const std::string& name, char value) { return {name, {}, 1, {value}}; }

/// The error of a folder after a change, "CODE: WHERE: MESSAGE", or "loads".
template <class Change>
std::string error_after(const std::string& name, const Change& change) {
  Ctranslate2Folder folder = read_ctranslate2_folder(name);
  change(folder);
  const auto model = load(folder);
  return model.ok() ? "loads"
                    : std::string(to_string(model.error().code)) + ": " + model.error().where +
                          ": " + model.error().message;
}

#define CHECK_ERROR(folder_name, start, ...)                                      \
  do {                                                                            \
    const std::string found =                                                     \
        error_after(folder_name, [](Ctranslate2Folder& folder) { __VA_ARGS__; }); \
    CHECK_MESSAGE(found.starts_with(start), found);                               \
  } while (false)

}  // namespace

TEST_CASE("model.bin: an untouched copy loads") {
  for (const char* name : {"sinusoidal", "encodings-int16", "shaw-float16", "shaw-one-table-int8",
                           "shaw-asymmetric-bfloat16"}) {
    CHECK_EQ(error_after(name, [](Ctranslate2Folder&) {}), "loads");
  }
}

TEST_CASE("model.bin: the scanner skips weights, in ascending order") {
  BinFile file;
  // Longer than what is shown at once, at first, between and last.
  const std::string large(400000, '\0');
  file.variables = {{"a/weight", {400, 250}, 0, large},
                    flag("a/flag", 5),
                    {"a/weight_scale", {50000}, 0, std::string(200000, '\1')},
                    {"b/weight", {400, 250}, 0, large},
                    {"text", {3}, 1, "abc"},
                    {"z/weight", {100000}, 0, large}};
  file.aliases = {{"c/weight", "a/weight"}};
  const std::string bytes = file.write();
  std::vector<ByteRange> asked;
  auto index = scan(bytes, &asked);
  REQUIRE(index.ok());
  std::uint64_t total = 0;
  for (std::size_t i = 0; i < asked.size(); ++i) {
    CHECK_GT(asked[i].bytes, 0);
    CHECK((i == 0 || asked[i].offset > asked[i - 1].offset));
    total += asked[i].bytes;
  }
  CHECK_LE(total, 800000);  // of 1,400,000
  CHECK_EQ(index.value().variables.size(), 6);
  for (const BinVariable& variable : file.variables) {
    const auto* found = index.value().find(variable.name);
    REQUIRE(found != nullptr);
    CHECK_EQ(bytes.substr(static_cast<std::size_t>(found->info.offset),
                          static_cast<std::size_t>(found->info.bytes)),
             variable.data);
  }
  CHECK_EQ(index.value().find("a/flag")->value.size(), 1);
  CHECK_EQ(index.value().find("a/weight_scale")->value.size(), 200000);
  CHECK_EQ(index.value().find("text")->value.size(), 3);
  CHECK(index.value().find("a/weight")->value.empty());
  CHECK_EQ(index.value().find("c/weight"), index.value().find("a/weight"));
  CHECK_EQ(index.value().find("c/weight_scale"), index.value().find("a/weight_scale"));
  CHECK(index.value().find("c/bias") == nullptr);

  formats::Ctranslate2Scanner scanner(bytes.size());
  CHECK_FALSE(scanner.accept({}).ok());
  CHECK_FALSE(scanner.finish().ok());
}

TEST_CASE("model.bin: cut at any byte it is damaged") {
  const std::string whole = read_ctranslate2_folder("shaw-one-table-int8").model.write();
  REQUIRE(scan(whole).ok());
  for (std::size_t length = 0; length < whole.size(); ++length) {
    const auto index = scan(whole.substr(0, length));
    REQUIRE_MESSAGE(!index.ok(), length);
    REQUIRE_MESSAGE(index.error().code == ErrorCode::file_damaged, length);
    REQUIRE(index.error().where.starts_with("model.bin: "));
  }
  const auto longer = scan(whole + '\0');
  REQUIRE_FALSE(longer.ok());
  CHECK(longer.error().code == ErrorCode::file_damaged);
  CHECK_EQ(longer.error().message, "1 bytes belong to nothing");
}

TEST_CASE("model.bin: a changed byte loads or is an error with a place") {
  const Ctranslate2Folder folder = read_ctranslate2_folder("shaw-one-table-int8");
  const std::string whole = folder.model.write();
  int refused = 0;
  for (std::size_t at = 0; at < whole.size(); at += at < 4000 ? 1 : 13) {
    for (const int bits : {0x01, 0x80, 0xFF}) {
      std::string changed = whole;
      changed[at] = static_cast<char>(changed[at] ^ bits);
      const auto model = load(folder, changed);
      if (!model.ok()) {
        refused += 1;
        REQUIRE_FALSE(model.error().where.empty());
        REQUIRE_FALSE(model.error().message.empty());
      }
    }
  }
  CHECK_GE(refused, 1000);
}

TEST_CASE("model.bin: what announces itself wrongly") {
  CHECK_ERROR("sinusoidal", "unsupported: model.bin: binary version", folder.model.version = 7);
  CHECK_ERROR("sinusoidal", "unsupported: model.bin: binary version", folder.model.version = 3);
  CHECK_ERROR("sinusoidal", "unsupported: model.bin: revision", folder.model.revision = 8);
  CHECK_ERROR("sinusoidal", "unsupported: model.bin: specification: models of \"WhisperSpec\"",
              folder.model.specification = "WhisperSpec");
  CHECK_ERROR("sinusoidal", "unsupported: model.bin: encoder/layer_norm/beta: the type 6",
              folder.model.at("encoder/layer_norm/beta").type = 6);
  CHECK_ERROR("sinusoidal", "file_damaged: model.bin: encoder/layer_norm/beta: announces 64 bytes",
              folder.model.at("encoder/layer_norm/beta").shape[0] = 15);
  CHECK_ERROR("sinusoidal", "file_damaged: model.bin: encoder/layer_norm/beta: announces 64 bytes",
              folder.model.at("encoder/layer_norm/beta").shape = {65536, 65536, 16, 16});
  CHECK_ERROR("sinusoidal", "file_damaged: model.bin: encoder/layer_norm/beta: has more than 8",
              folder.model.at("encoder/layer_norm/beta").shape.resize(9, 1));
  CHECK_ERROR("sinusoidal", "tensor_invalid: model.bin: decoder/alibi: is there twice",
              folder.model.variables.push_back(flag("decoder/alibi", 0)));
  CHECK_ERROR("sinusoidal", "tensor_invalid: model.bin: decoder/alibi: is there twice",
              folder.model.aliases.emplace_back("decoder/alibi", "decoder/scale_alibi"));
  CHECK_ERROR("sinusoidal", "file_damaged: model.bin: x: stands for \"y\"",
              folder.model.aliases.emplace_back("x", "y"));
  CHECK_ERROR("sinusoidal", "file_damaged: model.bin: byte ",
              folder.model.variables.push_back(flag("a\nb", 0)));
}

TEST_CASE("model.bin: what is missing, and what is there besides") {
  CHECK_ERROR("sinusoidal", "tensor_missing: model.bin: encoder/layer_1/ffn/linear_1/weight",
              folder.model.remove("encoder/layer_1/ffn/linear_1/weight"));
  CHECK_ERROR("sinusoidal", "tensor_missing: model.bin: decoder.layers.0.self_attention.query.bias",
              folder.model.remove("decoder/layer_0/self_attention/linear_0/bias"));
  CHECK_ERROR("shaw-one-table-int8",
              "tensor_missing: model.bin: decoder/layer_0/ffn/linear_0/weight_scale",
              folder.model.remove("decoder/layer_0/ffn/linear_0/weight_scale"));
  CHECK_ERROR(
      "sinusoidal",
      "unsupported: model.bin: encoder/layer_0/self_attention/rotary_dim: this variable",
      folder.model.variables.push_back(flag("encoder/layer_0/self_attention/rotary_dim", 4)));
  CHECK_ERROR("sinusoidal", "unsupported: model.bin: decoder/start_from_zero_embedding: ",
              folder.model.at("decoder/start_from_zero_embedding").data = "\1");
  CHECK_ERROR("sinusoidal", "unsupported: model.bin: decoder/alibi: ",
              folder.model.at("decoder/alibi").data = "\1");
  CHECK_ERROR("sinusoidal", "unsupported: model.bin: encoder/multi_query_attention: ",
              folder.model.at("encoder/multi_query_attention").data = "\1");
  CHECK_ERROR("sinusoidal", "unsupported: model.bin: encoder/layernorm_embedding/gamma: ",
              folder.model.variables.push_back(
                  {"encoder/layernorm_embedding/gamma", {16}, 0, std::string(64, '\0')}));
  CHECK_ERROR("sinusoidal", "unsupported: model.bin: encoder/embeddings_1/weight: ",
              folder.model.variables.push_back(
                  {"encoder/embeddings_1/weight", {1, 16}, 0, std::string(64, '\0')}));
  CHECK_ERROR(
      "sinusoidal",
      "unsupported: model.bin: encoder/layer_0/self_attention/relative_attention_bias: ",
      folder.model.variables.push_back({"encoder/layer_0/self_attention/relative_attention_bias",
                                        {8, 2},
                                        0,
                                        std::string(64, '\0')}));
}

TEST_CASE("model.bin: attributes that contradict the tensors, or each other") {
  CHECK_ERROR("sinusoidal", "unsupported: model.bin: decoder/num_heads: ",
              folder.model.at("decoder/num_heads").data = bytes_of<std::int16_t>(4));
  CHECK_ERROR("sinusoidal", "tensor_invalid: model.bin: encoder/layer_0/self_attention/linear_0",
              folder.model.at("decoder/num_heads").data = bytes_of<std::int16_t>(5);
              folder.model.at("encoder/num_heads").data = bytes_of<std::int16_t>(5));
  CHECK_ERROR("sinusoidal", "config_invalid: model.bin: encoder/num_heads: ",
              folder.model.at("decoder/num_heads").data = bytes_of<std::int16_t>(0);
              folder.model.at("encoder/num_heads").data = bytes_of<std::int16_t>(0));
  CHECK_ERROR("sinusoidal", "unsupported: model.bin: encoder/activation: activations but",
              folder.model.at("encoder/activation").data = "\5";
              folder.model.at("decoder/activation").data = "\5");
  CHECK_ERROR("sinusoidal", "unsupported: model.bin: decoder/scale_embeddings: ",
              folder.model.at("decoder/scale_embeddings").data = std::string(1, '\0'));
  CHECK_ERROR(
      "shaw-one-table-int8",
      "tensor_invalid: model.bin: encoder/layer_0/self_attention/relative_position_keys: "
      "has to have an odd number",
      auto& table = folder.model.at("encoder/layer_0/self_attention/relative_position_keys");
      table.shape = {66, 4});
  CHECK_ERROR(
      "shaw-one-table-int8",
      "unsupported: model.bin: encoder/layer_1/self_attention/relative_position_keys: "
      "layers that differ",
      auto& table = folder.model.at("encoder/layer_1/self_attention/relative_position_keys");
      table.shape = {11, 24});
  CHECK_ERROR(
      "shaw-asymmetric-bfloat16",
      "unsupported: model.bin: encoder/layer_1/self_attention/relative_asymmetric_position_keys: ",
      folder.model.at("encoder/layer_1/self_attention/relative_left_max_position").data =
          bytes_of<std::int32_t>(2));
  for (const float scale : {0.0F, -1.0F, 1e-45F, std::numeric_limits<float>::infinity(),
                            std::numeric_limits<float>::quiet_NaN()}) {
    const std::string found = error_after("shaw-one-table-int8", [&](Ctranslate2Folder& folder) {
      folder.model.at("decoder/embeddings/weight_scale").data.replace(4, 4, bytes_of(scale));
    });
    CHECK_MESSAGE(found.starts_with("tensor_invalid: model.bin: "), found);
    CHECK_MESSAGE(found.ends_with("the scale at [1] is not a positive number"), found);
  }
  CHECK_ERROR("sinusoidal",
              "tensor_invalid: model.bin: encoder.final_norm.weight: the value at [1]",
              folder.model.at("encoder/layer_norm/gamma")
                  .data.replace(4, 4, bytes_of(std::numeric_limits<float>::infinity())));
}

TEST_CASE("ctranslate2 folders: config.json and vocabularies") {
  CHECK_ERROR("sinusoidal", "file_missing: config.json", folder.config = "");
  CHECK_ERROR("sinusoidal", "file_damaged: config.json", folder.config = "[]");
  CHECK_ERROR("sinusoidal", "unsupported: config.json: decoder_start_token",
              folder.config = R"({"decoder_start_token": null})");
  CHECK_ERROR("sinusoidal", "config_invalid: config.json: layer_norm_epsilon",
              folder.config = R"({"decoder_start_token": "<s>", "layer_norm_epsilon": "x"})");
  CHECK_ERROR("sinusoidal", "unsupported: config.json: quantization_type",
              folder.config = R"({"quantization_type": 1})");
  CHECK_ERROR("sinusoidal", "file_damaged: shared_vocabulary.json: has 2 tokens",
              folder.source = folder.target = R"(["<s>", "</s>"])");
  CHECK_ERROR("sinusoidal", "file_damaged: shared_vocabulary.json: token 1 is not a string",
              folder.source = folder.target = R"(["<s>", 2])");
  CHECK_ERROR("sinusoidal", "file_damaged: shared_vocabulary.json: does not have the token \"<z>\"",
              folder.config = R"({"decoder_start_token": "<z>"})");
  CHECK_ERROR("sinusoidal", "file_missing: shared_vocabulary.json",
              folder.source_file = folder.target_file = "");
  CHECK_ERROR("shaw-float16", "file_damaged: source_vocabulary.txt: has 31 tokens",
              folder.source += "more\n");
  CHECK_ERROR("shaw-float16", "unsupported: model.bin: user_decoder_start_tokens",
              folder.model.variables.push_back(flag("user_decoder_start_tokens", 1)));
}

TEST_CASE("ctranslate2 vocabularies: a return is part of the line's end where every line has one") {
  const auto read = [](const char* text) {
    return formats::read_ctranslate2_vocabulary({"shared_vocabulary.txt", text}).value();
  };
  using Tokens = std::vector<std::string>;
  CHECK_EQ(read("a\nb\n"), Tokens{"a", "b"});
  CHECK_EQ(read("a\nb"), Tokens{"a", "b"});
  CHECK_EQ(read("a\r\nb\r\n"), Tokens{"a", "b"});
  CHECK_EQ(read("a\r\nb\n"), Tokens{"a\r", "b"});
  CHECK_EQ(read("a\n\nb\n"), Tokens{"a", "", "b"});
  CHECK_EQ(
      formats::read_ctranslate2_vocabulary({"shared_vocabulary.json", R"(["a", "\n"])"}).value(),
      Tokens{"a", "\n"});
}
