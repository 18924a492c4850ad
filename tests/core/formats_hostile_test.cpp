// Damaged folders: each case damages one named thing of a valid folder and expects one code at one
// place. Sweeps then cut and change files everywhere: whatever comes must load or fail with a
// place, which sanitizers watch.
#include <doctest/doctest.h>

#include <cmath>
#include <cstring>
#include <functional>
#include <limits>
#include <span>
#include <string>
#include <vector>

#include "tests/core/formats_folder.hpp"

using namespace relata;
using namespace relata::test;

namespace {

std::span<const std::byte> bytes_of(const std::string& text) {
  return std::as_bytes(std::span(text.data(), text.size()));
}

void check_error(const Loaded& loaded, ErrorCode code, const std::string& where) {
  CAPTURE(loaded.error.message);
  REQUIRE_FALSE(loaded.ok());
  CHECK(std::string(to_string(loaded.error.code)) == to_string(code));
  CHECK(loaded.error.where == where);
  CHECK_FALSE(loaded.error.message.empty());
}

/// A folder's files as a test damages them: one field of the config, or one entry of the header.
struct Damage {
  const char* from;
  const char* to;
  ErrorCode code;
  const char* where;
};

void check_config(const Folder& folder, const Damage& damage) {
  CAPTURE(damage.to);
  check_error(load(replaced(folder.config, damage.from, damage.to), folder.generation_config,
                   write_weights(folder.tensors)),
              damage.code, damage.where);
}

constexpr ErrorCode kConfig = ErrorCode::config_invalid;
constexpr ErrorCode kDamaged = ErrorCode::file_damaged;
constexpr ErrorCode kUnsupported = ErrorCode::unsupported;
constexpr ErrorCode kTensor = ErrorCode::tensor_invalid;

/// Two tensors, the first of two rows, in 16 + 4 bytes: small enough to change every byte in every
/// way.
WeightsFile two_tensors() {
  return write_weights({{"a", {2, 2}, {1, 2, 3, 4}}, {"b", {2}, {5, 6}, "F16"}});
}

/// The error of a header alone: the config before it is valid, the tensors after it are never
/// right.
Loaded load_header(const WeightsFile& file) { return load(relata_folder().config, "", file); }

void check_header(const WeightsFile& file, const Damage& damage) {
  CAPTURE(damage.to);
  WeightsFile damaged = file;
  damaged.header = replaced(file.header, damage.from, damage.to);
  check_error(load_header(damaged), damage.code, damage.where);
}

}  // namespace

