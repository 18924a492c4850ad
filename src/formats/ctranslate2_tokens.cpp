// The texts beside model.bin: config.json, and the vocabularies as src/vocabulary.cc reads them.
#include <algorithm>
#include <utility>

#include "src/formats/ctranslate2.hpp"
#include "src/formats/limits.hpp"

namespace relata::formats {
namespace {

constexpr std::uint64_t kMaxVocabularyBytes = 64 << 20;  // 256,000 tokens take about 5 MB

/// A text that is a variable of model.bin, or `fallback` where there is none.
Result<std::string> text_variable(const Ctranslate2Index& index, const char* name,
                                  const char* fallback) {
  const Ctranslate2Variable* variable = index.find(name);
  if (variable == nullptr) {
    return std::string(fallback);
  }
  if (variable->info.dtype != "I8" || variable->info.shape.size() != 1 ||
      variable->value.size() != variable->info.bytes) {
    return fail(ErrorCode::tensor_invalid, {kCtranslate2File, ": ", name},
                "has to be a short text");
  }
  return std::string(reinterpret_cast<const char*>(variable->value.data()), variable->value.size());
}

Result<bool> flag_variable(const Ctranslate2Index& index, const char* name, bool fallback) {
  const Ctranslate2Variable* variable = index.find(name);
  if (variable == nullptr) {
    return fallback;
  }
  if (variable->info.dtype != "I8" || variable->value.size() != 1) {
    return fail(ErrorCode::tensor_invalid, {kCtranslate2File, ": ", name}, "has to be one flag");
  }
  return variable->value[0] != std::byte{0};
}

Handed no_start(const Words& where) {
  return fail(ErrorCode::unsupported, where,
              "models without a start token of their own are not supported");
}

/// Before version 6 these are variables of model.bin.
Result<Ctranslate2Tokens> read_old_tokens(const Ctranslate2Index& index) {
  Ctranslate2Tokens tokens;
  RELATA_TRY_ASSIGN(tokens.unk, text_variable(index, "unk_token", "<unk>"));
  RELATA_TRY_ASSIGN(tokens.bos, text_variable(index, "bos_token", "<s>"));
  RELATA_TRY_ASSIGN(tokens.eos, text_variable(index, "eos_token", "</s>"));
  RELATA_TRY_ASSIGN(tokens.add_source_bos, flag_variable(index, "with_source_bos", false));
  RELATA_TRY_ASSIGN(tokens.add_source_eos, flag_variable(index, "with_source_eos", false));
  RELATA_TRY_ASSIGN(const bool by_caller, flag_variable(index, "user_decoder_start_tokens", false));
  if (by_caller) {
    return no_start({kCtranslate2File, ": user_decoder_start_tokens"});
  }
  RELATA_TRY_ASSIGN(const bool with_bos, flag_variable(index, "with_target_bos", true));
  tokens.decoder_start = with_bos ? tokens.bos : tokens.eos;
  return tokens;
}

Result<std::string> text_or(const JsonObject& config, std::string_view key, const char* fallback) {
  if (!config.has(key)) {
    return std::string(fallback);
  }
  return config.text(key);
}

std::vector<std::string> split_lines(std::string_view text) {
  std::vector<std::string> lines;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    lines.emplace_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  // A return that ends every line belongs to the line's end; one that ends only some, to the token.
  if (std::all_of(lines.begin(), lines.end(),
                  [](const std::string& line) { return line.ends_with('\r'); })) {
    for (std::string& line : lines) {
      line.pop_back();
    }
  }
  return lines;
}

}  // namespace

Result<Ctranslate2Tokens> read_ctranslate2_tokens(const Ctranslate2Index& index,
                                                  std::string_view config) {
  constexpr int kFirstWithConfig = 6;
  Ctranslate2Tokens tokens;
  if (index.version < kFirstWithConfig) {
    RELATA_TRY_ASSIGN(tokens, read_old_tokens(index));
  }
  if (config.empty()) {
    if (index.version < kFirstWithConfig) {
      return tokens;
    }
    return fail(ErrorCode::file_missing, kConfigFile, "the folder has no such file");
  }
  if (config.size() > kMaxConfigBytes) {
    return fail(ErrorCode::file_damaged, kConfigFile,
                {"the file is longer than the limit of ", kMaxConfigBytes, " bytes"});
  }
  RELATA_TRY_ASSIGN(const Json root, parse_json(config, kConfigFile));
  RELATA_TRY_ASSIGN(const JsonObject file, JsonObject::top(root, kConfigFile));
  if (file.has("quantization_type")) {
    return fail(ErrorCode::unsupported, file.place("quantization_type"),
                "weights quantised by other means than CTranslate2's are not supported");
  }
  RELATA_TRY_ASSIGN(tokens.layer_norm_epsilon, file.number_or("layer_norm_epsilon", 1e-30, 1, 0));
  if (index.version < kFirstWithConfig) {
    return tokens;
  }
  RELATA_TRY_ASSIGN(tokens.unk, text_or(file, "unk_token", "<unk>"));
  RELATA_TRY_ASSIGN(tokens.bos, text_or(file, "bos_token", "<s>"));
  RELATA_TRY_ASSIGN(tokens.eos, text_or(file, "eos_token", "</s>"));
  RELATA_TRY_ASSIGN(tokens.add_source_bos, file.boolean_or("add_source_bos", false));
  RELATA_TRY_ASSIGN(tokens.add_source_eos, file.boolean_or("add_source_eos", false));
  if (!file.has("decoder_start_token")) {
    return no_start(file.place("decoder_start_token"));
  }
  RELATA_TRY_ASSIGN(tokens.decoder_start, file.text("decoder_start_token"));
  return tokens;
}

Result<std::vector<std::string>> read_ctranslate2_vocabulary(const Ctranslate2Vocabulary& file) {
  const std::string name(file.file);
  if (name.empty()) {
    return fail(ErrorCode::file_missing, "shared_vocabulary.json",
                "the folder has neither this nor source_vocabulary and target_vocabulary");
  }
  if (file.text.size() > kMaxVocabularyBytes) {
    return fail(ErrorCode::file_damaged, name,
                {"the file is longer than the limit of ", kMaxVocabularyBytes, " bytes"});
  }
  if (!name.ends_with(".json")) {
    return split_lines(file.text);
  }
  RELATA_TRY_ASSIGN(const Json root, parse_json(file.text, name));
  if (root.items() == nullptr) {
    return fail(ErrorCode::file_damaged, name, "has to hold a list of tokens");
  }
  std::vector<std::string> tokens;
  for (const Json& element : *root.items()) {
    const auto* token = element.text();
    if (token == nullptr) {
      return fail(ErrorCode::file_damaged, name, {"token ", tokens.size(), " is not a string"});
    }
    tokens.push_back(*token);
  }
  return tokens;
}

}  // namespace relata::formats
