// Every variable of model.bin has to be asked for: one that is not belongs to a feature that this
// program does not have, and is named. Names and meanings follow
// python/ctranslate2/specs/transformer_spec.py and src/layers.
#include "src/formats/ctranslate2.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <initializer_list>
#include <optional>
#include <set>
#include <utility>

namespace relata::formats {
namespace {

using nlohmann::json;

constexpr int kSharedAttributes = 5;        // before this revision both stacks share them
constexpr double kGlobalInt16Scale = 1000;  // of int16 weights without a scale of their own

Error error_at(ErrorCode code, std::string_view name, std::string message) {
  return Error{code, std::string(kCtranslate2File) + ": " + std::string(name), std::move(message)};
}
Error not_supported(std::string_view name, const std::string& what) {
  return error_at(ErrorCode::unsupported, name, what + " are not supported");
}

bool near(double a, double b) { return std::abs(a - b) <= 1e-5 * std::abs(b); }

template <class T>
double number_of(const std::vector<std::byte>& bytes) {
  T value;
  std::memcpy(&value, bytes.data(), sizeof value);
  return static_cast<double>(value);
}

/// The variables of the file: looked up, checked for type, and remembered as asked for.
class Variables {
 public:
  explicit Variables(const Ctranslate2Index& index) : index_(index) {}

  /// Null where there is none.
  const Ctranslate2Variable* find(const std::string& name) {
    asked_.insert(name);
    const Ctranslate2Variable* variable = index_.find(name);
    if (variable != nullptr) {
      asked_.insert(variable->info.name);
    }
    return variable;
  }
  Result<const TensorInfo*> tensor(const std::string& name) {
    const Ctranslate2Variable* variable = find(name);
    if (variable == nullptr) {
      return error_at(ErrorCode::tensor_missing, name, "the file does not have this variable");
    }
    return &variable->info;
  }
  Result<const TensorInfo*> matrix(const std::string& name) {
    RELATA_TRY_ASSIGN(const TensorInfo* info, tensor(name));
    if (info->shape.size() != 2 || info->bytes == 0) {
      return error_at(ErrorCode::tensor_invalid, name, "has to be a matrix");
    }
    return info;
  }
  /// A scalar of any type but half-width floats.
  Result<std::optional<double>> number(const std::string& name) {
    const Ctranslate2Variable* variable = find(name);
    if (variable == nullptr) {
      return std::optional<double>();
    }
    const std::string& type = variable->info.dtype;
    std::optional<double> value;
    if (variable->info.shape.empty()) {
      value = type == "I8"    ? std::optional(number_of<std::int8_t>(variable->value))
              : type == "I16" ? std::optional(number_of<std::int16_t>(variable->value))
              : type == "I32" ? std::optional(number_of<std::int32_t>(variable->value))
              : type == "F32" ? std::optional(number_of<float>(variable->value))
                              : std::nullopt;
    }
    if (!value || !std::isfinite(*value)) {
      return error_at(ErrorCode::tensor_invalid, name, "has to be one finite number");
    }
    return value;
  }
  /// An attribute of a stack.
  Result<std::optional<double>> attribute(const std::string& stack, const std::string& key) {
    RELATA_TRY_ASSIGN(const auto value, number(stack + "/" + key));
    return value || index_.revision >= kSharedAttributes ? value : number(key);
  }
  /// Names that may be there and mean nothing here.
  void pass_over(std::initializer_list<const char*> names) {
    asked_.insert(names.begin(), names.end());
  }
  Result<void> check_all_asked() const {
    for (const auto& [name, variable] : index_.variables) {
      RELATA_TRY(check_asked(name));
    }
    for (const auto& [alias, name] : index_.aliases) {
      RELATA_TRY(check_asked(alias));
    }
    return {};
  }

 private:
  Result<void> check_asked(const std::string& name) const {
    if (!asked_.contains(name)) {
      return error_at(ErrorCode::unsupported, name,
                      "this variable belongs to a feature that is not supported");
    }
    return {};
  }

  const Ctranslate2Index& index_;
  std::set<std::string, std::less<>> asked_;
};

/// Writes the configuration and the list of tensors in our own terms.
class Translator {
 public:
  explicit Translator(const Ctranslate2Index& index) : index_(index), variables_(index) {}