TEST_CASE("relata configurations, one field damaged") {
  const Damage cases[] = {
      {"\"model_type\": \"relata\"", "\"model_type\": \"bert\"", kUnsupported,
       "config.json: model_type"},
      {"\"model_type\": \"relata\"", "\"model_type\": 5", kConfig, "config.json: model_type"},
      {"  \"model_type\": \"relata\",\n", "", kConfig, "config.json: model_type"},
      {"\"schema_version\": 1", "\"schema_version\": 2", kUnsupported,
       "config.json: schema_version"},
      {"\"schema_version\": 1", "\"schema_version\": \"1\"", kConfig,
       "config.json: schema_version"},
      {"\"d_model\": 4", "\"d_modle\": 4", kConfig, "config.json: d_modle"},
      {"\"d_model\": 4,", "", kConfig, "config.json: d_model"},
      {"\"d_model\": 4", "\"d_model\": 0", kConfig, "config.json: d_model"},
      {"\"d_model\": 4", "\"d_model\": -4", kConfig, "config.json: d_model"},
      {"\"d_model\": 4", "\"d_model\": 4.0", kConfig, "config.json: d_model"},
      {"\"d_model\": 4", "\"d_model\": \"4\"", kConfig, "config.json: d_model"},
      {"\"d_model\": 4", "\"d_model\": null", kConfig, "config.json: d_model"},
      {"\"d_model\": 4", "\"d_model\": true", kConfig, "config.json: d_model"},
      {"\"d_model\": 4", "\"d_model\": [4]", kConfig, "config.json: d_model"},
      {"\"d_model\": 4", "\"d_model\": 2147483647", kConfig, "config.json: d_model"},
      {"\"d_model\": 4", "\"d_model\": 4294967300", kConfig, "config.json: d_model"},
      {"\"d_model\": 4", "\"d_model\": 18446744073709551620", kConfig, "config.json: d_model"},
      {"\"d_model\": 4", "\"d_model\": -9223372036854775808", kConfig, "config.json: d_model"},
      {"\"vocab_size\": 5", "\"vocab_size\": -1", kConfig, "config.json: vocab_size"},
      {"\"num_heads\": 2", "\"num_heads\": 0", kConfig, "config.json: num_heads"},
      {"\"num_heads\": 2", "\"num_heads\": 2000000000", kConfig, "config.json: num_heads"},
      {"\"head_dim\": 3", "\"head_dim\": 1073741824", kConfig, "config.json: head_dim"},
      {"\"d_ff\": 6", "\"d_ff\": 1e1", kConfig, "config.json: d_ff"},
      {"\"num_encoder_layers\": 1", "\"num_encoder_layers\": 2000000000", kConfig,
       "config.json: num_encoder_layers"},
      {"\"num_decoder_layers\": 1", "\"num_decoder_layers\": 0", kConfig,
       "config.json: num_decoder_layers"},
      {"{\"type\": \"layer_norm\", \"position\": \"pre\", \"epsilon\": 1e-5}", "3", kConfig,
       "config.json: norm"},
      {"layer_norm", "batch_norm", kConfig, "config.json: norm.type"},
      {"\"position\": \"pre\"", "\"position\": \"middle\"", kConfig, "config.json: norm.position"},
      {"\"epsilon\"", "\"eps\"", kConfig, "config.json: norm.eps"},
      {"1e-5", "0", kConfig, "config.json: norm.epsilon"},
      {"1e-5", "-1e-5", kConfig, "config.json: norm.epsilon"},
      {"1e-5", "1e300", kConfig, "config.json: norm.epsilon"},
      {"1e-5", "\"small\"", kConfig, "config.json: norm.epsilon"},
      {"\"activation\": \"relu\"", "\"activation\": \"rleu\"", kConfig, "config.json: activation"},
      {"\"gated\": false", "\"gated\": 0", kConfig, "config.json: gated"},
      {"\"attention_bias\": true", "\"attention_bias\": null", kConfig,
       "config.json: attention_bias"},
      {"\"feed_forward_bias\": true,", "", kConfig, "config.json: feed_forward_bias"},
      {"\"scale_attention\": true", "\"scale_attention\": 1.0", kConfig,
       "config.json: scale_attention"},
      {"\"tie_word_embeddings\": false", "\"tie_word_embeddings\": []", kConfig,
       "config.json: tie_word_embeddings"},
      {"{\"type\": \"none\"}", "{\"type\": \"learned\"}", kConfig, "config.json: positions.type"},
      {"{\"type\": \"none\"}", "{\"type\": \"none\", \"divisor\": 2}", kConfig,
       "config.json: positions.divisor"},
      {"{\"type\": \"none\"}", "{\"type\": \"sinusoidal\"}", kConfig,
       "config.json: positions.layout"},
      {"{\"type\": \"none\"}",
       R"({"type": "sinusoidal", "layout": "halves", "first_position": -1})", kConfig,
       "config.json: positions.first_position"},
      {"{\"type\": \"none\"}", R"({"type": "sinusoidal", "layout": "halves", "divisor": 0})",
       kConfig, "config.json: positions.divisor"},
      {"\"encoder_self\"", "\"encoder\"", kConfig, "config.json: relation.encoder"},
      {"\"clipped_distance\"", "\"clipped_distnace\"", kConfig,
       "config.json: relation.encoder_self.index.type"},
      {"\"clipped_distance\"", "7", kConfig, "config.json: relation.encoder_self.index.type"},
      {"\"left\": 1, ", "", kConfig, "config.json: relation.encoder_self.index.left"},
      {"\"left\": 1", "\"left\": -1", kConfig, "config.json: relation.encoder_self.index.left"},
      {"\"right\": 2", "\"right\": 2000000000", kConfig, "config.json: relation.index.left/right"},
      {"\"right\": 2", "\"rihgt\": 2", kConfig, "config.json: relation.encoder_self.index.rihgt"},
      {"\"type\": \"vectors\"", "\"type\": \"vector\"", kConfig,
       "config.json: relation.encoder_self.effect.type"},
      {"\"keys\": true, \"values\": true", "\"keys\": false, \"values\": false", kConfig,
       "config.json: relation.encoder_self.effect.keys"},
      {"\"keys\": true", "\"keys\": true, \"per_haed\": true", kConfig,
       "config.json: relation.encoder_self.effect.per_haed"},
      {"\"num_buckets\": 8", "\"num_buckets\": 1", kConfig,
       "config.json: relation.index.num_buckets"},
      {"\"num_buckets\": 8", "\"num_buckets\": 8.5", kConfig,
       "config.json: relation.decoder_self.index.num_buckets"},
      {"\"max_distance\": 16", "\"max_distance\": 1", kConfig,
       "config.json: relation.index.max_distance"},
      {"\"max_distance\": 16", "\"max_distance\": 2000000000", kConfig,
       "config.json: relation.index.max_distance"},
      {", \"bidirectional\": false", "", kConfig,
       "config.json: relation.decoder_self.index.bidirectional"},
      {"{\"type\": \"bias\"}", "{\"type\": \"bias\", \"keys\": true}", kConfig,
       "config.json: relation.decoder_self.effect.keys"},
      {"{\"type\": \"bias\"}", "{\"type\": \"none\"}", kConfig,
       "config.json: relation.decoder_self.effect.type"},
      {"{\"type\": \"bias\"}", "{\"type\": \"fixed_slope\"}", kConfig,
       "config.json: relation.decoder_self.effect.type"},
      {"{\"type\": \"clipped_distance\", \"left\": 1, \"right\": 2}", "{\"type\": \"none\"}",
       kConfig, "config.json: relation.encoder_self.effect.type"},
      {"{\"type\": \"clipped_distance\", \"left\": 1, \"right\": 2}", "{\"type\": \"distance\"}",
       kConfig, "config.json: relation.encoder_self.effect.type"},
      {R"({"type": "bucketed_distance", "num_buckets": 8, "max_distance": 16, "bidirectional": false})",
       R"({"type": "labels", "num_labels": 8})", kConfig,
       "config.json: relation.decoder_self.index.type"},
      {"\"pad_token_id\": 0", "\"pad_token_id\": 5", kConfig, "config.json: pad_token_id"},
      {"\"pad_token_id\": 0,", "", kConfig, "config.json: pad_token_id"},
      {"\"bos_token_id\": null", "\"bos_token_id\": -1", kConfig, "config.json: bos_token_id"},
      {"\"unk_token_id\": 3", "\"unk_token_id\": 3.5", kConfig, "config.json: unk_token_id"},
      {"\"eos_token_id\": 2", "\"eos_token_id\": null", kConfig, "config.json: eos_token_id"},
      {"\"eos_token_id\": 2", "\"eos_token_id\": []", kConfig, "config.json: eos_token_id"},
      {"\"eos_token_id\": 2", "\"eos_token_id\": [2, 5]", kConfig, "config.json: eos_token_id"},
      {"\"eos_token_id\": 2", "\"eos_token_id\": [2, [1]]", kConfig, "config.json: eos_token_id"},
      {"\"decoder_start_token_id\": 1", "\"decoder_start_token_id\": null", kConfig,
       "config.json: decoder_start_token_id"},
      {"\"decoder_start_token_id\": 1", "\"decoder_start_token_id\": 5", kConfig,
       "config.json: decoder_start_token_id"},
      {"\"vocab_size\": 5", "\"vocab_size\": 5, \"vocab_size\": 6", kDamaged, "config.json"},
      {"\"vocab_size\": 5", "\"vocab_size\": NaN", kDamaged, "config.json: byte 67"},
      {"\"vocab_size\": 5", "\"vocab_size\": 05", kDamaged, "config.json: byte 69"},
      {"\"gated\": false", "\"gated\": 1e999", kDamaged, "config.json: byte 298"},
  };
  const Folder folder = relata_folder();
  for (const Damage& damage : cases) {
    check_config(folder, damage);
  }
}

