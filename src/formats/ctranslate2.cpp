// The configuration decides which variables hold the model's tensors; each is listed under our own
// name over the file's bytes.
#include "src/formats/ctranslate2.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <utility>

#include "src/base/sort.hpp"
#include "src/formats/ctranslate2_variables.hpp"

namespace relata::formats {
namespace {

constexpr float kGlobalInt16Scale = 1000;  // of int16 weights without a scale of their own

/// Lists the tensors of a configuration.
class TensorLister {
 public:
  TensorLister(Ctranslate2Variables& variables, const ConfigFile& file)
      : variables_(variables), config_(file.config), tied_(file.tied) {}

  Result<std::vector<TensorInfo>> list() {
    RELATA_TRY(add_tables());
    for (const std::string stack : {"encoder", "decoder"}) {
      const bool decoder = stack == "decoder";
      const int layers = decoder ? config_.num_decoder_layers : config_.num_encoder_layers;
      for (int i = 0; i < layers; ++i) {
        const std::string number = std::to_string(i);
        RELATA_TRY(add_layer(stack, stack + "/layer_" + number, stack + ".layers." + number));
      }
      if (config_.norm_position == NormPosition::pre) {
        RELATA_TRY(add_norm(stack + ".final_norm", stack + "/layer_norm"));
      }
    }
    sort_stably(tensors_, [](const TensorInfo& a, const TensorInfo& b) {
      return a.offset != b.offset ? a.offset < b.offset : a.bytes > b.bytes;
    });
    return std::move(tensors_);
  }

 private:
  Result<void> add_tables() {
    const std::string encoder = ctranslate2_encoder_embedding(variables_);
    RELATA_TRY(add({"embedding.weight"}, encoder));
    if (config_.source_vocab_size > 0) {
      RELATA_TRY(add({"decoder_embedding.weight"}, "decoder/embeddings/weight"));
    }
    if (!tied_) {
      RELATA_TRY(add({"lm_head.weight"}, "decoder/projection/weight"));
    }
    if (config_.logits_bias) {
      RELATA_TRY(add({"lm_head.bias"}, "decoder/projection/bias"));
    }
    if (config_.positions.kind == PositionKind::table) {
      RELATA_TRY(add({"positions.weight"}, "encoder/position_encodings/encodings"));
      if (config_.positions.per_stack) {
        return add({"decoder_positions.weight"}, "decoder/position_encodings/encodings");
      }
    }
    return {};
  }

  Result<void> add_layer(const std::string& stack, const std::string& name,
                         const std::string& ours) {
    const std::string self = ours + ".self_attention";
    const std::string stored = name + "/self_attention";
    RELATA_TRY(add_linear({self + ".query", self + ".key", self + ".value"}, stored + "/linear_0"));
    RELATA_TRY(add_linear({self + ".output"}, stored + "/linear_1"));
    RELATA_TRY(add_norm(self + "_norm", stored + "/layer_norm"));
    const RelationEffectConfig& effect =
        (stack == "decoder" ? config_.decoder_relation : config_.encoder_relation).effect;
    if (effect.kind == EffectKind::vectors) {
      RELATA_TRY(add({self + ".relation_keys"}, ctranslate2_relation_keys(variables_, stored)));
      if (effect.values) {
        RELATA_TRY(add({self + ".relation_values"}, stored + "/relative_position_values"));
      }
    }
    if (stack == "decoder") {
      const std::string cross = ours + ".cross_attention";
      RELATA_TRY(add_linear({cross + ".query"}, name + "/attention/linear_0"));
      RELATA_TRY(add_linear({cross + ".key", cross + ".value"}, name + "/attention/linear_1"));
      RELATA_TRY(add_linear({cross + ".output"}, name + "/attention/linear_2"));
      RELATA_TRY(add_norm(cross + "_norm", name + "/attention/layer_norm"));
    }
    const std::string hidden = ours + ".feed_forward";
    RELATA_TRY(add_linear({hidden + ".input"}, name + "/ffn/linear_0"));
    if (config_.gated) {
      RELATA_TRY(add_linear({hidden + ".gate"}, name + "/ffn/linear_0_noact"));
    }
    RELATA_TRY(add_linear({hidden + ".output"}, name + "/ffn/linear_1"));
    return add_norm(hidden + "_norm", name + "/ffn/layer_norm");
  }