  Result<Ctranslate2Model> translate(const Ctranslate2Texts& texts) {
    RELATA_TRY_ASSIGN(const Ctranslate2Tokens tokens,
                      read_ctranslate2_tokens(index_, texts.config));
    variables_.pass_over({"unk_token", "bos_token", "eos_token", "with_source_bos",
                          "with_source_eos", "with_target_bos", "user_decoder_start_tokens"});
    config_ = {{"model_type", "relata"}, {"schema_version", 1}};
    RELATA_TRY(refuse_unsupported());
    RELATA_TRY(read_embeddings());
    RELATA_TRY(read_attributes(tokens.layer_norm_epsilon));
    for (const std::string stack : {"encoder", "decoder"}) {
      RELATA_TRY(read_stack(stack));
    }
    RELATA_TRY(read_positions());
    RELATA_TRY(read_ids(texts, tokens));
    RELATA_TRY(variables_.check_all_asked());

    Ctranslate2Model model;
    RELATA_TRY_ASSIGN(const JsonObject object, JsonObject::top(config_, kCtranslate2File));
    RELATA_TRY_ASSIGN(model.file, read_config(object, nullptr));
    std::stable_sort(tensors_.begin(), tensors_.end(),
                     [](const TensorInfo& a, const TensorInfo& b) {
                       return a.offset != b.offset ? a.offset < b.offset : a.bytes > b.bytes;
                     });
    model.tensors = std::move(tensors_);
    return model;
  }

 private:
  /// `name` holds the tensors called `ours`, stacked by rows.
  Result<void> add(const std::vector<std::string>& ours, const std::string& name) {
    RELATA_TRY_ASSIGN(const TensorInfo* stored, variables_.tensor(name));
    const std::size_t parts = ours.size();
    if (stored->bytes == 0 || stored->shape.empty() || stored->shape[0] % parts != 0) {
      return error_at(ErrorCode::tensor_invalid, name,
                      "has to hold " + std::to_string(parts) + " tensors stacked by rows");
    }
    RELATA_TRY_ASSIGN(const std::vector<float> scales, read_scales(*stored, name));
    const std::size_t scales_each = scales.size() > 1 ? scales.size() / parts : 0;
    for (std::size_t i = 0; i < parts; ++i) {
      TensorInfo part = *stored;
      part.name = ours[i];
      part.shape[0] /= parts;
      part.bytes /= parts;
      part.offset += i * part.bytes;
      if (scales_each > 0) {
        const auto first = scales.begin() + static_cast<std::ptrdiff_t>(i * scales_each);
        part.scales.assign(first, first + static_cast<std::ptrdiff_t>(scales_each));
      } else {
        part.scales = scales;
      }
      tensors_.push_back(std::move(part));
    }
    return {};
  }

  /// What stored integers have to be multiplied by: one factor for all rows, or one each. The file
  /// has the inverse.
  Result<std::vector<float>> read_scales(const TensorInfo& stored, const std::string& name) {
    std::vector<float> scales;
    if (stored.dtype != "I8" && stored.dtype != "I16") {
      return scales;
    }
    const std::string scale_name = name + "_scale";
    const Ctranslate2Variable* variable = variables_.find(scale_name);
    const bool by_row = stored.dtype == "I8";
    if (variable == nullptr && !by_row) {
      scales.push_back(static_cast<float>(1 / kGlobalInt16Scale));
      return scales;
    }
    if (variable == nullptr) {
      return error_at(ErrorCode::tensor_missing, scale_name,
                      "the file does not have the scales of an int8 weight");
    }
    const std::size_t count = by_row ? static_cast<std::size_t>(stored.shape[0]) : 1;
    if (variable->info.dtype != "F32" || variable->value.size() != count * sizeof(float)) {
      return error_at(ErrorCode::tensor_invalid, scale_name,
                      "has to be " + std::to_string(count) + " floats");
    }
    for (std::size_t i = 0; i < count; ++i) {
      float scale = 0;
      std::memcpy(&scale, variable->value.data() + i * sizeof scale, sizeof scale);
      const float factor = 1 / scale;
      if (!(scale > 0) || !std::isnormal(factor)) {
        return error_at(ErrorCode::tensor_invalid, scale_name,
                        "the scale at [" + std::to_string(i) + "] is not a positive number");
      }
      scales.push_back(factor);
    }
    return scales;
  }

