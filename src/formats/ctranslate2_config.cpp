// What model.bin says of the model, as our own configuration says it: sizes from the tensors,
// switches from the scalars. Names and meanings follow python/ctranslate2/specs and src/layers.
#include <cmath>
#include <optional>
#include <utility>

#include "src/formats/ctranslate2_variables.hpp"

namespace relata::formats {
namespace {

constexpr double kMaxNumber = 1 << 20;  // of what is then narrowed to a whole number

bool near(double a, double b) { return std::abs(a - b) <= 1e-5 * std::abs(b); }

class ConfigReader {
 public:
  explicit ConfigReader(Ctranslate2Variables& variables) : variables_(variables) {}

  Result<Json> read(double epsilon) {
    config_["model_type"] = text("relata");
    config_["schema_version"] = Json(std::uint64_t{1});
    RELATA_TRY(refuse_unsupported());
    RELATA_TRY(read_embeddings());
    RELATA_TRY(read_sizes());
    RELATA_TRY(read_forms(epsilon));
    RELATA_TRY(read_embedding_scale());
    RELATA_TRY(read_output_scale());
    for (const std::string stack : {"encoder", "decoder"}) {
      RELATA_TRY(read_stack(stack));
    }
    RELATA_TRY(read_positions());
    return std::move(config_);
  }

 private:
  static Json text(const char* word) { return Json(std::string(word)); }

  /// An attribute on which the stacks have to agree, since our configuration has one for both.
  Result<std::optional<double>> common(const std::string& key) {
    RELATA_TRY_ASSIGN(const auto encoder, variables_.attribute("encoder", key));
    RELATA_TRY_ASSIGN(const auto decoder, variables_.attribute("decoder", key));
    if (encoder != decoder) {
      return ctranslate2_unsupported({"decoder/", key}, "stacks that differ in this");
    }
    return encoder;
  }

  Result<void> refuse_unsupported() {
    variables_.pass_over({"embeddings_merge", "encoder/embeddings_merge", "alignment_layer",
                          "alignment_heads", "decoder/alignment_layer", "decoder/alignment_heads",
                          "decoder/alibi_use_positive_positions", "decoder/scale_alibi"});
    constexpr std::pair<const char*, const char*> kFlags[] = {
        {"decoder/start_from_zero_embedding", "targets that start from a zero embedding"},
        {"decoder/alibi", "decoders with ALiBi"},
        {"encoder/multi_query_attention", "attentions with fewer keys than queries"},
        {"decoder/final_logit_softcapping", "capped logits"},
    };
    for (const auto& [name, what] : kFlags) {
      RELATA_TRY_ASSIGN(const auto value, variables_.number(name));
      if (value.value_or(0) != 0) {
        return ctranslate2_unsupported(name, what);
      }
    }
    for (const std::string name :
         {"encoder/layernorm_embedding/gamma", "decoder/layernorm_embedding/gamma"}) {
      if (variables_.find(name) != nullptr) {
        return ctranslate2_unsupported(name, "norms behind the embedding");
      }
    }
    if (variables_.find("encoder/embeddings_1/weight") != nullptr) {
      return ctranslate2_unsupported("encoder/embeddings_1/weight", "sources with features");
    }
    return {};
  }

  Result<void> read_embeddings() {
    RELATA_TRY_ASSIGN(const TensorInfo* source,
                      variables_.matrix(ctranslate2_encoder_embedding(variables_)));
    RELATA_TRY_ASSIGN(const TensorInfo* target, variables_.matrix("decoder/embeddings/weight"));
    RELATA_TRY_ASSIGN(const TensorInfo* output, variables_.matrix("decoder/projection/weight"));
    d_model_ = source->shape[1];
    config_["d_model"] = Json(d_model_);
    config_["vocab_size"] = Json(target->shape[0]);
    if (source != target) {
      config_["source_vocab_size"] = Json(source->shape[0]);
    }
    config_["tie_word_embeddings"] = Json(output == target);
    config_["logits_bias"] = Json(variables_.find("decoder/projection/bias") != nullptr);
    return {};
  }

