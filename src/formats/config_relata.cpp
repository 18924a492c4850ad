// The project's own configuration, every choice spelled out. All keys are required unless a default
// is named in parentheses; a key that is not listed is an error.
//
//   model_type "relata", schema_version 1
//   vocab_size, source_vocab_size (null: encoder and decoder share one embedding)
//   d_model, num_heads, head_dim, d_ff, num_encoder_layers, num_decoder_layers
//   norm {type: layer_norm | rms_norm, position: pre | post, epsilon}
//   activation: relu | gelu | gelu_tanh | silu
//   gated, attention_bias, feed_forward_bias
//   scale_attention        queries times 1 / sqrt(head_dim)
//   scale_embeddings       embeddings times sqrt(d_model)
//   scale_decoder_outputs  the decoder's output times 1 / sqrt(d_model) before the projection
//   tie_word_embeddings    the output projection is the decoder's embedding; else lm_head.weight is
//                          there
//   logits_bias (false)    lm_head.bias is added to the logits
//   positions {type: none}
//           | {type: sinusoidal, layout: interleaved | halves,
//              first_position (0), divisor (d_model / 2)}
//           | {type: table, max_positions, per_stack (false)}
//   relation {encoder_self: R, decoder_self: R}, R = {index, effect}
//     index  {type: none}
//          | {type: distance}                          only with fixed_slope
//          | {type: clipped_distance, left, right}
//          | {type: bucketed_distance, num_buckets, max_distance, bidirectional}
//          | {type: labels, num_labels}                only in encoder_self
//     effect {type: none}
//          | {type: fixed_slope}                       only with distance
//          | {type: vectors, keys, values, per_head (false), per_layer (true)}
//          | {type: bias, per_layer (false)}
//   quantization_config (null: all weights are floats), see config_quantization.cpp
//   eos_token_id (one or a list), decoder_start_token_id
//   pad_token_id, bos_token_id, unk_token_id           each possibly null
//
// Tensors: Linear weights are [out, in]; {s} is encoder or decoder, {i} the layer, {a}
// self_attention or, in the decoder, cross_attention; R is the number of relations.
//
//   embedding.weight, lm_head.weight                            [vocab_size, d_model]
//   decoder_embedding.weight                                    [vocab_size, d_model] where
//                                   embedding.weight is         [source_vocab_size, d_model]
//   lm_head.bias                                                [vocab_size]
//   positions.weight, decoder_positions.weight                  [max_positions, d_model]
//   {s}.layers.{i}.{a}.{query,key,value,output}.{weight,bias}
//   {s}.layers.{i}.{a}_norm.{weight,bias}
//   {s}.layers.{i}.feed_forward.{input,gate,output}.{weight,bias}
//   {s}.layers.{i}.feed_forward_norm.{weight,bias}
//   {s}.final_norm.{weight,bias}                                pre-norm only
//   {s}.layers.{i}.self_attention.relation_{keys,values}        [R or num_heads * R, head_dim]
//   {s}.layers.{i}.self_attention.relation_bias                 [num_heads, R]
//   {s}.relation_{keys,values,bias}                             where all layers share them
#include <climits>
#include <cmath>

#include "src/formats/config_file.hpp"