  Result<void> add_linear(const std::vector<std::string>& ours, const std::string& name) {
    for (const std::string part : {"weight", "bias"}) {
      const std::string stored = name + "/" + part;
      if (part == "bias" && variables_.find(stored) == nullptr) {
        continue;
      }
      std::vector<std::string> named;
      for (const std::string& linear : ours) {
        named.push_back(linear + "." + part);
      }
      RELATA_TRY(add(named, stored));
    }
    return {};
  }

  Result<void> add_norm(const std::string& ours, const std::string& name) {
    RELATA_TRY(add({ours + ".weight"}, name + "/gamma"));
    if (variables_.find(name + "/beta") != nullptr) {
      return add({ours + ".bias"}, name + "/beta");
    }
    RELATA_TRY_ASSIGN(const auto residual, variables_.number(name + "/layer_norm_use_residual"));
    if (residual.value_or(0) != 0) {
      return not_supported(name + "/layer_norm_use_residual", "norms by one plus the weight");
    }
    return {};
  }

  /// An attribute on which the stacks have to agree, since our configuration has one for both.
  Result<std::optional<double>> common(const std::string& key) {
    RELATA_TRY_ASSIGN(const auto encoder, variables_.attribute("encoder", key));
    RELATA_TRY_ASSIGN(const auto decoder, variables_.attribute("decoder", key));
    if (encoder != decoder) {
      return not_supported("decoder/" + key, "stacks that differ in this");
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
        return not_supported(name, what);
      }
    }
    for (const std::string name :
         {"encoder/layernorm_embedding/gamma", "decoder/layernorm_embedding/gamma"}) {
      if (variables_.find(name) != nullptr) {
        return not_supported(name, "norms behind the embedding");
      }
    }
    if (variables_.find("encoder/embeddings_1/weight") != nullptr) {
      return not_supported("encoder/embeddings_1/weight", "sources with features");
    }
    return {};
  }

  Result<void> read_embeddings() {
    std::string encoder = "encoder/embeddings/weight";
    if (variables_.find(encoder) == nullptr) {
      encoder = "encoder/embeddings_0/weight";
    }
    const std::string decoder = "decoder/embeddings/weight";
    const std::string projection = "decoder/projection/weight";
    RELATA_TRY_ASSIGN(const TensorInfo* source, variables_.matrix(encoder));
    RELATA_TRY_ASSIGN(const TensorInfo* target, variables_.matrix(decoder));
    RELATA_TRY_ASSIGN(const TensorInfo* output, variables_.matrix(projection));
    config_["d_model"] = d_model_ = source->shape[1];
    config_["vocab_size"] = target->shape[0];
    RELATA_TRY(add({"embedding.weight"}, encoder));
    if (source != target) {
      config_["source_vocab_size"] = source->shape[0];
      RELATA_TRY(add({"decoder_embedding.weight"}, decoder));
    }
    config_["tie_word_embeddings"] = output == target;
    if (output != target) {
      RELATA_TRY(add({"lm_head.weight"}, projection));
    }
    const std::string bias = "decoder/projection/bias";
    config_["logits_bias"] = variables_.find(bias) != nullptr;
    return config_["logits_bias"] == true ? add({"lm_head.bias"}, bias) : Result<void>();
  }

