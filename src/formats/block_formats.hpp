// The weight formats of files, decoded row by row to f32: plain floats, and ggml's blocks as
// ggml-quants.c defines them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace relata::formats {

/// One format: `block_bytes` hold `block_values` neighbouring values of a row.
struct BlockFormat {
  std::string_view name;
  int block_values = 1;
  int block_bytes = 0;
  void (*decode)(const std::byte* block, float* values) = nullptr;
};

/// F32, F16, BF16, I8, I16 (whose scales are beside them), Q8_0, Q4_0, Q4_1, Q5_0, Q5_1, Q4_K,
/// Q5_K, Q6_K; null for any other name.
const BlockFormat* find_block_format(std::string_view name);

/// Decodes a row of `count` values, a multiple of the format's block_values.
void decode_row(const BlockFormat& format, const std::byte* source, int count, float* row);

}  // namespace relata::formats