  Result<void> read_sizes() {
    RELATA_TRY_ASSIGN(const auto heads, common("num_heads"));
    const double num_heads = heads.value_or(8);
    if (num_heads < 1 || num_heads > kMaxNumber || num_heads != std::floor(num_heads)) {
      return ctranslate2_error(ErrorCode::config_invalid, "encoder/num_heads",
                               "has to be a whole number from 1");
    }
    num_heads_ = static_cast<std::uint64_t>(num_heads);
    config_["num_heads"] = Json(num_heads_);

    const std::string first = kFirstLayer;
    RELATA_TRY_ASSIGN(const TensorInfo* stacked,
                      variables_.matrix(first + "self_attention/linear_0/weight"));
    head_dim_ = stacked->shape[0] / 3 / num_heads_;
    config_["head_dim"] = Json(head_dim_);
    if (head_dim_ * num_heads_ * 3 != stacked->shape[0]) {
      return ctranslate2_error(ErrorCode::tensor_invalid, {first, "self_attention/linear_0/weight"},
                               {"has to stack queries, keys and values of ", num_heads_, " heads"});
    }
    RELATA_TRY_ASSIGN(const TensorInfo* hidden, variables_.matrix(first + "ffn/linear_0/weight"));
    config_["d_ff"] = Json(hidden->shape[0]);
    return {};
  }

  Result<void> read_forms(double epsilon) {
    RELATA_TRY_ASSIGN(const auto pre_norm, common("pre_norm"));
    RELATA_TRY_ASSIGN(const auto activation, common("activation"));
    constexpr const char* kActivations[] = {"relu", "gelu_tanh", "silu", "gelu"};
    const double chosen = activation.value_or(0);
    if (chosen < 0 || chosen >= static_cast<double>(std::size(kActivations))) {
      return ctranslate2_unsupported("encoder/activation", "activations but ReLU, GELU and SiLU");
    }
    config_["activation"] = text(kActivations[static_cast<int>(chosen)]);
    const auto has = [&](const char* name) {
      return Json(variables_.find(kFirstLayer + std::string(name)) != nullptr);
    };
    config_["gated"] = has("ffn/linear_0_noact/weight");
    config_["attention_bias"] = has("self_attention/linear_0/bias");
    config_["feed_forward_bias"] = has("ffn/linear_0/bias");
    const bool layer_norm = *has("self_attention/layer_norm/beta").boolean();
    Json& norm = config_["norm"];
    norm["type"] = text(layer_norm ? "layer_norm" : "rms_norm");
    norm["position"] = text(pre_norm.value_or(1) != 0 ? "pre" : "post");
    norm["epsilon"] = Json(epsilon > 0 ? epsilon : layer_norm ? 1e-5 : 1e-6);
    return {};
  }

  /// A flag, or the factor itself; true where nothing is said.
  Result<bool> scales_embeddings(const std::string& stack) {
    std::string name = stack + "/scale_embeddings";
    const Ctranslate2Variable* variable = variables_.find(name);
    const std::string older = stack + "/embeddings/multiply_by_sqrt_depth";
    const Ctranslate2Variable* older_variable = variables_.find(older);
    if (variable == nullptr) {
      name = older;
      variable = older_variable;
    }
    RELATA_TRY_ASSIGN(const auto value, variables_.number(name));
    if (!value || (variable->info.dtype == "I8" && *value != 0)) {
      return true;
    }
    const double root = std::sqrt(static_cast<double>(d_model_));
    if (variable->info.dtype == "I8" || *value == 1 || near(*value, root)) {
      return variable->info.dtype != "I8" && *value != 1;
    }
    return ctranslate2_unsupported(name, "scales but 1 and the root of d_model");
  }

  Result<void> read_embedding_scale() {
    RELATA_TRY_ASSIGN(const bool encoder, scales_embeddings("encoder"));
    RELATA_TRY_ASSIGN(const bool decoder, scales_embeddings("decoder"));
    if (encoder != decoder) {
      return ctranslate2_unsupported("decoder/scale_embeddings", "stacks that differ in this");
    }
    config_["scale_embeddings"] = Json(encoder);
    return {};
  }

  Result<void> read_output_scale() {
    const std::string name = "decoder/scale_outputs";
    RELATA_TRY_ASSIGN(const auto scale, variables_.number(name));
    const double root = 1 / std::sqrt(static_cast<double>(d_model_));
    if (scale && *scale != 1 && !near(*scale, root)) {
      return ctranslate2_unsupported(name, "scales but 1 and the inverse root of d_model");
    }
    config_["scale_decoder_outputs"] = Json(scale && *scale != 1);
    return {};
  }