TEST_CASE("a sinusoid needs an even width") {
  Folder folder = relata_folder();
  folder.config = replaced(folder.config, "{\"type\": \"none\"}",
                           R"({"type": "sinusoidal", "layout": "halves"})");
  check_config(folder, {"\"d_model\": 4", "\"d_model\": 5", kConfig, "config.json: d_model"});
}

TEST_CASE("an unknown field or word is answered with the nearest known one") {
  const Folder folder = relata_folder();
  const auto message = [&](const std::string& from, const std::string& to) {
    return load(replaced(folder.config, from, to), "", write_weights(folder.tensors)).error.message;
  };
  CHECK(message("\"d_model\": 4", "\"d_modle\": 4").find("\"d_model\"") != std::string::npos);
  CHECK(
      message("\"activation\": \"relu\"", "\"activation\": \"gelu_tahn\"").find("\"gelu_tanh\"") !=
      std::string::npos);
}

TEST_CASE("T5 configurations, one field damaged") {
  const Damage cases[] = {
      {"\"d_kv\": 3,", "", kConfig, "config.json: d_kv"},
      {"\"d_kv\": 3", "\"d_kv\": -3", kConfig, "config.json: d_kv"},
      {"\"d_kv\": 3", "\"d_kv\": 1073741824", kConfig, "config.json: d_kv"},
      {"\"num_layers\": 2", "\"num_layers\": 100000", kConfig, "config.json: num_layers"},
      {"\"num_decoder_layers\": 1", "\"num_decoder_layers\": \"1\"", kConfig,
       "config.json: num_decoder_layers"},
      {"\"relative_attention_num_buckets\": 8", "\"relative_attention_num_buckets\": 3", kConfig,
       "config.json: relative_attention_num_buckets"},
      {"\"relative_attention_max_distance\": 16", "\"relative_attention_max_distance\": 2", kConfig,
       "config.json: relative_attention_max_distance"},
      {"\"feed_forward_proj\": \"relu\"", "\"feed_forward_proj\": \"gated-gelu\"", kConfig,
       "config.json: dense_act_fn"},
      {"\"is_gated_act\": false", "\"is_gated_act\": true", kConfig, "config.json: is_gated_act"},
      {"  \"dense_act_fn\": \"relu\",\n  \"dropout_rate\": 0.1,\n  \"dtype\": \"float32\",\n  "
       "\"eos_token_id\": 1,\n"
       "  \"feed_forward_proj\": \"relu\"",
       "  \"eos_token_id\": 1,\n  \"feed_forward_proj\": \"mish\"", kUnsupported,
       "config.json: feed_forward_proj"},
      {"\"is_encoder_decoder\": true", "\"is_encoder_decoder\": false", kUnsupported,
       "config.json: is_encoder_decoder"},
      {"\"is_decoder\": false", "\"is_decoder\": true", kUnsupported, "config.json: is_decoder"},
      {"\"use_cache\": true", "\"tie_encoder_decoder\": true", kUnsupported,
       "config.json: tie_encoder_decoder"},
      {"\"use_cache\": true", "\"quantization_config\": {}", kConfig,
       "config.json: quantization_config.quant_method"},
      {"\"use_cache\": true", "\"pruned_heads\": {\"0\": [1]}", kUnsupported,
       "config.json: pruned_heads"},
      {"\"tie_word_embeddings\": true", "\"tie_word_embeddings\": \"yes\"", kConfig,
       "config.json: tie_word_embeddings"},
      {"1e-06", "[]", kConfig, "config.json: layer_norm_epsilon"},
      {"\"model_type\": \"t5\"", "\"model_type\": \"longt5\"", kUnsupported,
       "config.json: model_type"},
  };
  const Folder folder = t5_folder();
  for (const Damage& damage : cases) {
    check_config(folder, damage);
  }
}

