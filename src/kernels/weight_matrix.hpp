// A Linear weight [out, in] in the format it is kept in: f32, or int8 rounded while it is loaded.
#pragma once

#include <cstdint>

#include "src/base/aligned_buffer.hpp"
#include "src/base/matrix_view.hpp"
#include "src/base/parallel.hpp"
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

  /// Columns [first, last); first at the beginning of a panel.
  Int8View slice_cols(int first, int last) const {
    const std::ptrdiff_t column_bytes = depth + depth % 2;
    return {data + first * column_bytes, column_scales + first, reach, last - first, depth};
  }
};

/// Panels of int8 weights that a thread widens at a time.
inline constexpr int kWidePanels = 3;

/// Scratch of a product with int8 weights: the activations, rounded to 16 bits, and some panels of
/// weights, widened to as many.
struct RoundedRows {
  AlignedBuffer<std::int16_t> values;  // [rows, depth rounded up to even]
  AlignedBuffer<float> scales;         // [rows]
  AlignedBuffer<std::int16_t> panels;  // [threads, kWidePanels, depth rounded up to even, panel]
  int num_threads = 1;

  static Result<RoundedRows> allocate(int rows, int max_depth, int num_threads, const char* where);
  /// The panels of one thread.
  std::int16_t* wide_panels(int thread) {
    return panels.data() +
           panels.size() / static_cast<std::size_t>(num_threads) * static_cast<std::size_t>(thread);
  }
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

/// output [n, cols] = input [n, depth] * weight^T + bias (may be null), its columns split over the
/// threads of a pool (may be null). scratch, made for as many threads, is used by int8 only.
void matmul(Parallel* parallel, MatrixView<const float> input, const WeightMatrix& weight,
            const float* bias, RoundedRows& scratch, MatrixView<float> output);

}  // namespace relata::kernels