  Result<void> read_attributes(double epsilon) {
    RELATA_TRY_ASSIGN(const auto heads, common("num_heads"));
    RELATA_TRY_ASSIGN(const auto pre_norm, common("pre_norm"));
    RELATA_TRY_ASSIGN(const auto activation, common("activation"));
    constexpr const char* kActivations[] = {"relu", "gelu_tanh", "silu", "gelu"};
    const double chosen = activation.value_or(0);
    if (chosen < 0 || chosen >= static_cast<double>(std::size(kActivations))) {
      return not_supported("encoder/activation",
                           "activations of number " + std::to_string(static_cast<int>(chosen)));
    }
    config_["activation"] = kActivations[static_cast<int>(chosen)];
    const double num_heads = heads.value_or(8);
    if (num_heads < 1 || num_heads != std::floor(num_heads)) {
      return error_at(ErrorCode::config_invalid, "encoder/num_heads",
                      "has to be a whole number above 0");
    }
    config_["num_heads"] = num_heads_ = static_cast<std::uint64_t>(num_heads);

    const std::string first = "encoder/layer_0/";
    RELATA_TRY_ASSIGN(const TensorInfo* stacked,
                      variables_.matrix(first + "self_attention/linear_0/weight"));
    head_dim_ = stacked->shape[0] / 3 / num_heads_;
    config_["head_dim"] = head_dim_;
    if (head_dim_ * num_heads_ * 3 != stacked->shape[0]) {
      return error_at(
          ErrorCode::tensor_invalid, first + "self_attention/linear_0/weight",
          "has to stack queries, keys and values of " + std::to_string(num_heads_) + " heads");
    }
    RELATA_TRY_ASSIGN(const TensorInfo* hidden, variables_.matrix(first + "ffn/linear_0/weight"));
    config_["d_ff"] = hidden->shape[0];
    const auto has = [&](const char* name) { return variables_.find(first + name) != nullptr; };
    config_["gated"] = has("ffn/linear_0_noact/weight");
    config_["attention_bias"] = has("self_attention/linear_0/bias");
    config_["feed_forward_bias"] = has("ffn/linear_0/bias");
    const bool layer_norm = has("self_attention/layer_norm/beta");
    pre_norm_ = pre_norm.value_or(1) != 0;
    config_["norm"] = {{"type", layer_norm ? "layer_norm" : "rms_norm"},
                       {"position", pre_norm_ ? "pre" : "post"},
                       {"epsilon", epsilon > 0  ? epsilon
                                   : layer_norm ? 1e-5
                                                : 1e-6}};
    RELATA_TRY(read_embedding_scale());
    return read_output_scale();
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
    return not_supported(name, "scales but 1 and the root of d_model");
  }

  Result<void> read_embedding_scale() {
    RELATA_TRY_ASSIGN(const bool encoder, scales_embeddings("encoder"));
    RELATA_TRY_ASSIGN(const bool decoder, scales_embeddings("decoder"));
    if (encoder != decoder) {
      return not_supported("decoder/scale_embeddings", "stacks that differ in this");
    }
    config_["scale_embeddings"] = encoder;
    return {};
  }

  Result<void> read_output_scale() {
    const std::string name = "decoder/scale_outputs";
    RELATA_TRY_ASSIGN(const auto scale, variables_.number(name));
    const double root = 1 / std::sqrt(static_cast<double>(d_model_));
    if (scale && *scale != 1 && !near(*scale, root)) {
      return not_supported(name, "scales but 1 and the inverse root of d_model");
    }
    config_["scale_decoder_outputs"] = scale && *scale != 1;
    return {};
  }

  Result<void> read_stack(const std::string& stack) {
    RELATA_TRY_ASSIGN(json relation, read_relation(stack));
    config_["relation"][stack + "_self"] = std::move(relation);
    std::uint64_t count = 0;
    for (;; ++count) {
      const std::string number = std::to_string(count);
      const std::string name = stack + "/layer_" + number;
      const bool there = variables_.find(name + "/self_attention/linear_0/weight") != nullptr;
      if (!there && count > 0) {
        break;
      }
      const std::string ours = stack + ".layers." + number + ".";
      const std::string self = ours + "self_attention";
      RELATA_TRY(check_attention(name + "/self_attention"));
      RELATA_TRY(add_linear({self + ".query", self + ".key", self + ".value"},
                            name + "/self_attention/linear_0"));
      RELATA_TRY(add_linear({self + ".output"}, name + "/self_attention/linear_1"));
      RELATA_TRY(add_norm(self + "_norm", name + "/self_attention/layer_norm"));
      if (stack == "decoder") {
        const std::string cross = ours + "cross_attention";
        RELATA_TRY(check_attention(name + "/attention"));
        RELATA_TRY(add_linear({cross + ".query"}, name + "/attention/linear_0"));
        RELATA_TRY(add_linear({cross + ".key", cross + ".value"}, name + "/attention/linear_1"));
        RELATA_TRY(add_linear({cross + ".output"}, name + "/attention/linear_2"));
        RELATA_TRY(add_norm(cross + "_norm", name + "/attention/layer_norm"));
      }
      const std::string hidden = ours + "feed_forward";
      RELATA_TRY(add_linear({hidden + ".input"}, name + "/ffn/linear_0"));
      if (config_["gated"] == true) {
        RELATA_TRY(add_linear({hidden + ".gate"}, name + "/ffn/linear_0_noact"));
      }
      RELATA_TRY(add_linear({hidden + ".output"}, name + "/ffn/linear_1"));
      RELATA_TRY(add_norm(hidden + "_norm", name + "/ffn/layer_norm"));
      RELATA_TRY(add_relation_tables(name + "/self_attention/", self, stack));
    }
    config_["num_" + stack + "_layers"] = count;
    if (pre_norm_) {
      RELATA_TRY(add_norm(stack + ".final_norm", stack + "/layer_norm"));
    }
    return {};
  }

