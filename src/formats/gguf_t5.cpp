// Names and keys follow llama.cpp's gguf-py (constants.py, tensor_mapping.py) and its T5 converter.
#include <algorithm>
#include <climits>
#include <span>
#include <utility>

#include "src/formats/gguf.hpp"

namespace relata::formats {
namespace {

const std::string* find_text(const GgufHeader& header, std::string_view key) {
  const Json* value = header.find(key);
  return value != nullptr ? value->text() : nullptr;
}

/// The elements of a list; none where there is none.
std::span<const Json> find_list(const GgufHeader& header, std::string_view key) {
  const Json* value = header.find(key);
  const Json::List* items = value != nullptr ? value->items() : nullptr;
  return items != nullptr ? std::span<const Json>(*items) : std::span<const Json>();
}

/// 0 where it is no whole number of 32 bits.
int whole_of(const Json& value) {
  const std::uint64_t* whole = value.whole();
  const std::int64_t* negative = value.negative();
  return whole != nullptr && *whole <= INT_MAX         ? static_cast<int>(*whole)
         : negative != nullptr && *negative >= INT_MIN ? static_cast<int>(*negative)
                                                       : 0;
}

double number_of(const Json& value) {
  return value.whole() != nullptr      ? static_cast<double>(*value.whole())
         : value.negative() != nullptr ? static_cast<double>(*value.negative())
         : value.real() != nullptr     ? *value.real()
                                       : 0;
}

bool has_tensor(const GgufHeader& header, std::string_view name) {
  return std::any_of(header.tensors.begin(), header.tensors.end(),
                     [name](const TensorInfo& tensor) { return tensor.name == name; });
}

/// config.json's word for each key of the metadata that has one.
constexpr std::pair<std::string_view, std::string_view> kKeys[] = {
    {"t5.embedding_length", "d_model"},
    {"t5.feed_forward_length", "d_ff"},
    {"t5.block_count", "num_layers"},
    {"t5.decoder_block_count", "num_decoder_layers"},
    {"t5.attention.head_count", "num_heads"},
    {"t5.attention.key_length", "d_kv"},
    {"t5.attention.layer_norm_rms_epsilon", "layer_norm_epsilon"},
    {"t5.attention.relative_buckets_count", "relative_attention_num_buckets"},
    {"t5.decoder_start_token_id", "decoder_start_token_id"},
    {"tokenizer.ggml.eos_token_id", "eos_token_id"},
    {"tokenizer.ggml.padding_token_id", "pad_token_id"},
};

/// The part of a tensor's name after its block's number, in GGUF and in Hugging Face's T5.
struct Renaming {
  std::string_view from;
  std::string_view to;
};
constexpr Renaming kEncoderNames[] = {
    {"attn_norm", "layer.0.layer_norm"},
    {"attn_q", "layer.0.SelfAttention.q"},
    {"attn_k", "layer.0.SelfAttention.k"},
    {"attn_v", "layer.0.SelfAttention.v"},
    {"attn_o", "layer.0.SelfAttention.o"},
    {"attn_rel_b", "layer.0.SelfAttention.relative_attention_bias"},
    {"ffn_norm", "layer.1.layer_norm"},
    {"ffn_down", "layer.1.DenseReluDense.wo"},
};
constexpr Renaming kDecoderNames[] = {
    {"attn_norm", "layer.0.layer_norm"},
    {"attn_q", "layer.0.SelfAttention.q"},
    {"attn_k", "layer.0.SelfAttention.k"},
    {"attn_v", "layer.0.SelfAttention.v"},
    {"attn_o", "layer.0.SelfAttention.o"},
    {"attn_rel_b", "layer.0.SelfAttention.relative_attention_bias"},
    {"cross_attn_norm", "layer.1.layer_norm"},
    {"cross_attn_q", "layer.1.EncDecAttention.q"},
    {"cross_attn_k", "layer.1.EncDecAttention.k"},
    {"cross_attn_v", "layer.1.EncDecAttention.v"},
    {"cross_attn_o", "layer.1.EncDecAttention.o"},
    {"cross_attn_rel_b", "layer.1.EncDecAttention.relative_attention_bias"},
    {"ffn_norm", "layer.2.layer_norm"},
    {"ffn_down", "layer.2.DenseReluDense.wo"},
};
constexpr Renaming kWholeNames[] = {
    {"token_embd.weight", "shared.weight"},
    {"output.weight", "lm_head.weight"},
    {"enc.output_norm.weight", "encoder.final_layer_norm.weight"},
    {"dec.output_norm.weight", "decoder.final_layer_norm.weight"},
};

std::string rename_block(std::string_view rest, std::span<const Renaming> names,
                         std::string_view feed_forward, bool gated) {
  constexpr std::string_view kSuffix = ".weight";
  const std::size_t dot = rest.find('.');
  if (dot == std::string_view::npos || !rest.ends_with(kSuffix)) {
    return {};
  }
  const std::string_view number = rest.substr(0, dot);
  const std::string_view part = rest.substr(dot + 1, rest.size() - dot - 1 - kSuffix.size());
  std::string renamed;
  for (const Renaming& name : names) {
    if (name.from == part) {
      renamed = name.to;
    }
  }
  if (part == "ffn_gate") {
    renamed = std::string(feed_forward) + ".wi_0";
  } else if (part == "ffn_up") {
    renamed = std::string(feed_forward) + (gated ? ".wi_1" : ".wi");
  }
  if (renamed.empty()) {
    return {};
  }
  return "block." + std::string(number) + "." + renamed + std::string(kSuffix);
}

std::string rename_tensor(std::string_view name, bool gated) {
  for (const Renaming& whole : kWholeNames) {
    if (whole.from == name) {
      return std::string(whole.to);
    }
  }
  constexpr std::string_view kEncoder = "enc.blk.";
  constexpr std::string_view kDecoder = "dec.blk.";
  std::string renamed;
  if (name.starts_with(kEncoder)) {
    renamed =
        rename_block(name.substr(kEncoder.size()), kEncoderNames, "layer.1.DenseReluDense", gated);
    return renamed.empty() ? renamed : "encoder." + renamed;
  }
  if (name.starts_with(kDecoder)) {
    renamed =
        rename_block(name.substr(kDecoder.size()), kDecoderNames, "layer.2.DenseReluDense", gated);
    return renamed.empty() ? renamed : "decoder." + renamed;
  }
  return renamed;
}

}  // namespace

Result<ConfigFile> read_gguf_t5(GgufHeader& header) {
  const auto place = [](std::string_view key) {
    return std::string(kGgufFile) + ": " + std::string(key);
  };
  const auto* architecture = find_text(header, "general.architecture");
  if (architecture == nullptr) {
    return fail(ErrorCode::config_invalid, place("general.architecture"), "this key is required");
  }
  if (*architecture != "t5") {
    return fail(ErrorCode::unsupported, place("general.architecture"),
                {"models of architecture \"", architecture->substr(0, 80), "\" are not supported"});
  }
  const bool gated = has_tensor(header, "enc.blk.0.ffn_gate.weight");
  const bool table_per_layer = has_tensor(header, "enc.blk.1.attn_rel_b.weight");
  Json config;
  config["model_type"] = Json(std::string(table_per_layer ? "umt5" : "t5"));
  // The metadata name neither the activation nor the largest distance: llama.cpp's T5 knows one of
  // each.
  config["feed_forward_proj"] = Json(std::string(gated ? "gated-gelu" : "relu"));
  config["relative_attention_max_distance"] = Json(std::uint64_t{128});
  config["tie_word_embeddings"] = Json(!has_tensor(header, "output.weight"));
  for (const auto& [key, field] : kKeys) {
    const Json* value = header.find(key);
    if (value == nullptr) {
      continue;
    }
    if (const std::uint64_t* whole = value->whole()) {
      config[field] = Json(*whole);
    } else if (value->negative() != nullptr || value->real() != nullptr) {
      config[field] = Json(number_of(*value));
    }
  }
  for (TensorInfo& tensor : header.tensors) {
    if (tensor.name == "token_embd.weight" && tensor.shape.size() == 2) {
      config["vocab_size"] = Json(tensor.shape[0]);
    }
    std::string renamed = rename_tensor(tensor.name, gated);
    if (renamed.empty()) {
      return fail(ErrorCode::unsupported, place(tensor.name),
                  "no T5 model has a tensor of this name");
    }
    tensor.name = std::move(renamed);
  }
  RELATA_TRY_ASSIGN(const JsonObject object, JsonObject::top(config, kGgufFile));
  RELATA_TRY_ASSIGN(ConfigFile file, read_config(object, nullptr));
  file.json = std::move(config);
  return file;
}

Result<GgufVocabulary> read_gguf_vocabulary(const GgufHeader& header) {
  GgufVocabulary vocabulary;
  for (const Json& piece : find_list(header, "tokenizer.ggml.tokens")) {
    vocabulary.pieces.push_back(piece.text() != nullptr ? *piece.text() : "");
  }
  if (vocabulary.pieces.empty()) {
    return fail(ErrorCode::file_missing, {kGgufFile, ": tokenizer.ggml.tokens"},
                "the file has no vocabulary");
  }
  for (const Json& score : find_list(header, "tokenizer.ggml.scores")) {
    vocabulary.scores.push_back(static_cast<float>(number_of(score)));
  }
  for (const Json& type : find_list(header, "tokenizer.ggml.token_type")) {
    vocabulary.types.push_back(whole_of(type));
  }
  for (const Json& byte : find_list(header, "tokenizer.ggml.precompiled_charsmap")) {
    vocabulary.charsmap.push_back(static_cast<std::uint8_t>(whole_of(byte)));
  }
  const auto flag = [&](const char* key, bool fallback) {
    const Json* value = header.find(key);
    return value != nullptr && value->boolean() != nullptr ? *value->boolean() : fallback;
  };
  vocabulary.add_space_prefix = flag("tokenizer.ggml.add_space_prefix", true);
  vocabulary.remove_extra_whitespaces = flag("tokenizer.ggml.remove_extra_whitespaces", true);
  vocabulary.add_eos = flag("tokenizer.ggml.add_eos_token", true);
  if (vocabulary.scores.size() != vocabulary.pieces.size() ||
      vocabulary.types.size() != vocabulary.pieces.size()) {
    return fail(ErrorCode::file_damaged, {kGgufFile, ": tokenizer.ggml.scores"},
                "tokens, scores and types have to be as many");
  }
  return vocabulary;
}

}  // namespace relata::formats