TEST_CASE("generation configurations, damaged") {
  const auto with = [](Folder folder, const std::string& generation) {
    folder.generation_config = generation;
    return load(folder);
  };
  const Folder t5 = t5_folder();
  const std::string file = "generation_config.json";
  check_error(with(t5, "{\"eos_token_id\": 1.0}"), kConfig, file + ": eos_token_id");
  check_error(with(t5, "{\"eos_token_id\": -1}"), kConfig, file + ": eos_token_id");
  check_error(with(t5, "{\"pad_token_id\": 5}"), kConfig, file + ": pad_token_id");
  check_error(with(t5, "{\"decoder_start_token_id\": \"0\"}"), kConfig,
              file + ": decoder_start_token_id");
  check_error(with(t5, "{\"max_new_tokens\": 0}"), kConfig, file + ": max_new_tokens");
  check_error(with(t5, "{\"max_new_tokens\": 2000000000}"), kConfig, file + ": max_new_tokens");
  check_error(with(t5, "[]"), kDamaged, file);
  check_error(with(t5, "{"), kDamaged, file + ": byte 1");
  check_error(with(relata_folder(), "{\"max_new_token\": 5}"), kConfig, file + ": max_new_token");
}

TEST_CASE("missing files") {
  Folder folder = relata_folder();
  const WeightsFile weights = write_weights(folder.tensors);
  check_error(load("", "", weights), ErrorCode::file_missing, "config.json");
  const auto opened = ModelLoader::open({folder.config, "", {}, 0});
  REQUIRE_FALSE(opened.ok());
  CHECK(opened.error().code == ErrorCode::file_missing);
  CHECK(opened.error().where == "model.safetensors");
}

