// The T5 family as transformers 5 saves and reads it: configuration_t5.py, configuration_mt5.py,
// configuration_umt5.py and the modeling files beside them. Fields that change nothing here are
// passed over; a field that asks for arithmetic this engine does not have is refused. Sizes are
// required; where the reference has a default for a field that older saved files lack, it is used
// here too.
#include <climits>
#include <cmath>

#include "src/formats/config_file.hpp"

namespace relata::formats {
namespace {

using kernels::Activation;

constexpr TensorNames kNames = {
    .embedding = "shared.weight",
    .decoder_embedding = "",
    .lm_head = "lm_head.weight",
    .logits_bias = "",
    .positions = "",
    .decoder_positions = "",
    .stacks = "",
    .layers = "block",
    .self_attention = "layer.0.SelfAttention",
    .self_attention_norm = "layer.0.layer_norm",
    .cross_attention = "layer.1.EncDecAttention",
    .cross_attention_norm = "layer.1.layer_norm",
    .feed_forward = {"layer.1.DenseReluDense", "layer.2.DenseReluDense"},
    .feed_forward_norm = {"layer.1.layer_norm", "layer.2.layer_norm"},
    .query = "q",
    .key = "k",
    .value = "v",
    .output = "o",
    .hidden_input = "wi",  // wi_0 where gated
    .hidden_gate = "wi_1",
    .hidden_output = "wo",
    .final_norm = "final_layer_norm",
    .shared_relation = "block.0.layer.0.SelfAttention",
    .relation_keys = "",
    .relation_values = "",
    .relation_bias = "relative_attention_bias.weight",
    .bias_by_relation = true,
};

struct FeedForwardForm {
  std::string activation;  // as transformers names it
  bool gated = false;
};

/// feed_forward_proj is "ACTIVATION" or "gated-ACTIVATION"; gated-gelu means the tanh form.
Result<FeedForwardForm> read_form(const JsonObject& file, const char* fallback) {
  std::string projection = fallback;
  if (file.has("feed_forward_proj")) {
    RELATA_TRY_ASSIGN(projection, file.text("feed_forward_proj"));
  }
  FeedForwardForm form;
  form.gated = projection.starts_with("gated-");
  form.activation = form.gated ? projection.substr(6) : projection;
  if (projection == "gated-gelu") {
    form.activation = "gelu_new";
  }
  // Saved files repeat what follows from feed_forward_proj; a file that contradicts itself is not
  // guessed at.
  if (file.has("dense_act_fn")) {
    RELATA_TRY_ASSIGN(const std::string repeated, file.text("dense_act_fn"));
    if (repeated != form.activation) {
      return file.invalid("dense_act_fn", {"contradicts feed_forward_proj, which means \"",
                                           form.activation.substr(0, 80), "\""});
    }
  }
  RELATA_TRY_ASSIGN(const bool repeated, file.boolean_or("is_gated_act", form.gated));
  if (repeated != form.gated) {
    return file.invalid("is_gated_act", "contradicts feed_forward_proj");
  }
  return form;
}

Result<Activation> read_activation(const JsonObject& file, const std::string& name) {
  constexpr std::pair<std::string_view, Activation> kActivations[] = {
      {"relu", Activation::relu},
      {"gelu", Activation::gelu},
      {"gelu_python", Activation::gelu},
      {"gelu_new", Activation::gelu_tanh},
      {"gelu_pytorch_tanh", Activation::gelu_tanh},
      {"gelu_python_tanh", Activation::gelu_tanh},
      {"silu", Activation::silu},
      {"swish", Activation::silu},
  };
  for (const auto& [word, activation] : kActivations) {
    if (word == name) {
      return activation;
    }
  }
  return fail(ErrorCode::unsupported, file.place("feed_forward_proj"),
              {"the activation \"", name.substr(0, 80), "\" is not supported"});
}

/// Whether the configuration is that of T5EncoderModel: by its class, or because it has one stack.
Result<void> read_encoder_only(const JsonObject& file, ConfigFile& config) {
  RELATA_TRY_ASSIGN(const bool two_stacks, file.boolean_or("is_encoder_decoder", true));
  config.encoder_only = {!two_stacks, !two_stacks, file.place("is_encoder_decoder")};
  if (file.has("architectures")) {
    RELATA_TRY_ASSIGN(const Json* classes, file.value("architectures"));
    const auto* list = classes->items();
    const auto* name = list == nullptr || list->empty() ? nullptr : list->front().text();
    config.encoder_only.possible |= name != nullptr && name->ends_with("EncoderModel");
  }
  return {};
}

/// Fields whose unusual values would change the arithmetic.
Result<void> refuse_unsupported(const JsonObject& file) {
  const auto refuse = [&](const char* key, const char* what) {
    return fail(ErrorCode::unsupported, file.place(key), {what, " are not supported"});
  };
  RELATA_TRY_ASSIGN(const bool decoder_only, file.boolean_or("is_decoder", false));
  if (decoder_only) {
    return refuse("is_decoder", "decoders alone");
  }
  RELATA_TRY_ASSIGN(const bool stacks_tied, file.boolean_or("tie_encoder_decoder", false));
  if (stacks_tied) {
    return refuse("tie_encoder_decoder", "stacks that share their weights");
  }
  if (file.has("pruned_heads")) {
    RELATA_TRY_ASSIGN(const Json* heads, file.value("pruned_heads"));
    if (!heads->is_empty()) {
      return refuse("pruned_heads", "pruned heads");
    }
  }
  return {};
}

/// Whether the decoder's output is multiplied by d_model^-1/2, which each class decides by a rule
/// of its own.
Result<bool> scales_outputs(const JsonObject& file, std::string_view type) {
  if (type == "mt5") {
    return false;
  }
  if (type == "umt5") {
    return true;
  }
  RELATA_TRY_ASSIGN(const bool tied, file.boolean_or("tie_word_embeddings", true));
  return file.boolean_or("scale_decoder_outputs", tied);
}

}  // namespace

std::string_view t5_field(std::string_view field) {
  constexpr std::pair<std::string_view, std::string_view> kFields[] = {
      {"head_dim", "d_kv"},
      {"num_encoder_layers", "num_layers"},
      {"norm.epsilon", "layer_norm_epsilon"},
      {"relation.index.num_buckets", "relative_attention_num_buckets"},
      {"relation.index.max_distance", "relative_attention_max_distance"},
  };
  for (const auto& [ours, theirs] : kFields) {
    if (ours == field) {
      return theirs;
    }
  }
  return field;
}

Result<ConfigFile> read_t5(const JsonObject& file, const JsonObject* generation) {
  RELATA_TRY_ASSIGN(const std::string type, file.text("model_type"));
  RELATA_TRY(refuse_unsupported(file));

  ConfigFile result;
  RELATA_TRY(read_encoder_only(file, result));
  Config& config = result.config;
  RELATA_TRY_ASSIGN(config.vocab_size, file.integer("vocab_size", 1, INT_MAX));
  RELATA_TRY_ASSIGN(config.d_model, file.integer("d_model", 1, INT_MAX));
  RELATA_TRY_ASSIGN(config.head_dim, file.integer("d_kv", 1, INT_MAX));
  RELATA_TRY_ASSIGN(config.num_heads, file.integer("num_heads", 1, INT_MAX));
  RELATA_TRY_ASSIGN(config.d_ff, file.integer("d_ff", 1, INT_MAX));
  RELATA_TRY_ASSIGN(config.num_encoder_layers, file.integer("num_layers", 1, INT_MAX));
  RELATA_TRY_ASSIGN(config.num_decoder_layers,
                    file.integer_or("num_decoder_layers", 1, INT_MAX, config.num_encoder_layers));

  config.norm = NormKind::rms_norm;
  config.norm_position = NormPosition::pre;
  RELATA_TRY_ASSIGN(const double epsilon, file.number_or("layer_norm_epsilon", 1e-30, 1, 1e-6));
  config.norm_epsilon = static_cast<float>(epsilon);
  config.attention_bias = false;
  config.feed_forward_bias = false;
  RELATA_TRY_ASSIGN(const FeedForwardForm form,
                    read_form(file, type == "t5" ? "relu" : "gated-gelu"));
  RELATA_TRY_ASSIGN(config.activation, read_activation(file, form.activation));
  config.gated = form.gated;
  RELATA_TRY_ASSIGN(const bool scaled, scales_outputs(file, type));
  config.logits_scale = scaled ? static_cast<float>(1 / std::sqrt(double{1} * config.d_model)) : 1;

  RelationIndexConfig& index = config.encoder_relation.index;
  index.kind = IndexKind::bucketed_distance;
  index.bidirectional = true;
  RELATA_TRY_ASSIGN(index.num_buckets, file.integer("relative_attention_num_buckets", 1, INT_MAX));
  RELATA_TRY_ASSIGN(index.max_distance,
                    file.integer_or("relative_attention_max_distance", 1, INT_MAX, 128));
  config.encoder_relation.effect.kind = EffectKind::bias;
  config.decoder_relation = config.encoder_relation;
  config.decoder_relation.index.bidirectional = false;

  result.names = kNames;
  if (form.gated) {
    result.names.hidden_input = "wi_0";
  }
  result.encoder_relation_per_layer = result.decoder_relation_per_layer = type == "umt5";
  result.tied_by_file = true;
  result.embedding_copies = {"encoder.embed_tokens.weight", "decoder.embed_tokens.weight"};
  result.ignored = {"decoder.block.0.layer.1.EncDecAttention.relative_attention_bias.weight"};
  RELATA_TRY(read_generation(file, generation, true, config));
  return result;
}

}  // namespace relata::formats