  Result<void> read_stack(const std::string& stack) {
    Ctranslate2Relation& common_relation = relations_[stack == "decoder" ? 1 : 0];
    std::uint64_t count = 0;
    for (;; ++count) {
      const std::string layer = stack + "/layer_" + std::to_string(count);
      const std::string self = layer + "/self_attention";
      if (count > 0 && variables_.find(self + "/linear_0/weight") == nullptr) {
        break;
      }
      RELATA_TRY(check_attention(self));
      if (stack == "decoder") {
        RELATA_TRY(check_attention(layer + "/attention"));
      }
      RELATA_TRY_ASSIGN(const Ctranslate2Relation relation,
                        read_ctranslate2_relation(variables_, self));
      if (count > 0 && (relation.is_there != common_relation.is_there ||
                        relation.values != common_relation.values)) {
        return ctranslate2_unsupported(self, "layers that differ in their relation");
      }
      if (count > 0 && relation != common_relation) {
        return ctranslate2_unsupported(ctranslate2_relation_keys(variables_, self),
                                       "layers that differ in how far their relation reaches");
      }
      common_relation = relation;
    }
    config_["num_" + stack + "_layers"] = Json(count);
    write_ctranslate2_relation(common_relation, config_["relation"][stack + "_self"]);
    return {};
  }

  /// The attributes of one attention.
  Result<void> check_attention(const std::string& name) {
    RELATA_TRY_ASSIGN(const auto multi_query, variables_.number(name + "/multi_query"));
    RELATA_TRY_ASSIGN(const auto kv_heads, variables_.number(name + "/num_heads_kv"));
    const auto heads = static_cast<double>(num_heads_);
    if (multi_query.value_or(0) != 0 || kv_heads.value_or(heads) != heads) {
      return ctranslate2_unsupported({name, (kv_heads ? "/num_heads_kv" : "/multi_query")},
                                     "attentions with fewer keys than queries");
    }
    RELATA_TRY_ASSIGN(const auto head_dim, variables_.number(name + "/head_dim"));
    const double usual = static_cast<double>(d_model_) / heads;
    if (head_dim.value_or(usual) != static_cast<double>(head_dim_)) {
      return ctranslate2_error(ErrorCode::tensor_invalid, {name, "/linear_0/weight"},
                               "has heads of another size than the file says");
    }
    RELATA_TRY_ASSIGN(const auto scale, variables_.number(name + "/queries_scale"));
    const double root = 1 / std::sqrt(static_cast<double>(head_dim_));
    const bool scaled = near(scale.value_or(root), root);
    if ((!scaled && *scale != 1) || (scale_attention_ && *scale_attention_ != scaled)) {
      return ctranslate2_unsupported(
          {name, "/queries_scale"},
          "scales but 1 and the inverse root of the head's size, all the same");
    }
    scale_attention_ = scaled;
    config_["scale_attention"] = Json(scaled);
    return {};
  }

  /// With a relation the position encodings are not used, even where they are there. Without a
  /// table they are sinusoids, counted from one, as tensor2tensor has them.
  Result<void> read_positions() {
    const std::string names[] = {"encoder/position_encodings/encodings",
                                 "decoder/position_encodings/encodings"};
    const Ctranslate2Variable* tables[] = {variables_.find(names[0]), variables_.find(names[1])};
    const bool is_related = relations_[0].is_there;
    if (is_related != relations_[1].is_there || (tables[0] == nullptr) != (tables[1] == nullptr)) {
      return ctranslate2_unsupported(names[1], "stacks that differ in how they know positions");
    }
    Json& positions = config_["positions"];
    if (is_related) {
      positions["type"] = text("none");
      return {};
    }
    if (tables[0] == nullptr) {
      positions["type"] = text("sinusoidal");
      positions["layout"] = text("halves");
      positions["first_position"] = Json(std::uint64_t{1});
      positions["divisor"] = Json(static_cast<double>(d_model_ / 2) - 1);
      return {};
    }
    RELATA_TRY_ASSIGN(const TensorInfo* table, variables_.matrix(names[0]));
    positions["type"] = text("table");
    positions["max_positions"] = Json(table->shape[0]);
    positions["per_stack"] = Json(tables[0] != tables[1]);
    return {};
  }

  static constexpr const char* kFirstLayer = "encoder/layer_0/";

  Ctranslate2Variables& variables_;
  Json config_;
  Ctranslate2Relation relations_[2];  // of encoder and decoder
  std::uint64_t d_model_ = 0;
  std::uint64_t num_heads_ = 0;
  std::uint64_t head_dim_ = 0;
  std::optional<bool> scale_attention_;
};

}  // namespace

Result<Json> read_ctranslate2_config(Ctranslate2Variables& variables, double layer_norm_epsilon) {
  return ConfigReader(variables).read(layer_norm_epsilon);
}

}  // namespace relata::formats