TEST_CASE("files beyond the limits") {
  const Folder folder = relata_folder();
  const WeightsFile weights = write_weights(folder.tensors);
  const std::string padding(std::size_t{1} << 20, ' ');
  check_error(load(folder.config + padding, "", weights), kDamaged, "config.json");
  // Nesting is legal JSON at any depth; a parser that recursed would overflow.
  const std::string deep(500'000, '[');
  check_error(load(deep, "", weights), kDamaged, "config.json");
  check_error(load(replaced(folder.config, "\"gated\": false",
                            "\"gated\": " + std::string(14, '[') + std::string(14, ']')),
                   "", weights),
              kConfig, "config.json: gated");
  check_error(load(replaced(folder.config, "\"gated\": false",
                            "\"gated\": " + std::string(16, '[') + std::string(16, ']')),
                   "", weights),
              kDamaged, "config.json");
  WeightsFile nested = weights;
  nested.header = "{\"a\":" + deep;
  check_error(load_header(nested), kDamaged, "model.safetensors: header");

  WeightsFile many;
  many.header = "{";
  for (int i = 0; i < 16385; ++i) {
    many.header += (i == 0 ? "\"" : ",\"") + std::to_string(i) +
                   R"(":{"dtype":"F32","shape":[0],"data_offsets":[0,0]})";
  }
  many.header += "}";
  check_error(load_header(many), kDamaged, "model.safetensors: header");
}

TEST_CASE("the length of the header") {
  const auto size_of = [](std::uint64_t length, std::size_t prefix_bytes, std::uint64_t file_size) {
    std::string prefix(8, '\0');
    std::memcpy(prefix.data(), &length, 8);
    const std::vector<char> exact(prefix.begin(),
                                  prefix.begin() + static_cast<std::ptrdiff_t>(prefix_bytes));
    return safetensors_header_size(std::as_bytes(std::span(exact)), file_size);
  };
  REQUIRE(size_of(100, 8, 108).ok());
  CHECK(size_of(100, 8, 108).value() == 108);
  CHECK(size_of(100, 8, std::numeric_limits<std::uint64_t>::max()).ok());
  CHECK(size_of(0x0102, 8, 1000).value() == 8 + 0x0102);  // little-endian
  for (const std::size_t bytes : {0, 1, 7}) {
    CHECK(size_of(100, bytes, 108).error().code == kDamaged);
  }
  CHECK(size_of(100, 8, 107).error().code == kDamaged);
  CHECK(size_of(0, 8, 7).error().code == kDamaged);
  CHECK(size_of(std::uint64_t{1} << 24, 8, std::uint64_t{1} << 40).error().code == kDamaged);
  // Sums with these wrap to something small.
  for (const std::uint64_t length :
       {UINT64_MAX, UINT64_MAX - 7, std::uint64_t{1} << 63, std::uint64_t{1} << 32}) {
    CHECK(size_of(length, 8, 108).error().code == kDamaged);
    CHECK(size_of(length, 8, UINT64_MAX).error().code == kDamaged);
  }
}

TEST_CASE("headers of safetensors files, one entry damaged") {
  const std::string b = "model.safetensors: b";
  const Damage cases[] = {
      {"\"F16\"", "\"F17\"", kUnsupported, b.c_str()},
      {"\"F16\"", "16", kDamaged, b.c_str()},
      {"\"F16\"", "\"F32\"", kDamaged, b.c_str()},
      {"\"F16\"", "\"F4\"", kDamaged, b.c_str()},
      {"\"shape\":[2],", "", kDamaged, b.c_str()},
      {"\"shape\":[2],", "\"shape\":[2],\"stride\":[1],", kDamaged, b.c_str()},
      {"\"shape\":[2],", "\"shap\":[2],", kDamaged, b.c_str()},
      {"\"shape\":[2],", "\"shape\":2,", kDamaged, b.c_str()},
      {"\"shape\":[2],", "\"shape\":[2.0],", kDamaged, b.c_str()},
      {"\"shape\":[2],", "\"shape\":[\"2\"],", kDamaged, b.c_str()},
      {"\"shape\":[2],", "\"shape\":[-2],", kDamaged, b.c_str()},
      {"\"shape\":[2],", "\"shape\":[-1,-2],", kDamaged, b.c_str()},
      {"\"shape\":[2],", "\"shape\":[3],", kDamaged, b.c_str()},
      {"\"shape\":[2],", "\"shape\":[],", kDamaged, b.c_str()},
      {"\"shape\":[2],", "\"shape\":[2,0],", kDamaged, b.c_str()},
      {"\"shape\":[2],", "\"shape\":[1,1,1,1,1,1,1,1,2],", kDamaged, b.c_str()},
      // 2^63 * 4 and 2^32 * 2^32 * 2: both wrap, the first to 0, the second with sums of 32 or 64
      // bits.
      {"\"shape\":[2],", "\"shape\":[9223372036854775808,4],", kDamaged, b.c_str()},
      {"\"shape\":[2],", "\"shape\":[4294967296,4294967296,2],", kDamaged, b.c_str()},
      {"\"shape\":[2],", "\"shape\":[2147483650],", kDamaged,
       b.c_str()},  // 2^31 + 2: right in 32-bit bytes
      {"\"shape\":[2],", "\"shape\":[18446744073709551618],", kDamaged, b.c_str()},
      {"[16,20]", "[16]", kDamaged, b.c_str()},
      {"[16,20]", "[16,20,24]", kDamaged, b.c_str()},
      {"[16,20]", "[20,16]", kDamaged, b.c_str()},
      {"[16,20]", "[16,20.0]", kDamaged, b.c_str()},
      {"[16,20]", "[-4,0]", kDamaged, b.c_str()},
      {"[16,20]", "[12,16]", kDamaged, b.c_str()},             // overlaps a
      {"[16,20]", "[0,4]", kDamaged, "model.safetensors: a"},  // overlaps a from its start
      {"[16,20]", "[17,21]", kDamaged, b.c_str()},             // a hole, and past the end
      {"[16,20]", "[18446744073709551612,18446744073709551616]", kDamaged, b.c_str()},
      {"[16,20]", "[18446744073709551611,18446744073709551615]", kDamaged, b.c_str()},
      {"[16,20]", "[4294967312,4294967316]", kDamaged, b.c_str()},  // right in 32 bits
      {"\"b\":", "\"a\":", kDamaged, "model.safetensors: header"},
      {"\"b\":{", "\"b\":[{", kDamaged, "model.safetensors: header: byte 143"},
      {"\"shape\":[2],", "\"shape\":[2],\"shape\":[2],", kDamaged, "model.safetensors: header"},
      {"{\"format\":\"pt\"}", "{\"format\":1}", kDamaged, "model.safetensors: __metadata__"},
      {"{\"format\":\"pt\"}", "[]", kDamaged, "model.safetensors: __metadata__"},
      {"{\"__meta", " {\"__meta", kDamaged, "model.safetensors: header"},
  };
  for (const Damage& damage : cases) {
    check_header(two_tensors(), damage);
  }

  WeightsFile file = two_tensors();
  file.header = "[]";
  check_error(load_header(file), kDamaged, "model.safetensors: header");
  file = two_tensors();
  file.header = replaced(
      file.header, "\"b\":{\"dtype\":\"F16\",\"shape\":[2],\"data_offsets\":[16,20]}", "\"b\":[]");
  check_error(load_header(file), kDamaged, b);
  file = two_tensors();
  file.data += "x";
  check_error(load_header(file), kDamaged,
              "model.safetensors: byte " + std::to_string(file.size() - 1));
  file.data.resize(19);
  check_error(load_header(file), kDamaged, b);
  file = two_tensors();
  file.header += "   ";  // the format pads with spaces
  check_error(load_header(file), ErrorCode::tensor_missing, "model.safetensors: embedding.weight");
}

TEST_CASE("tensors against the configuration") {
  Folder folder = relata_folder();
  const std::string name = "encoder.layers.0.self_attention.query.weight";
  const std::string where = "model.safetensors: " + name;

  SUBCASE("missing, whichever it is") {
    for (const FileTensor& tensor : folder.tensors) {
      Folder without = folder;
      without.remove(tensor.name);
      check_error(load(without), ErrorCode::tensor_missing, "model.safetensors: " + tensor.name);
    }
  }
  SUBCASE("transposed, whichever it is") {
    for (const FileTensor& tensor : folder.tensors) {
      Folder turned = folder;
      auto& shape = turned.tensor(tensor.name).shape;
      shape = {shape.back(), shape.size() == 1 ? 1 : shape.front()};
      check_error(load(turned), kTensor, "model.safetensors: " + tensor.name);
    }
  }
  SUBCASE("too large") {
    FileTensor& tensor = folder.tensor(name);
    tensor.shape[0] += 1;
    tensor.values.resize(28);
    check_error(load(folder), kTensor, where);
  }
  SUBCASE("of another type") {
    WeightsFile file = write_weights(folder.tensors);
    file.header = replaced(file.header, "\"" + name + "\":{\"dtype\":\"F32\"",
                           "\"" + name + "\":{\"dtype\":\"I32\"");
    check_error(load(folder.config, "", file), kTensor, where);
  }
  SUBCASE("one too many") {
    folder.tensors.push_back({"encoder.layers.1.self_attention_norm.weight", {4}, {0, 0, 0, 0}});
    check_error(load(folder), kTensor,
                "model.safetensors: encoder.layers.1.self_attention_norm.weight");
  }
  SUBCASE("one too many of a T5") {
    folder = t5_folder();
    folder.tensors.push_back({"classifier.weight", {4}, {0, 0, 0, 0}});
    check_error(load(folder), kTensor, "model.safetensors: classifier.weight");
  }
  SUBCASE("missing from a T5, whichever it is") {
    folder = t5_folder();
    for (const FileTensor& tensor : folder.tensors) {
      Folder without = folder;
      without.remove(tensor.name);
      check_error(load(without), ErrorCode::tensor_missing, "model.safetensors: " + tensor.name);
    }
  }
}

TEST_CASE("weights that are not finite") {
  const float infinity = std::numeric_limits<float>::infinity();
  for (const std::string dtype : {"F32", "F16", "BF16"}) {
    for (const float value : {infinity, -infinity, std::nanf("")}) {
      Folder folder = relata_folder();
      for (FileTensor& tensor : folder.tensors) {
        tensor.dtype = dtype;
      }
      WeightsFile file = write_weights(folder.tensors);
      const bool wide = dtype == "F32";
      // The upper half of the value is the same in bf16; f16 has fewer exponent bits.
      std::uint32_t bits = 0;
      std::memcpy(&bits, &value, 4);
      if (!wide) {
        bits =
            dtype == "BF16" ? bits >> 16 : (bits >> 16 & 0x8000U) | 0x7C00U | (bits >> 13 & 0x3FFU);
      }
      const std::size_t width = wide ? 4 : 2;
      WeightsFile matrix = file;
      std::memcpy(matrix.data.data() + 6 * width, &bits,
                  width);  // embedding.weight is first, [5, 4]
      const Loaded loaded = load(folder.config, "", matrix);
      check_error(loaded, kTensor, "model.safetensors: embedding.weight");
      CHECK(loaded.error.message.find("[1, 2]") != std::string::npos);
      std::memcpy(file.data.data() + (40 + 24 + 3) * width, &bits,
                  width);  // after lm_head and query.weight
      const Loaded vector = load(folder.config, "", file);
      check_error(vector, kTensor, "model.safetensors: encoder.layers.0.self_attention.query.bias");
      CHECK(vector.error.message.find("[3]") != std::string::npos);
    }
  }
}

TEST_CASE("a model larger than memory") {
  // The header promises 2^22 rows of 2^17 values, and the caller says that the file is as long: 2
  // TiB.
  Folder folder = relata_folder();
  folder.config = replaced(folder.config, "\"vocab_size\": 5", "\"vocab_size\": 4194304");
  folder.config = replaced(folder.config, "\"d_model\": 4", "\"d_model\": 131072");
  std::string header;
  std::uint64_t end = 0;
  for (const FileTensor& tensor : folder.tensors) {
    std::string shape;
    std::uint64_t bytes = 4;
    for (std::uint64_t size : tensor.shape) {
      size = size == 5 ? 4194304
             : size == 4 && !tensor.name.ends_with("relation_keys") &&
                     !tensor.name.ends_with("relation_values")
                 ? 131072
                 : size;
      shape += (shape.empty() ? "" : ",") + std::to_string(size);
      bytes *= size;
    }
    header += (header.empty() ? "{\"" : ",\"") + tensor.name + R"(":{"dtype":"F32","shape":[)" +
              shape + "],\"data_offsets\":[" + std::to_string(end) + "," +
              std::to_string(end + bytes) + "]}";
    end += bytes;
  }
  WeightsFile file;
  file.header = header + "}";
  const std::string head = file.head();
  const auto opened = ModelLoader::open({folder.config, "", bytes_of(head), head.size() + end});
  REQUIRE_FALSE(opened.ok());
  CHECK(opened.error().code == ErrorCode::out_of_memory);
  CHECK(opened.error().where == "model.safetensors: embedding.weight");
}

TEST_CASE("a loader used out of turn") {
  const Folder folder = relata_folder();
  const WeightsFile file = write_weights(folder.tensors);
  const std::string head = file.head();
  auto opened = ModelLoader::open({folder.config, "", bytes_of(head), file.size()});
  REQUIRE(opened.ok());
  ModelLoader loader = std::move(opened.value());
  CHECK(loader.finish().error().code == kDamaged);
  CHECK(loader.finish().error().where == "model.safetensors: embedding.weight");
  const std::string bytes = file.data.substr(0, 80);
  for (const std::size_t count : {0, 79}) {
    CHECK(loader.accept(bytes_of(bytes.substr(0, count))).error().code == kDamaged);
  }
  CHECK(loader.accept(bytes_of(bytes + "x")).error().code == kDamaged);
  // What was refused is still awaited.
  REQUIRE(loader.next() != nullptr);
  CHECK(loader.next()->name == "embedding.weight");
  while (const TensorInfo* tensor = loader.next()) {
    REQUIRE(loader.accept(std::vector<std::byte>(static_cast<std::size_t>(tensor->bytes))).ok());
  }
  CHECK(loader.accept(bytes_of(bytes)).error().code == kDamaged);
  CHECK(loader.finish().ok());
  CHECK(loader.finish().error().code == ErrorCode::option_invalid);
}

TEST_CASE("files cut at every length") {
  const Folder folder = relata_folder();
  const WeightsFile weights = write_weights(folder.tensors);
  for (std::size_t length = 0; length < folder.config.size(); ++length) {
    const std::string cut = folder.config.substr(0, length);
    const std::vector<char> exact(cut.begin(), cut.end());
    const Loaded loaded = load(std::string(exact.begin(), exact.end()), "", weights);
    CHECK(loaded.error.code == (length == 0 ? ErrorCode::file_missing : kDamaged));
    CHECK(loaded.error.where.starts_with("config.json"));
  }

  const std::string head = weights.head();
  for (std::size_t length = 0; length < head.size(); ++length) {
    // The file ends here, or only the caller's copy of the header does.
    const std::vector<char> exact(head.begin(), head.begin() + static_cast<std::ptrdiff_t>(length));
    for (const std::uint64_t file_size : {static_cast<std::uint64_t>(length), weights.size()}) {
      const auto opened =
          ModelLoader::open({folder.config, "", std::as_bytes(std::span(exact)), file_size});
      REQUIRE_FALSE(opened.ok());
      CHECK(opened.error().code == (length == 0 ? ErrorCode::file_missing : kDamaged));
    }
  }
  // Whole headers, files too short or too long. The small file would otherwise lack a tensor.
  const WeightsFile small = two_tensors();
  const std::string small_head = small.head();
  for (std::uint64_t file_size = 0; file_size < small.size() + 100; ++file_size) {
    const auto opened = ModelLoader::open({folder.config, "", bytes_of(small_head), file_size});
    REQUIRE_FALSE(opened.ok());
    CHECK(opened.error().code ==
          (file_size == small.size() ? ErrorCode::tensor_missing : kDamaged));
  }
  for (const std::uint64_t file_size : {weights.size() - 1, weights.size() + 1}) {
    const auto opened = ModelLoader::open({folder.config, "", bytes_of(head), file_size});
    CHECK(opened.error().code == kDamaged);
  }
}

TEST_CASE("every change of one byte of a small header") {
  // The two tensors are never a model: nothing may be accepted, and every error names the file.
  const WeightsFile file = two_tensors();
  const std::string config =
      R"({"model_type": "t5", "vocab_size": 5, "d_model": 4, "d_kv": 3, "num_heads": 2, "d_ff": 6,
          "num_layers": 1, "relative_attention_num_buckets": 8, "relative_attention_max_distance": 9,
          "decoder_start_token_id": 0, "eos_token_id": 1})";
  std::string head = file.head();
  std::size_t failures = 0;
  std::size_t unnamed = 0;
  for (char& byte : head) {
    const char original = byte;
    for (int value = 0; value < 256; ++value) {
      byte = static_cast<char>(value);
      const auto opened = ModelLoader::open({config, "", bytes_of(head), file.size()});
      failures += opened.ok() ? 0 : 1;
      unnamed += opened.ok() || !opened.error().where.starts_with("model.safetensors") ? 1 : 0;
    }
    byte = original;
  }
  CHECK(failures == head.size() * 256);
  CHECK(unnamed == 0);
}

