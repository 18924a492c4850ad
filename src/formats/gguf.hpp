// The GGUF container of ggml and llama.cpp, versions 2 and 3: key-value metadata, tensor infos, the
// tensors' bytes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "src/formats/config_file.hpp"
#include "src/formats/json_value.hpp"
#include "src/formats/load_model.hpp"

namespace relata::formats {

inline constexpr const char* kGgufFile = "model.gguf";
/// Where an error stands when the header goes on past the part of the file that was shown.
inline constexpr const char* kCutOff = "model.gguf: prefix";

struct GgufHeader {
  Json metadata = Json::object();  // whole numbers fit into 63 bits
  std::vector<TensorInfo>
      tensors;  // in file order, shapes [rows, cols], offsets from the start of the file
  std::uint64_t bytes = 0;  // up to the first tensor's alignment

  /// A value of the metadata, or null.
  const Json* find(std::string_view key) const {
    const auto found = metadata.fields()->find(key);
    return found == metadata.fields()->end() ? nullptr : &found->second;
  }
};

/// The vocabulary for the package's tokenizer: sentencepiece pieces with their scores and types (1
/// normal, 2 unknown, 3 control, 4 user-defined, 5 unused, 6 byte).
struct GgufVocabulary {
  std::vector<std::string> pieces;
  std::vector<float> scores;
  std::vector<int> types;
  std::vector<std::uint8_t> charsmap;  // sentencepiece's precompiled normaliser; may be empty
  bool add_space_prefix = true;
  bool remove_extra_whitespaces = true;
  bool add_eos = true;
};

/// Reads and checks a whole header. A header cut off by the end of `prefix`, where the file goes
/// on, is the error file_damaged at kCutOff: the caller shows more. Errors:
/// file_damaged, unsupported (a version, or a tensor type without a decoder here).
Result<GgufHeader> read_gguf(std::span<const std::byte> prefix, std::uint64_t file_size);

/// Architecture "t5" as llama.cpp writes it: the configuration as Hugging Face's config.json would
/// say it, and the tensors renamed to Hugging Face's names. Errors: unsupported for another
/// architecture or tensor, config_invalid naming the key.
Result<ConfigFile> read_gguf_t5(GgufHeader& header);

/// The vocabulary of the file. Errors: file_missing (it has none), file_damaged (lists of different
/// lengths).
Result<GgufVocabulary> read_gguf_vocabulary(const GgufHeader& header);

}  // namespace relata::formats
