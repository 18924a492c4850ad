// The safetensors container: 8 bytes of header length, a JSON header, the tensors' bytes.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "src/formats/load_model.hpp"

namespace relata::formats {

inline constexpr const char* kWeightsFile = "model.safetensors";

/// Every tensor the header announces, in file order, checked: known types, bytes = product of the
/// shape times the size of the type, each tensor starting where the last one ended, the last ending
/// with the file. header: the file's first safetensors_header_size() bytes. Errors: file_missing
/// (no bytes at all), file_damaged, unsupported (a type this format has gained since), naming the
/// tensor.
Result<std::vector<TensorInfo>> read_header(std::span<const std::byte> header,
                                            std::uint64_t file_size);

}  // namespace relata::formats