  /// The attributes of one attention.
  Result<void> check_attention(const std::string& name) {
    RELATA_TRY_ASSIGN(const auto multi_query, variables_.number(name + "/multi_query"));
    RELATA_TRY_ASSIGN(const auto kv_heads, variables_.number(name + "/num_heads_kv"));
    const auto heads = static_cast<double>(num_heads_);
    if (multi_query.value_or(0) != 0 || kv_heads.value_or(heads) != heads) {
      return not_supported(name + (kv_heads ? "/num_heads_kv" : "/multi_query"),
                           "attentions with fewer keys than queries");
    }
    RELATA_TRY_ASSIGN(const auto head_dim, variables_.number(name + "/head_dim"));
    const double usual = static_cast<double>(d_model_) / heads;
    if (head_dim.value_or(usual) != static_cast<double>(head_dim_)) {
      return error_at(ErrorCode::tensor_invalid, name + "/linear_0/weight",
                      "has heads of another size than the file says");
    }
    RELATA_TRY_ASSIGN(const auto scale, variables_.number(name + "/queries_scale"));
    const double root = 1 / std::sqrt(static_cast<double>(head_dim_));
    const bool scaled = near(scale.value_or(root), root);
    if ((!scaled && *scale != 1) || (scale_attention_ && *scale_attention_ != scaled)) {
      return not_supported(name + "/queries_scale",
                           "scales but 1 and the inverse root of the head's size, all the same");
    }
    scale_attention_ = scaled;
    config_["scale_attention"] = scaled;
    return {};
  }

  /// Index and effect of a stack, as its first layer has them. A table of 2k + 1 rows is clipped at
  /// k on both sides; the asymmetric one says where.
  Result<json> read_relation(const std::string& stack) {
    const std::string name = stack + "/layer_0/self_attention/";
    if (variables_.find(name + "relative_attention_bias") != nullptr) {
      return not_supported(name + "relative_attention_bias", "biases by distance in this format");
    }
    std::uint64_t left = 0;
    std::uint64_t right = 0;
    const bool symmetric = variables_.find(name + "relative_position_keys") != nullptr;
    if (symmetric) {
      RELATA_TRY_ASSIGN(const TensorInfo* keys, variables_.matrix(name + "relative_position_keys"));
      if (keys->shape[0] % 2 == 0) {
        return error_at(ErrorCode::tensor_invalid, name + "relative_position_keys",
                        "has to have an odd number of rows");
      }
      left = right = keys->shape[0] / 2;
    } else if (variables_.find(name + "relative_asymmetric_position_keys") != nullptr) {
      RELATA_TRY_ASSIGN(left, read_limit(name + "relative_left_max_position"));
      RELATA_TRY_ASSIGN(right, read_limit(name + "relative_right_max_position"));
    } else {
      return json{{"index", {{"type", "none"}}}, {"effect", {{"type", "none"}}}};
    }
    const bool values = variables_.find(name + "relative_position_values") != nullptr;
    return json{{"index", {{"type", "clipped_distance"}, {"left", left}, {"right", right}}},
                {"effect", {{"type", "vectors"}, {"keys", true}, {"values", values}}}};
  }

  Result<std::uint64_t> read_limit(const std::string& name) {
    RELATA_TRY_ASSIGN(const auto limit, variables_.number(name));
    if (!limit || *limit < 0 || *limit != std::floor(*limit)) {
      return error_at(ErrorCode::config_invalid, name, "has to be a whole number from 0");
    }
    return static_cast<std::uint64_t>(*limit);
  }

  Result<void> add_relation_tables(const std::string& name, const std::string& ours,
                                   const std::string& stack) {
    const json& relation = config_["relation"][stack + "_self"];
    if (relation["effect"]["type"] == "none") {
      return {};
    }
    std::string keys = name + "relative_position_keys";
    const std::string asymmetric = name + "relative_asymmetric_position_keys";
    if (variables_.find(asymmetric) != nullptr) {
      keys = asymmetric;
      RELATA_TRY_ASSIGN(const auto left, read_limit(name + "relative_left_max_position"));
      RELATA_TRY_ASSIGN(const auto right, read_limit(name + "relative_right_max_position"));
      if (relation["index"]["left"] != left || relation["index"]["right"] != right) {
        return not_supported(name + "relative_left_max_position", "layers that differ in this");
      }
    }
    RELATA_TRY(add({ours + ".relation_keys"}, keys));
    return relation["effect"]["values"] == true
               ? add({ours + ".relation_values"}, name + "relative_position_values")
               : Result<void>();
  }

