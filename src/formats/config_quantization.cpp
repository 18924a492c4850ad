// quantization_config in the convention of compressed-tensors (quantization/quant_config.py there):
// `weight` holds int8, `weight_scale` what they are multiplied by, a factor a row or one for all.
// What is read here is its format int-quantized with symmetric weights of 8 bits and activations as
// they are. Which matrices are integers (`targets`, `ignore`) the file itself says.
//
// Ours besides: `levelled` beside `num_bits` says that `weight_reach` [1, in] multiplies the inputs
// (src/kernels/rounded_matmul.hpp says what for). It stands where compressed-tensors refuses what
// it does not know, so that nobody computes with half of the factors.
#include "src/formats/config_file.hpp"

namespace relata::formats {
namespace {

Handed unsupported(const JsonObject& object, std::string_view key, const Words& what) {
  return fail(ErrorCode::unsupported, object.place(key), {what, " not supported"});
}

Result<void> require_word(const JsonObject& object, std::string_view key, std::string_view word) {
  RELATA_TRY_ASSIGN(const std::string found, object.text(key));
  return found == word ? Result<void>() : unsupported(object, key, {in_quotes(found), " is"});
}

Result<void> refuse_present(const JsonObject& object,
                            std::initializer_list<std::string_view> keys) {
  for (const std::string_view key : keys) {
    // Newer files have an empty object where older ones have null.
    if (object.has(key) && !object.value(key).value()->is_empty()) {
      return unsupported(object, key, "this is");
    }
  }
  return {};
}

/// How the weights of one group are stored.
Result<ScaleShape> read_weights(const JsonObject& weights) {
  RELATA_TRY_ASSIGN(const int bits, weights.integer("num_bits", 1, 64));
  if (bits != 8) {
    return unsupported(weights, "num_bits", {"weights of ", bits, " bits are"});
  }
  RELATA_TRY_ASSIGN(const bool symmetric, weights.boolean_or("symmetric", true));
  if (!symmetric) {
    return unsupported(weights, "symmetric", "weights with a zero point are");
  }
  RELATA_TRY_ASSIGN(const bool dynamic, weights.boolean_or("dynamic", false));
  if (dynamic) {
    return unsupported(weights, "dynamic", "weights quantised while running are");
  }
  if (weights.has("type")) {
    RELATA_TRY(require_word(weights, "type", "int"));
  }
  RELATA_TRY(refuse_present(weights, {"group_size", "block_structure", "actorder"}));
  RELATA_TRY_ASSIGN(const bool levelled, weights.boolean_or("levelled", false));
  RELATA_TRY_ASSIGN(const std::string strategy, weights.text("strategy"));
  if (strategy == "channel") {
    return levelled ? ScaleShape::levelled : ScaleShape::channel;
  }
  if (levelled) {
    return unsupported(weights, "levelled",
                       {"with the strategy ", in_quotes(strategy), " this is"});
  }
  if (strategy == "tensor") {
    return ScaleShape::tensor;
  }
  return unsupported(weights, "strategy", {in_quotes(strategy), " is"});
}

}  // namespace

Result<ScaleShape> read_quantization(const JsonObject& file) {
  constexpr std::string_view kField = "quantization_config";
  if (!file.has(kField)) {
    return ScaleShape::none;
  }
  RELATA_TRY_ASSIGN(const JsonObject config, file.object(kField));
  RELATA_TRY(require_word(config, "quant_method", "compressed-tensors"));
  RELATA_TRY(require_word(config, "format", "int-quantized"));
  if (config.has("quantization_status")) {
    RELATA_TRY(require_word(config, "quantization_status", "compressed"));
  }
  RELATA_TRY(refuse_present(config, {"kv_cache_scheme", "sparsity_config", "transform_config"}));
  RELATA_TRY_ASSIGN(const JsonObject groups, config.object("config_groups"));
  ScaleShape scales = ScaleShape::none;
  for (const std::string_view name : groups.keys()) {
    RELATA_TRY_ASSIGN(const JsonObject group, groups.object(name));
    RELATA_TRY(refuse_present(group, {"input_activations", "output_activations"}));
    if (group.has("format")) {
      RELATA_TRY(require_word(group, "format", "int-quantized"));
    }
    RELATA_TRY_ASSIGN(const JsonObject weights, group.object("weights"));
    RELATA_TRY_ASSIGN(const ScaleShape found, read_weights(weights));
    if (scales != ScaleShape::none && scales != found) {
      return unsupported(weights, "strategy", "groups that differ in this are");
    }
    scales = found;
  }
  if (scales == ScaleShape::none) {
    return config.invalid("config_groups", "has to hold a group");
  }
  return scales;
}

}  // namespace relata::formats
