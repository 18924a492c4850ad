#include "src/formats/ctranslate2_variables.hpp"

#include <cmath>
#include <cstring>
#include <utility>

namespace relata::formats {
namespace {

constexpr int kSharedAttributes = 5;  // before this revision both stacks share them

template <class T>
double number_of(const std::vector<std::byte>& bytes) {
  T value;
  std::memcpy(&value, bytes.data(), sizeof value);
  return static_cast<double>(value);
}

}  // namespace

Handed ctranslate2_error(ErrorCode code, const Words& name, const Words& message) {
  return fail(code, {kCtranslate2File, ": ", name}, message);
}

Handed ctranslate2_unsupported(const Words& name, const Words& what) {
  return ctranslate2_error(ErrorCode::unsupported, name, {what, " are not supported"});
}

const Ctranslate2Variable* Ctranslate2Index::find(std::string_view name) const {
  if (const auto found = variables.find(name); found != variables.end()) {
    return &found->second;
  }
  if (const auto alias = aliases.find(name); alias != aliases.end()) {
    return &variables.find(alias->second)->second;
  }
  constexpr std::string_view kScale = "_scale";
  if (name.ends_with(kScale)) {
    const auto alias = aliases.find(name.substr(0, name.size() - kScale.size()));
    if (alias != aliases.end()) {
      const auto found = variables.find(alias->second + std::string(kScale));
      return found != variables.end() ? &found->second : nullptr;
    }
  }
  return nullptr;
}

const Ctranslate2Variable* Ctranslate2Variables::find(const std::string& name) {
  asked_.insert(name);
  const Ctranslate2Variable* variable = index_.find(name);
  if (variable != nullptr) {
    asked_.insert(variable->info.name);
  }
  return variable;
}

Result<const TensorInfo*> Ctranslate2Variables::tensor(const std::string& name) {
  const Ctranslate2Variable* variable = find(name);
  if (variable == nullptr) {
    return ctranslate2_error(ErrorCode::tensor_missing, name,
                             "the file does not have this variable");
  }
  return &variable->info;
}

Result<const TensorInfo*> Ctranslate2Variables::matrix(const std::string& name) {
  RELATA_TRY_ASSIGN(const TensorInfo* info, tensor(name));
  if (info->shape.size() != 2 || info->bytes == 0) {
    return ctranslate2_error(ErrorCode::tensor_invalid, name, "has to be a matrix");
  }
  return info;
}

Result<std::optional<double>> Ctranslate2Variables::number(const std::string& name) {
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
    return ctranslate2_error(ErrorCode::tensor_invalid, name, "has to be one finite number");
  }
  return value;
}

Result<std::optional<double>> Ctranslate2Variables::attribute(const std::string& stack,
                                                              const std::string& key) {
  RELATA_TRY_ASSIGN(const auto value, number(stack + "/" + key));
  return value || index_.revision >= kSharedAttributes ? value : number(key);
}

void Ctranslate2Variables::pass_over(std::initializer_list<const char*> names) {
  asked_.insert(names.begin(), names.end());
}

Result<void> Ctranslate2Variables::check_all_asked() const {
  for (const auto& [name, variable] : index_.variables) {
    RELATA_TRY(check_asked(name));
  }
  for (const auto& [alias, name] : index_.aliases) {
    RELATA_TRY(check_asked(alias));
  }
  return {};
}

Result<void> Ctranslate2Variables::check_asked(const std::string& name) const {
  if (!asked_.contains(name)) {
    return ctranslate2_error(ErrorCode::unsupported, name,
                             "this variable belongs to a feature that is not supported");
  }
  return {};
}

std::string ctranslate2_encoder_embedding(Ctranslate2Variables& variables) {
  const std::string only = "encoder/embeddings/weight";
  return variables.find(only) != nullptr ? only : "encoder/embeddings_0/weight";
}

std::string ctranslate2_relation_keys(Ctranslate2Variables& variables,
                                      const std::string& attention) {
  const std::string symmetric = attention + "/relative_position_keys";
  return variables.find(symmetric) != nullptr ? symmetric
                                              : attention + "/relative_asymmetric_position_keys";
}

}  // namespace relata::formats
