// Marian's translation models (OPUS-MT) as transformers 5 saves and reads them:
// configuration_marian.py and modeling_marian.py. Post-norm, sinusoids counted from zero with all
// sines before all cosines, a bias on the logits. Fields that change nothing here are passed over.
#include <climits>
#include <cmath>

#include "src/formats/config_file.hpp"

namespace relata::formats {
namespace {

using kernels::Activation;

constexpr TensorNames kNames = {
    .embedding = "model.shared.weight",
    .decoder_embedding = "model.decoder.embed_tokens.weight",
    .lm_head = "lm_head.weight",
    .logits_bias = "final_logits_bias",
    .positions = "",
    .decoder_positions = "",
    .stacks = "model",
    .layers = "layers",
    .self_attention = "self_attn",
    .self_attention_norm = "self_attn_layer_norm",
    .cross_attention = "encoder_attn",
    .cross_attention_norm = "encoder_attn_layer_norm",
    .feed_forward = {"", ""},
    .feed_forward_norm = {"final_layer_norm", "final_layer_norm"},
    .query = "q_proj",
    .key = "k_proj",
    .value = "v_proj",
    .output = "out_proj",
    .hidden_input = "fc1",
    .hidden_gate = "",
    .hidden_output = "fc2",
    .final_norm = "",
    .shared_relation = "",
    .relation_keys = "",
    .relation_values = "",
    .relation_bias = "",
    .logits_bias_in_row = true,
};

Handed unsupported(const JsonObject& file, std::string_view key, const Words& what) {
  return fail(ErrorCode::unsupported, file.place(key), {what, " are not supported"});
}

Result<Activation> read_activation(const JsonObject& file) {
  constexpr std::string_view kField = "activation_function";
  constexpr std::pair<std::string_view, Activation> kActivations[] = {
      {"relu", Activation::relu},          {"gelu", Activation::gelu},
      {"gelu_new", Activation::gelu_tanh}, {"gelu_pytorch_tanh", Activation::gelu_tanh},
      {"silu", Activation::silu},          {"swish", Activation::silu},
  };
  RELATA_TRY_ASSIGN(const std::string name, file.text(kField));
  for (const auto& [word, activation] : kActivations) {
    if (word == name) {
      return activation;
    }
  }
  return unsupported(file, kField, {"activations \"", name.substr(0, 80), "\""});
}

/// A size that each stack has of its own in the file, and both share here.
Result<int> read_common(const JsonObject& file, const std::string& key) {
  RELATA_TRY_ASSIGN(const int encoder, file.integer("encoder_" + key, 1, INT_MAX));
  RELATA_TRY_ASSIGN(const int decoder, file.integer("decoder_" + key, 1, INT_MAX));
  if (encoder != decoder) {
    return unsupported(file, "decoder_" + key, "stacks of different sizes");
  }
  return encoder;
}

}  // namespace

std::string_view marian_field(std::string_view field) {
  constexpr std::pair<std::string_view, std::string_view> kFields[] = {
      {"num_heads", "encoder_attention_heads"}, {"d_ff", "encoder_ffn_dim"},
      {"num_encoder_layers", "encoder_layers"}, {"num_decoder_layers", "decoder_layers"},
      {"source_vocab_size", "vocab_size"},
  };
  for (const auto& [ours, theirs] : kFields) {
    if (ours == field) {
      return theirs;
    }
  }
  return field;
}

Result<ConfigFile> read_marian(const JsonObject& file, const JsonObject* generation) {
  ConfigFile result;
  Config& config = result.config;
  RELATA_TRY_ASSIGN(const int source_vocab_size, file.integer("vocab_size", 1, INT_MAX));
  RELATA_TRY_ASSIGN(config.vocab_size,
                    file.integer_or("decoder_vocab_size", 1, INT_MAX, source_vocab_size));
  RELATA_TRY_ASSIGN(const bool shared, file.boolean_or("share_encoder_decoder_embeddings", true));
  if (shared && config.vocab_size != source_vocab_size) {
    return file.invalid("decoder_vocab_size", "a shared embedding has one size");
  }
  config.source_vocab_size = shared ? 0 : source_vocab_size;
  RELATA_TRY_ASSIGN(config.d_model, file.integer("d_model", 1, INT_MAX));
  RELATA_TRY_ASSIGN(config.num_heads, read_common(file, "attention_heads"));
  RELATA_TRY_ASSIGN(config.d_ff, read_common(file, "ffn_dim"));
  RELATA_TRY_ASSIGN(config.num_encoder_layers, file.integer("encoder_layers", 1, INT_MAX));
  RELATA_TRY_ASSIGN(config.num_decoder_layers, file.integer("decoder_layers", 1, INT_MAX));
  config.head_dim = config.d_model / config.num_heads;
  if (config.head_dim * config.num_heads != config.d_model) {
    return file.invalid("d_model", "must be a multiple of encoder_attention_heads");
  }

  config.norm = NormKind::layer_norm;
  config.norm_position = NormPosition::post;
  config.norm_epsilon = 1e-5F;  // of torch.nn.LayerNorm; the file has no field for it
  RELATA_TRY_ASSIGN(config.activation, read_activation(file));
  config.attention_scale = static_cast<float>(1 / std::sqrt(double{1} * config.head_dim));
  RELATA_TRY_ASSIGN(const bool scaled, file.boolean_or("scale_embedding", false));
  config.embedding_scale = scaled ? static_cast<float>(std::sqrt(double{1} * config.d_model)) : 1;
  config.logits_bias = true;
  config.positions.kind = PositionKind::sinusoidal;
  config.positions.interleaved = false;
  config.positions.divisor = static_cast<float>(config.d_model) / 2;

  result.names = kNames;
  RELATA_TRY_ASSIGN(result.tied, file.boolean_or("tie_word_embeddings", true));
  // Older files hold the sinusoids, which are worked out here.
  result.ignored = {"model.encoder.embed_positions.weight", "model.decoder.embed_positions.weight"};
  if (shared) {
    result.embedding_copies = {"model.encoder.embed_tokens.weight",
                               "model.decoder.embed_tokens.weight"};
    if (result.tied) {
      result.embedding_copies.push_back(kNames.lm_head);
    }
  } else {
    result.names.embedding = "model.encoder.embed_tokens.weight";
    if (result.tied) {
      result.ignored.push_back(kNames.lm_head);
    }
  }
  RELATA_TRY(read_generation(file, generation, false, config));
  return result;
}

}  // namespace relata::formats
