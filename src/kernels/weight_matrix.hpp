// A Linear weight [out, in] in the format it is kept in: f32, or int8 rounded while it is loaded.
#pragma once

#include <cstdint>

#include "src/base/aligned_buffer.hpp"
#include "src/base/matrix_view.hpp"
#include "src/kernels/kernels.hpp"

namespace relata::kernels {

enum class WeightType { f32, int8 };

/// int8 columns in panels of kPanelWidth, inside a panel two neighbouring values of all its columns
/// at a time: data[panel][k / 2][column in panel][k % 2]. See int8.hpp for what the numbers mean.
struct Int8View {
  const std::int8_t* data = nullptr;
  const float* column_scales = nullptr;  // [cols, padded to a panel]
  const float* reach = nullptr;          // [depth] the largest weight of each input
  int cols = 0;
  int depth = 0;
};

/// Scratch for the activations of one product, rounded to 16 bits.
struct RoundedRows {
  AlignedBuffer<std::int16_t> values;  // [rows, depth rounded up to even]
  AlignedBuffer<float> scales;         // [rows]

  static Result<RoundedRows> allocate(int rows, int max_depth, const char* where);
};

class WeightMatrix {
 public:
  WeightMatrix() = default;
  /// Zeros [cols, depth] of a type. Errors: out_of_memory.
  static Result<WeightMatrix> allocate(WeightType type, int cols, int depth, const char* where);
  /// int8 only: shows a row [depth] of the weight before any is set. Every row is shown, then set.
  void level(const float* row);
  /// Sets row `col` [depth] of the weight, rounding to the type.
  void set_row(int col, const float* row);
  /// Whether set_row with these values would change nothing.
  bool holds_row(int col, const float* row) const;

  WeightType type() const { return type_; }
  int cols() const { return cols_; }
  int depth() const { return depth_; }
  std::uint64_t bytes() const;
  /// values[0 .. depth) = row `col` of the weight (an embedding), as the kept format has it.
  void copy_row(int col, float* values) const;

  const PackedMatrix& f32() const { return f32_; }
  Int8View int8() const;

 private:
  std::ptrdiff_t place(int col, int k) const;
  float scale_of(const float* row) const;
  std::int8_t round(float value, float scale, int k) const;

  WeightType type_ = WeightType::f32;
  int cols_ = 0;
  int depth_ = 0;
  PackedMatrix f32_;
  AlignedBuffer<std::int8_t> values_;
  AlignedBuffer<float> column_scales_;
  AlignedBuffer<float> reach_;
};

/// output [n, cols] = input [n, depth] * weight^T + bias (may be null). scratch is used by int8
/// only.
void matmul(MatrixView<const float> input, const WeightMatrix& weight, const float* bias,
            RoundedRows& scratch, MatrixView<float> output);

}  // namespace relata::kernels
