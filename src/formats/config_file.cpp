#include "src/formats/config_file.hpp"

#include <optional>
#include <span>

#include "src/formats/limits.hpp"

namespace relata::formats {
namespace {

Result<Json> parse_file(std::string_view text, const char* file) {
  if (text.size() > kMaxConfigBytes) {
    return fail(ErrorCode::file_damaged, file,
                {"the file is longer than the limit of ", kMaxConfigBytes, " bytes"});
  }
  return parse_json(text, file);
}

/// One id or a list of ids.
Result<std::vector<int>> read_ids(const JsonObject& object, std::string_view key, int vocab_size) {
  RELATA_TRY_ASSIGN(const Json* value, object.value(key));
  const auto* single = value;
  std::span<const Json> elements(single, 1);
  if (const auto* list = value->items()) {
    elements = *list;
  }
  std::vector<int> ids;
  for (const Json& element : elements) {
    const auto* id = element.whole();
    if (id == nullptr || *id >= static_cast<std::uint64_t>(vocab_size)) {
      return object.invalid(key, "must be one id, or a list of ids, from 0 to vocab_size - 1");
    }
    ids.push_back(static_cast<int>(*id));
  }
  if (ids.empty() || ids.size() > kMaxEosTokens) {
    return object.invalid(key, {"must hold from 1 to ", kMaxEosTokens, " ids"});
  }
  return ids;
}

/// Every limit of the configuration, its relations included.
Result<void> check_all(ConfigFile& file) {
  RELATA_TRY(check(file.config));
  RELATA_TRY_ASSIGN(file.encoder_index, RelationIndex::make(file.config.encoder_relation.index));
  RELATA_TRY_ASSIGN(file.decoder_index, RelationIndex::make(file.config.decoder_relation.index));
  return {};
}

struct Family {
  std::string_view type;
  Result<ConfigFile> (*read)(const JsonObject& file, const JsonObject* generation);
  std::string_view (*field)(std::string_view field);  // what the file calls a field of ours
};

std::string_view own_field(std::string_view field) { return field; }

constexpr Family kFamilies[] = {
    {"relata", read_relata, own_field},
    {"t5", read_t5, t5_field},
    {"mt5", read_t5, t5_field},
    {"umt5", read_t5, t5_field},
    {"marian", read_marian, marian_field},
};

/// What other architectures have that is not here.
constexpr std::pair<std::string_view, std::string_view> kRefused[] = {
    {"longt5", "LongT5: its local and transient-global attention is not supported"},
    {"switch_transformers", "Switch Transformers: mixtures of experts are not supported"},
};

Handed refuse(const JsonObject& file, const std::string& type) {
  std::string message = "models of type " + in_quotes(type) + " are not supported";
  for (const auto& [refused, reason] : kRefused) {
    if (refused == type) {
      message = reason;
    }
  }
  return fail(ErrorCode::unsupported, file.place("model_type"), message);
}

const Family* find_family(std::string_view type) {
  for (const Family& family : kFamilies) {
    if (family.type == type) {
      return &family;
    }
  }
  return nullptr;
}

}  // namespace

Result<void> read_generation(const JsonObject& file, const JsonObject* generation,
                             bool start_with_pad, Config& config) {
  const int last_id = config.vocab_size - 1;
  // What the generation config replaces has to be right too.
  const auto read_id = [&](std::string_view key) -> Result<int> {
    RELATA_TRY_ASSIGN(const int id, file.integer_or(key, 0, last_id, -1));
    return generation != nullptr ? generation->integer_or(key, 0, last_id, id) : id;
  };
  RELATA_TRY_ASSIGN(config.pad_token_id, read_id("pad_token_id"));
  RELATA_TRY_ASSIGN(const int bos, read_id("bos_token_id"));
  RELATA_TRY_ASSIGN(config.decoder_start_token_id, read_id("decoder_start_token_id"));
  if (config.decoder_start_token_id < 0) {
    config.decoder_start_token_id = bos;
  }
  if (config.decoder_start_token_id < 0 && start_with_pad) {
    config.decoder_start_token_id = config.pad_token_id;
  }
  if (config.decoder_start_token_id < 0) {
    return file.invalid("decoder_start_token_id", "this field is required");
  }
  constexpr std::string_view kEos = "eos_token_id";
  const JsonObject& holder = generation != nullptr && generation->has(kEos) ? *generation : file;
  RELATA_TRY_ASSIGN(config.eos_token_ids, read_ids(holder, kEos, config.vocab_size));
  if (file.has(kEos)) {
    RELATA_TRY(read_ids(file, kEos, config.vocab_size));
  }
  return read_search(file, generation, config);
}

Result<ConfigFile> read_config(std::string_view config, std::string_view generation_config) {
  if (config.empty()) {
    return fail(ErrorCode::file_missing, kConfigFile, "the folder has no such file");
  }
  RELATA_TRY_ASSIGN(const Json root, parse_file(config, kConfigFile));
  RELATA_TRY_ASSIGN(const JsonObject file, JsonObject::top(root, kConfigFile));

  Json generation_root;
  std::optional<JsonObject> generation;
  if (!generation_config.empty()) {
    RELATA_TRY_ASSIGN(generation_root, parse_file(generation_config, kGenerationConfigFile));
    RELATA_TRY_ASSIGN(generation, JsonObject::top(generation_root, kGenerationConfigFile));
  }
  return read_config(file, generation ? &*generation : nullptr);
}

Result<ConfigFile> read_config(const JsonObject& file, const JsonObject* generation) {
  RELATA_TRY_ASSIGN(const std::string type, file.text("model_type"));
  const Family* family = find_family(type);
  if (family == nullptr) {
    return refuse(file, type);
  }
  RELATA_TRY_ASSIGN(ConfigFile result, family->read(file, generation));
  result.config.model_type = type;
  RELATA_TRY_ASSIGN(result.scales, read_quantization(file));
  if (const auto checked = check_all(result); !checked.ok()) {
    const Error& error = checked.error();
    return fail(error.code, file.place(family->field(error.where)), error.message);
  }
  return result;
}

}  // namespace relata::formats
