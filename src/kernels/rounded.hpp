// Operands of products of integers: weights kept in 8 bits, keys and values kept in 16 bits, and
// the rows they are multiplied with.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "src/base/aligned_buffer.hpp"
#include "src/kernels/kernels.hpp"

namespace relata::kernels {

/// The second operand, borrowed: `cols` output columns of `depth` integers each, in panels of
/// kPanelWidth, inside a panel two neighbouring integers of all its columns at a time:
/// data[panel][k / 2][column in panel][k % 2]. Integer k of column c stands for data *
/// column_scales[c] * reach[k].
template <class Value>
struct RoundedView {
  const Value* data = nullptr;
  const float* column_scales = nullptr;  // [cols, padded to a panel], or null for ones
  const float* reach = nullptr;          // [depth], or null for ones
  int cols = 0;
  int depth = 0;
  std::ptrdiff_t panel_stride = 0;  // integers between two panels

  /// Columns [first, last); first at the beginning of a panel.
  RoundedView slice_cols(int first, int last) const {
    return {data + first / kPanelWidth * panel_stride,
            column_scales == nullptr ? nullptr : column_scales + first,
            reach,
            last - first,
            depth,
            panel_stride};
  }
};

using Int8View = RoundedView<std::int8_t>;
using Int16View = RoundedView<std::int16_t>;

/// Rows that share each integer read of the second operand.
inline constexpr int kRowGroup = 4;

/// Scratch: rows of the first operand, rounded to 16 bits. They lie in groups of kRowGroup, two
/// neighbouring integers of each row at a time ([k / 2][row in group][k % 2]); rows that do not
/// fill a group lie one by one. A row has one scale.
struct RoundedRows {
  AlignedBuffer<std::int16_t> values;  // [rows, depth rounded up to even]
  AlignedBuffer<float> scales;         // [rows]

  /// Room for `rows` rows of up to max_depth values. Errors: out_of_memory, naming `where`.
  static Result<RoundedRows> allocate(int rows, int max_depth, const char* where);
};

/// The most that the magnitudes of `depth` rounded values may add up to, before they are rounded,
/// so that their products with integers of at most `largest` stay inside 32 bits.
inline float rounding_budget(int largest, int depth) {
  return static_cast<float>(INT32_MAX / largest - depth / 2);
}

}  // namespace relata::kernels
