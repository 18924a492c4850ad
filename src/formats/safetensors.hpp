// The safetensors container: 8 bytes of header length, a JSON header, the tensors' bytes.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "src/formats/load_model.hpp"

namespace relata::formats {

inline constexpr const char* kWeightsFile = "model.safetensors";

inline constexpr const char* kIndexFile = "model.safetensors.index.json";

/// The tensors of one or several files in the order in which they are read.
struct TensorFiles {
  std::vector<std::string> names;  // by TensorInfo::file
  std::string where;               // that a tensor is missing: the only file, or the index
  std::vector<TensorInfo> tensors = {};

  /// An error about a tensor names the file it is in.
  Handed error(ErrorCode code, const TensorInfo& tensor, const Words& message) const;
};

/// Every tensor the header announces, in file order, checked: known types, bytes = product of the
/// shape times the size of the type, each tensor starting where the last one ended, the last ending
/// with the file. header: the first safetensors_header_size() bytes of the file called `file`.
/// Errors: file_missing (no bytes at all), file_damaged, unsupported (a type this format has gained
/// since), naming the tensor.
Result<std::vector<TensorInfo>> read_header(const std::string& file,
                                            std::span<const std::byte> header,
                                            std::uint64_t file_size);

/// The tensors of all shards, every one where the index says it is. Errors besides: file_missing (a
/// shard was not given), tensor_missing, tensor_invalid (a tensor that is elsewhere, or nowhere, by
/// the index).
Result<TensorFiles> read_shards(std::string_view index, std::span<const ShardHeader> shards);

}  // namespace relata::formats