namespace relata::formats {
namespace {

constexpr int kSchemaVersion = 1;

constexpr TensorNames kNames = {
    .embedding = "embedding.weight",
    .decoder_embedding = "decoder_embedding.weight",
    .lm_head = "lm_head.weight",
    .logits_bias = "lm_head.bias",
    .positions = "positions.weight",
    .decoder_positions = "decoder_positions.weight",
    .stacks = "",
    .layers = "layers",
    .self_attention = "self_attention",
    .self_attention_norm = "self_attention_norm",
    .cross_attention = "cross_attention",
    .cross_attention_norm = "cross_attention_norm",
    .feed_forward = {"feed_forward", "feed_forward"},
    .feed_forward_norm = {"feed_forward_norm", "feed_forward_norm"},
    .query = "query",
    .key = "key",
    .value = "value",
    .output = "output",
    .hidden_input = "input",
    .hidden_gate = "gate",
    .hidden_output = "output",
    .final_norm = "final_norm",
    .shared_relation = "",
    .relation_keys = "relation_keys",
    .relation_values = "relation_values",
    .relation_bias = "relation_bias",
};

Result<void> read_sizes(const JsonObject& file, Config& config) {
  RELATA_TRY_ASSIGN(config.vocab_size, file.integer("vocab_size", 1, INT_MAX));
  RELATA_TRY_ASSIGN(config.source_vocab_size, file.integer_or("source_vocab_size", 1, INT_MAX, 0));
  RELATA_TRY_ASSIGN(config.d_model, file.integer("d_model", 1, INT_MAX));
  RELATA_TRY_ASSIGN(config.num_heads, file.integer("num_heads", 1, INT_MAX));
  RELATA_TRY_ASSIGN(config.head_dim, file.integer("head_dim", 1, INT_MAX));
  RELATA_TRY_ASSIGN(config.d_ff, file.integer("d_ff", 1, INT_MAX));
  RELATA_TRY_ASSIGN(config.num_encoder_layers, file.integer("num_encoder_layers", 1, INT_MAX));
  RELATA_TRY_ASSIGN(config.num_decoder_layers, file.integer("num_decoder_layers", 1, INT_MAX));
  return {};
}

Result<void> read_norm(const JsonObject& norm, Config& config) {
  RELATA_TRY(norm.allow_only({"type", "position", "epsilon"}));
  RELATA_TRY_ASSIGN(config.norm,
                    norm.choice<NormKind>("type", {{"layer_norm", NormKind::layer_norm},
                                                   {"rms_norm", NormKind::rms_norm}}));
  RELATA_TRY_ASSIGN(config.norm_position,
                    norm.choice<NormPosition>(
                        "position", {{"pre", NormPosition::pre}, {"post", NormPosition::post}}));
  RELATA_TRY_ASSIGN(const double epsilon, norm.number("epsilon", 1e-30, 1));
  config.norm_epsilon = static_cast<float>(epsilon);
  return {};
}

Result<void> read_positions(const JsonObject& positions, int d_model, PositionConfig& config) {
  RELATA_TRY_ASSIGN(
      config.kind, positions.choice<PositionKind>("type", {{"none", PositionKind::none},
                                                           {"sinusoidal", PositionKind::sinusoidal},
                                                           {"table", PositionKind::table}}));
  if (config.kind == PositionKind::none) {
    return positions.allow_only({"type"});
  }
  if (config.kind == PositionKind::table) {
    RELATA_TRY(positions.allow_only({"type", "max_positions", "per_stack"}));
    RELATA_TRY_ASSIGN(config.max_positions, positions.integer("max_positions", 1, INT_MAX));
    RELATA_TRY_ASSIGN(config.per_stack, positions.boolean_or("per_stack", false));
    return {};
  }
  RELATA_TRY(positions.allow_only({"type", "layout", "first_position", "divisor"}));
  RELATA_TRY_ASSIGN(config.interleaved,
                    positions.choice<bool>("layout", {{"interleaved", true}, {"halves", false}}));
  RELATA_TRY_ASSIGN(config.first_position, positions.integer_or("first_position", 0, 1 << 20, 0));
  RELATA_TRY_ASSIGN(const double divisor, positions.number_or("divisor", 1e-3, 1e9, d_model / 2.0));
  config.divisor = static_cast<float>(divisor);
  return {};
}

/// Ids that have to be spelled out in this schema, even where a generation config replaces them.
Result<void> check_ids(const JsonObject& file, const JsonObject* generation, int vocab_size) {
  for (const std::string_view key : {"pad_token_id", "bos_token_id", "unk_token_id"}) {
    RELATA_TRY(file.value(key));
    RELATA_TRY(file.integer_or(key, 0, vocab_size - 1, 0));
  }
  RELATA_TRY(file.integer("decoder_start_token_id", 0, vocab_size - 1));
  RELATA_TRY(file.value("eos_token_id"));
  if (generation != nullptr) {
    RELATA_TRY(generation->allow_only({"pad_token_id", "bos_token_id", "eos_token_id",
                                       "decoder_start_token_id", "max_new_tokens",
                                       "transformers_version", "_from_model_config"}));
  }
  return {};
}

}  // namespace

Result<ConfigFile> read_relata(const JsonObject& file, const JsonObject* generation) {
  RELATA_TRY(file.allow_only({"model_type",
                              "schema_version",
                              "vocab_size",
                              "source_vocab_size",
                              "d_model",
                              "num_heads",
                              "head_dim",
                              "d_ff",
                              "num_encoder_layers",
                              "num_decoder_layers",
                              "norm",
                              "activation",
                              "gated",
                              "attention_bias",
                              "feed_forward_bias",
                              "scale_attention",
                              "scale_embeddings",
                              "scale_decoder_outputs",
                              "tie_word_embeddings",
                              "logits_bias",
                              "positions",
                              "relation",
                              "quantization_config",
                              "pad_token_id",
                              "bos_token_id",
                              "eos_token_id",
                              "unk_token_id",
                              "decoder_start_token_id"}));
  RELATA_TRY_ASSIGN(const int version, file.integer("schema_version", 1, INT_MAX));
  if (version != kSchemaVersion) {
    return fail(ErrorCode::unsupported, file.place("schema_version"),
                {"version ", version, " is newer than this program's ", kSchemaVersion});
  }

  ConfigFile result;
  result.names = kNames;
  Config& config = result.config;
  RELATA_TRY(read_sizes(file, config));
  RELATA_TRY_ASSIGN(const JsonObject norm, file.object("norm"));
  RELATA_TRY(read_norm(norm, config));
  using kernels::Activation;
  RELATA_TRY_ASSIGN(config.activation,
                    file.choice<Activation>("activation", {{"relu", Activation::relu},
                                                           {"gelu", Activation::gelu},
                                                           {"gelu_tanh", Activation::gelu_tanh},
                                                           {"silu", Activation::silu}}));
  RELATA_TRY_ASSIGN(config.gated, file.boolean("gated"));
  RELATA_TRY_ASSIGN(config.attention_bias, file.boolean("attention_bias"));
  RELATA_TRY_ASSIGN(config.feed_forward_bias, file.boolean("feed_forward_bias"));
  RELATA_TRY_ASSIGN(const bool scale_attention, file.boolean("scale_attention"));
  RELATA_TRY_ASSIGN(const bool scale_embeddings, file.boolean("scale_embeddings"));
  RELATA_TRY_ASSIGN(const bool scale_outputs, file.boolean("scale_decoder_outputs"));
  const double head_dim = config.head_dim;
  const double d_model = config.d_model;
  config.attention_scale = scale_attention ? static_cast<float>(1 / std::sqrt(head_dim)) : 1;
  config.embedding_scale = scale_embeddings ? static_cast<float>(std::sqrt(d_model)) : 1;
  config.logits_scale = scale_outputs ? static_cast<float>(1 / std::sqrt(d_model)) : 1;
  RELATA_TRY_ASSIGN(result.tied, file.boolean("tie_word_embeddings"));
  RELATA_TRY_ASSIGN(config.logits_bias, file.boolean_or("logits_bias", false));

  RELATA_TRY_ASSIGN(const JsonObject positions, file.object("positions"));
  RELATA_TRY(read_positions(positions, config.d_model, config.positions));
  RELATA_TRY_ASSIGN(const JsonObject relation, file.object("relation"));
  RELATA_TRY(relation.allow_only({"encoder_self", "decoder_self"}));
  RELATA_TRY_ASSIGN(const JsonObject encoder_self, relation.object("encoder_self"));
  RELATA_TRY_ASSIGN(const JsonObject decoder_self, relation.object("decoder_self"));
  RELATA_TRY_ASSIGN(result.encoder_relation_per_layer,
                    read_relata_relation(encoder_self, true, config.encoder_relation));
  RELATA_TRY_ASSIGN(result.decoder_relation_per_layer,
                    read_relata_relation(decoder_self, false, config.decoder_relation));

  RELATA_TRY(check_ids(file, generation, config.vocab_size));
  RELATA_TRY(read_generation(file, generation, false, config));
  return result;
}

}  // namespace relata::formats
