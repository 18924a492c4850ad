// The relation of a self-attention in model.bin, as our own configuration says it.
#include <cmath>

#include "src/formats/ctranslate2_variables.hpp"

namespace relata::formats {
namespace {

constexpr double kMaxLimit = 1 << 20;

Result<std::uint64_t> read_limit(Ctranslate2Variables& variables, const std::string& name) {
  RELATA_TRY_ASSIGN(const auto limit, variables.number(name));
  if (!limit || *limit < 0 || *limit > kMaxLimit || *limit != std::floor(*limit)) {
    return ctranslate2_error(ErrorCode::config_invalid, name, "has to be a whole number from 0");
  }
  return static_cast<std::uint64_t>(*limit);
}

}  // namespace

Result<Ctranslate2Relation> read_ctranslate2_relation(Ctranslate2Variables& variables,
                                                      const std::string& attention) {
  const std::string name = attention + "/";
  if (variables.find(name + "relative_attention_bias") != nullptr) {
    return ctranslate2_unsupported({name, "relative_attention_bias"},
                                   "biases by distance in this format");
  }
  Ctranslate2Relation form;
  const bool symmetric = variables.find(name + "relative_position_keys") != nullptr;
  if (symmetric) {
    RELATA_TRY_ASSIGN(const TensorInfo* keys, variables.matrix(name + "relative_position_keys"));
    if (keys->shape[0] % 2 == 0) {
      return ctranslate2_error(ErrorCode::tensor_invalid, {name, "relative_position_keys"},
                               "has to have an odd number of rows");
    }
    form.left = form.right = keys->shape[0] / 2;
  } else if (variables.find(name + "relative_asymmetric_position_keys") != nullptr) {
    RELATA_TRY_ASSIGN(form.left, read_limit(variables, name + "relative_left_max_position"));
    RELATA_TRY_ASSIGN(form.right, read_limit(variables, name + "relative_right_max_position"));
  } else {
    return form;
  }
  form.is_there = true;
  form.values = variables.find(name + "relative_position_values") != nullptr;
  return form;
}

void write_ctranslate2_relation(const Ctranslate2Relation& form, Json& relation) {
  Json& index = relation["index"];
  Json& effect = relation["effect"];
  index["type"] = Json(std::string(form.is_there ? "clipped_distance" : "none"));
  effect["type"] = Json(std::string(form.is_there ? "vectors" : "none"));
  if (form.is_there) {
    index["left"] = Json(form.left);
    index["right"] = Json(form.right);
    effect["keys"] = Json(true);
    effect["values"] = Json(form.values);
  }
}

}  // namespace relata::formats