  /// `name` holds the tensors called `ours`, stacked by rows.
  Result<void> add(const std::vector<std::string>& ours, const std::string& name) {
    RELATA_TRY_ASSIGN(const TensorInfo* stored, variables_.tensor(name));
    const std::size_t parts = ours.size();
    if (stored->bytes == 0 || stored->shape.empty() || stored->shape[0] % parts != 0) {
      return ctranslate2_error(ErrorCode::tensor_invalid, name,
                               {"has to hold ", parts, " tensors stacked by rows"});
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
      scales.push_back(1 / kGlobalInt16Scale);
      return scales;
    }
    if (variable == nullptr) {
      return ctranslate2_error(ErrorCode::tensor_missing, scale_name,
                               "the file does not have the scales of an int8 weight");
    }
    const std::size_t count = by_row ? static_cast<std::size_t>(stored.shape[0]) : 1;
    if (variable->info.dtype != "F32" || variable->value.size() != count * sizeof(float)) {
      return ctranslate2_error(ErrorCode::tensor_invalid, scale_name,
                               {"has to be ", count, " floats"});
    }
    for (std::size_t i = 0; i < count; ++i) {
      float scale = 0;
      std::memcpy(&scale, variable->value.data() + i * sizeof scale, sizeof scale);
      const float factor = 1 / scale;
      if (!(scale > 0) || !std::isnormal(factor)) {
        return ctranslate2_error(ErrorCode::tensor_invalid, scale_name,
                                 {"the scale at [", i, "] is not a positive number"});
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
      return ctranslate2_unsupported({name, "/layer_norm_use_residual"},
                                     "norms by one plus the weight");
    }
    return {};
  }

  Ctranslate2Variables& variables_;
  const Config& config_;
  bool tied_;
  std::vector<TensorInfo> tensors_;
};

/// Adds the ids of the special tokens to a configuration.
Result<void> read_ids(const Ctranslate2Texts& texts, const Ctranslate2Tokens& tokens,
                      Json& config) {
  const auto check_size = [](const Ctranslate2Vocabulary& file, std::size_t count,
                             std::uint64_t rows) -> Result<void> {
    if (count != rows) {
      return fail(ErrorCode::file_damaged, file.file,
                  {"has ", count, " tokens, but the embedding is of ", rows});
    }
    return {};
  };
  RELATA_TRY_ASSIGN(const auto target, read_ctranslate2_vocabulary(texts.target));
  RELATA_TRY_ASSIGN(const auto source, read_ctranslate2_vocabulary(texts.source));
  const std::uint64_t vocab_size = *config["vocab_size"].whole();
  const auto* source_size = config["source_vocab_size"].whole();
  RELATA_TRY(check_size(texts.target, target.size(), vocab_size));
  RELATA_TRY(
      check_size(texts.source, source.size(), source_size != nullptr ? *source_size : vocab_size));
  const auto id_of = [&](const std::string& token) {
    const auto found = std::find(target.begin(), target.end(), token);
    return found == target.end() ? Json()
                                 : Json(static_cast<std::uint64_t>(found - target.begin()));
  };
  config["pad_token_id"] = Json();
  config["unk_token_id"] = id_of(tokens.unk);
  config["bos_token_id"] = id_of(tokens.bos);
  config["eos_token_id"] = id_of(tokens.eos);
  config["decoder_start_token_id"] = id_of(tokens.decoder_start);
  for (const auto& [key, token] :
       {std::pair{"eos_token_id", tokens.eos}, {"decoder_start_token_id", tokens.decoder_start}}) {
    if (config[key].is_null()) {
      return fail(ErrorCode::file_damaged, texts.target.file,
                  {"does not have the token \"", token.substr(0, 80), "\""});
    }
  }
  return {};
}

}  // namespace

Result<Ctranslate2Model> read_ctranslate2(const Ctranslate2Index& index,
                                          const Ctranslate2Texts& texts) {
  RELATA_TRY_ASSIGN(const Ctranslate2Tokens tokens, read_ctranslate2_tokens(index, texts.config));
  Ctranslate2Variables variables(index);
  variables.pass_over({"unk_token", "bos_token", "eos_token", "with_source_bos", "with_source_eos",
                       "with_target_bos", "user_decoder_start_tokens"});
  RELATA_TRY_ASSIGN(Json config, read_ctranslate2_config(variables, tokens.layer_norm_epsilon));
  RELATA_TRY(read_ids(texts, tokens, config));
  Ctranslate2Model model;
  RELATA_TRY_ASSIGN(const JsonObject object, JsonObject::top(config, kCtranslate2File));
  RELATA_TRY_ASSIGN(model.file, read_config(object, nullptr));
  RELATA_TRY_ASSIGN(model.tensors, TensorLister(variables, model.file).list());
  RELATA_TRY(variables.check_all_asked());
  model.file.json = std::move(config);
  return model;
}

}  // namespace relata::formats
