// From a folder's bytes to a checked Model. The caller owns all reading: it hands over the small
// files and the header of the weights, then the bytes of each tensor the loader asks for, in file
// order, so that at no time more than one tensor is held besides the weights themselves, whether
// the bytes come from a disk or from a network.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "src/base/result.hpp"
#include "src/model/weights.hpp"

namespace relata {

namespace formats {
struct ConfigFile;
struct Ctranslate2Index;
struct Ctranslate2Texts;
struct TensorFiles;
}  // namespace formats

/// One file of weights that are spread over several.
struct ShardHeader {
  std::string_view name;              // as the index names it
  std::span<const std::byte> header;  // its first safetensors_header_size() bytes
  std::uint64_t file_size = 0;
};

/// A Hugging Face style folder without its tensors' bytes.
struct FolderHeader {
  std::string_view config;             // config.json
  std::string_view generation_config;  // generation_config.json; empty where the folder has none
  std::span<const std::byte>
      header;                   // model.safetensors: its first safetensors_header_size() bytes
  std::uint64_t file_size = 0;  // of the whole model.safetensors
  std::string_view index = {};  // model.safetensors.index.json, in the place of the two above
  std::span<const ShardHeader> shards = {};  // with it: every file that shard_names() gives
};

/// The files that a model.safetensors.index.json names, each once, sorted. Errors: file_damaged,
/// for names that lead out of the folder too.
Result<std::vector<std::string>> shard_names(std::string_view index);

/// The 8 length bytes plus the JSON header that follows them. prefix: the first 8 bytes of the
/// file, `file` its name for errors. Errors: file_damaged (shorter than 8 bytes, or a header longer
/// than the file or the limit).
Result<std::uint64_t> safetensors_header_size(std::span<const std::byte> prefix,
                                              std::uint64_t file_size,
                                              std::string_view file = "model.safetensors");

/// How much of a GGUF file's beginning its header takes: exact where `prefix` holds all of it, else
/// how much to show next (more than `prefix`). Errors: file_damaged, unsupported.
Result<std::uint64_t> gguf_header_size(std::span<const std::byte> prefix, std::uint64_t file_size);

/// One tensor as the file has it.
struct TensorInfo {
  std::string name;
  std::string dtype;  // as the file spells it: "F32", "F16", "BF16", "I8"
  std::vector<std::uint64_t> shape;
  std::uint64_t offset = 0;  // from the start of the file
  std::uint64_t bytes = 0;
  std::vector<float> scales =
      {};                // of integers: what they are multiplied by, one factor or one a row
  std::size_t file = 0;  // which of FolderHeader::shards it lies in
};

/// How matrices are kept in memory: int8 rounds those that are not in 8 bits yet, as_stored keeps
/// 8 bits where the file has them and f32 where not.
enum class KeptType { f32, int8, as_stored };

/// Bytes of one file.
struct FileRange {
  std::size_t file = 0;  // which of FolderHeader::shards
  std::uint64_t offset = 0;
  std::uint64_t bytes = 0;
};

class ModelLoader {
 public:
  /// type: how the matrices are kept in memory.
  /// Checks everything that can be checked without the tensors' bytes: configuration, header, and
  /// that the file has every tensor the configuration calls for, in the right shape, and none
  /// besides. Then allocates the model. Errors: all of ErrorCode but input_invalid and
  /// option_invalid.
  static Result<ModelLoader> open(const FolderHeader& folder, KeptType type = KeptType::f32);
  /// The same for a GGUF file, which holds configuration and vocabulary too. header: its first
  /// gguf_header_size() bytes.
  static Result<ModelLoader> open_gguf(std::span<const std::byte> header, std::uint64_t file_size,
                                       KeptType type = KeptType::f32);
  /// The same for a CTranslate2 folder, from the index of its model.bin and its texts.
  static Result<ModelLoader> open_ctranslate2(const formats::Ctranslate2Index& index,
                                              const formats::Ctranslate2Texts& texts,
                                              KeptType type = KeptType::f32);
  /// The same for a file that a reader has put into our terms. config: the text of a config.json;
  /// file: how errors name the file; tensors: in file order.
  static Result<ModelLoader> open_tensors(std::string_view config, const std::string& file,
                                          std::vector<TensorInfo> tensors,
                                          KeptType type = KeptType::f32);
  ModelLoader(ModelLoader&&) noexcept;
  ModelLoader& operator=(ModelLoader&&) noexcept;
  ~ModelLoader();

  /// Every tensor: shard by shard as they were given, each in file order.
  const std::vector<TensorInfo>& tensors() const;
  /// The next tensor whose bytes are wanted, in that order (unused tensors are skipped); null when
  /// none is left.
  const TensorInfo* next() const;
  /// What to hand to accept next, 0 bytes when nothing is left: the rest of next(), or up to `most`
  /// bytes of it, or several tensors that lie close together. More than `most` where a tensor is
  /// wanted whole, as one that is to be rounded is.
  FileRange want(std::uint64_t most);
  /// The bytes that want() asked for; without it those of next(), and with them of every tensor
  /// that lies within them. After an error the rest is still awaited. Errors: file_damaged for a
  /// wrong length, tensor_invalid for NaN or infinity among weights, integers out of range, or a
  /// second copy of the embedding that differs.
  Result<void> accept(std::span<const std::byte> bytes);
  /// The model, once next() is null; up to num_threads threads will work for it. Errors:
  /// file_damaged if called early, option_invalid if called again, out_of_memory.
  Result<std::unique_ptr<const Model>> finish(int num_threads = 1);

 private:
  struct State;
  static Result<ModelLoader> plan(formats::ConfigFile file, formats::TensorFiles files,
                                  KeptType type);
  explicit ModelLoader(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace relata