TEST_CASE("bytes changed one by one in a whole folder") {
  // Some changes are harmless (a digit of epsilon, a letter of the metadata): those have to load
  // whole.
  const Folder folder = t5_folder();
  const WeightsFile weights = write_weights(folder.tensors);
  std::size_t loaded_count = 0;
  std::size_t failed_count = 0;
  const auto count = [&](const Loaded& loaded) {
    if (loaded.ok()) {
      ++loaded_count;
      return;
    }
    ++failed_count;
    const bool placed = loaded.error.where.starts_with("model.safetensors") ||
                        loaded.error.where.starts_with("config.json") ||
                        loaded.error.where.starts_with("generation_config.json");
    CHECK(placed);
    CHECK_FALSE(loaded.error.message.empty());
  };
  for (const int flip : {0x01, 0x10}) {
    for (std::size_t i = 0; i < weights.header.size(); ++i) {
      WeightsFile changed = weights;
      changed.header[i] = static_cast<char>(changed.header[i] ^ flip);
      count(load(folder.config, folder.generation_config, changed));
    }
    for (std::size_t i = 0; i < folder.config.size(); ++i) {
      std::string changed = folder.config;
      changed[i] = static_cast<char>(changed[i] ^ flip);
      count(load(changed, folder.generation_config, weights));
    }
    for (std::size_t i = 0; i < folder.generation_config.size(); ++i) {
      std::string changed = folder.generation_config;
      changed[i] = static_cast<char>(changed[i] ^ flip);
      count(load(folder.config, changed, weights));
    }
  }
  CHECK(loaded_count > 100);
  CHECK(failed_count > 5000);
}
