// A borrowed row-major matrix: rows x cols values, row i starting at data + i * stride.
#pragma once

#include <cstddef>

namespace relata {

template <class T>
struct MatrixView {
  T* data = nullptr;
  int rows = 0;
  int cols = 0;
  int stride = 0;  // values between the starts of two rows; rows that overlap are only read

  T* row(int i) const { return data + static_cast<std::ptrdiff_t>(i) * stride; }
  /// Rows [first, first + count).
  MatrixView slice_rows(int first, int count) const { return {row(first), count, cols, stride}; }
  /// Columns [first, first + count): one head of a concatenation of heads, for instance.
  MatrixView slice_cols(int first, int count) const { return {data + first, rows, count, stride}; }
  operator MatrixView<const T>() const { return {data, rows, cols, stride}; }
};

}  // namespace relata