  /// With a relation the position encodings are not used, even where they are there. Without a
  /// table they are sinusoids, counted from one, as tensor2tensor has them.
  Result<void> read_positions() {
    const std::string names[] = {"encoder/position_encodings/encodings",
                                 "decoder/position_encodings/encodings"};
    const Ctranslate2Variable* tables[] = {variables_.find(names[0]), variables_.find(names[1])};
    const auto related = [&](const char* stack) {
      return config_["relation"][stack]["effect"]["type"] != "none";
    };
    if (related("encoder_self") != related("decoder_self") ||
        (tables[0] == nullptr) != (tables[1] == nullptr)) {
      return not_supported(names[1], "stacks that differ in how they know positions");
    }
    json& positions = config_["positions"];
    if (related("encoder_self")) {
      positions = {{"type", "none"}};
      return {};
    }
    if (tables[0] == nullptr) {
      positions = {{"type", "sinusoidal"},
                   {"layout", "halves"},
                   {"first_position", 1},
                   {"divisor", static_cast<double>(d_model_ / 2) - 1}};
      return {};
    }
    RELATA_TRY_ASSIGN(const TensorInfo* table, variables_.matrix(names[0]));
    const bool per_stack = tables[0] != tables[1];
    positions = {{"type", "table"}, {"max_positions", table->shape[0]}, {"per_stack", per_stack}};
    RELATA_TRY(add({"positions.weight"}, names[0]));
    return per_stack ? add({"decoder_positions.weight"}, names[1]) : Result<void>();
  }

  Result<void> read_ids(const Ctranslate2Texts& texts, const Ctranslate2Tokens& tokens) {
    const auto check_size = [](const Ctranslate2Vocabulary& file, std::size_t count,
                               const json& rows) -> Result<void> {
      if (count != rows) {
        return Error{
            ErrorCode::file_damaged, std::string(file.file),
            "has " + std::to_string(count) + " tokens, but the embedding is of " + rows.dump()};
      }
      return {};
    };
    RELATA_TRY_ASSIGN(const auto target, read_ctranslate2_vocabulary(texts.target));
    RELATA_TRY_ASSIGN(const auto source, read_ctranslate2_vocabulary(texts.source));
    const json& vocab_size = config_["vocab_size"];
    RELATA_TRY(check_size(texts.target, target.size(), vocab_size));
    RELATA_TRY(
        check_size(texts.source, source.size(), config_.value("source_vocab_size", vocab_size)));
    const auto id_of = [&](const std::string& token) -> json {
      const auto found = std::find(target.begin(), target.end(), token);
      return found == target.end() ? json(nullptr)
                                   : json(static_cast<std::uint64_t>(found - target.begin()));
    };
    config_["pad_token_id"] = nullptr;
    config_["unk_token_id"] = id_of(tokens.unk);
    config_["bos_token_id"] = id_of(tokens.bos);
    config_["eos_token_id"] = id_of(tokens.eos);
    config_["decoder_start_token_id"] = id_of(tokens.decoder_start);
    for (const auto& [key, token] : {std::pair{"eos_token_id", tokens.eos},
                                     {"decoder_start_token_id", tokens.decoder_start}}) {
      if (config_[key].is_null()) {
        return Error{ErrorCode::file_damaged, std::string(texts.target.file),
                     "does not have the token \"" + token.substr(0, 80) + "\""};
      }
    }
    return {};
  }

  const Ctranslate2Index& index_;
  Variables variables_;
  json config_;
  std::vector<TensorInfo> tensors_;
  std::uint64_t d_model_ = 0;
  std::uint64_t num_heads_ = 0;
  std::uint64_t head_dim_ = 0;
  bool pre_norm_ = true;
  std::optional<bool> scale_attention_;
};

}  // namespace

Result<Ctranslate2Model> read_ctranslate2(const Ctranslate2Index& index,
                                          const Ctranslate2Texts& texts) {
  return Translator(index).translate(texts);
}

}  // namespace relata::formats
