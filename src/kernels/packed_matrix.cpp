#include <algorithm>

#include "src/kernels/kernels.hpp"
#include "src/kernels/packing.hpp"

namespace relata::kernels {

Result<PackedMatrix> PackedMatrix::allocate(int cols, int depth, const char* where, Fresh fresh) {
  const auto padded_cols =
      (static_cast<std::uint64_t>(cols) + kPanelWidth - 1) / kPanelWidth * kPanelWidth;
  PackedMatrix matrix;
  RELATA_TRY(matrix.buffer_.reset(padded_cols * static_cast<std::uint64_t>(depth), where, fresh));
  if (fresh == Fresh::anything && cols % kPanelWidth != 0) {
    const auto panel = static_cast<std::size_t>(depth) * kPanelWidth;
    std::fill_n(matrix.buffer_.data() + (matrix.buffer_.size() - panel), panel, 0.0F);
  }
  matrix.cols_ = cols;
  matrix.depth_ = depth;
  return matrix;
}

Result<PackedMatrix> PackedMatrix::pack(MatrixView<const float> rows, const char* where) {
  RELATA_TRY_ASSIGN(auto matrix, allocate(rows.rows, rows.cols, where));
  matrix.set_columns(0, rows);
  return matrix;
}

PackedView PackedMatrix::view(int cols, int depth) const {
  return {buffer_.data(), cols, depth, static_cast<std::ptrdiff_t>(depth_) * kPanelWidth};
}

float* PackedMatrix::at(int col, int k) {
  const std::ptrdiff_t panel = col / kPanelWidth;
  return buffer_.data() + (panel * depth_ + k) * kPanelWidth + col % kPanelWidth;
}

const float* PackedMatrix::at(int col, int k) const {
  return const_cast<PackedMatrix*>(this)->at(col, k);
}

void PackedMatrix::set_column(int col, const float* values) {
  float* target = at(col, 0);
  for (int k = 0; k < depth_; ++k) {
    target[static_cast<std::ptrdiff_t>(k) * kPanelWidth] = values[k];
  }
}

void PackedMatrix::set_columns(int first, MatrixView<const float> rows) {
  int i = 0;
  while (i < rows.rows) {
    if ((first + i) % kPanelWidth == 0 && rows.rows - i >= kPanelWidth) {
      interleave<simd::Floats<simd::BuildArch>>(
          rows.row(i), rows.stride * static_cast<std::ptrdiff_t>(sizeof(float)), depth_,
          at(first + i, 0));
      i += kPanelWidth;
    } else {
      set_column(first + i, rows.row(i));
      ++i;
    }
  }
}

bool PackedMatrix::holds_column(int col, const float* values) const {
  const float* source = at(col, 0);
  for (int k = 0; k < depth_; ++k) {
    if (source[static_cast<std::ptrdiff_t>(k) * kPanelWidth] != values[k]) {
      return false;
    }
  }
  return true;
}

void PackedMatrix::copy_column(int col, float* values) const {
  const float* source = at(col, 0);
  for (int k = 0; k < depth_; ++k) {
    values[k] = source[static_cast<std::ptrdiff_t>(k) * kPanelWidth];
  }
}

void PackedMatrix::copy_from(const PackedMatrix& source, int cols, int depth) {
  for (int col = 0; col < cols; col += kPanelWidth) {
    std::copy_n(source.at(col, 0), static_cast<std::ptrdiff_t>(depth) * kPanelWidth, at(col, 0));
  }
}

void PackedMatrix::set_depth_row(int k, const float* values) {
  for (int col = 0; col < cols_; col += kPanelWidth) {
    std::copy_n(values + col, std::min(kPanelWidth, cols_ - col), at(col, k));
  }
}

}  // namespace relata::kernels
