// A Linear weight [out, in] in the format it is kept in: f32, or int8, rounded while it is loaded
// or before.
#pragma once

#include <cstdint>
#include <span>

#include "src/base/aligned_buffer.hpp"
#include "src/base/matrix_view.hpp"
#include "src/base/parallel.hpp"
#include "src/kernels/kernels.hpp"
#include "src/kernels/rounded.hpp"

namespace relata::kernels {

enum class WeightType { f32, int8 };

/// Whether 8-bit weights are in range: -127..127, so that a product can count on them.
bool in_range(std::span<const std::int8_t> values);

class WeightMatrix {
 public:
  WeightMatrix() = default;
  /// Room for [cols, depth] of a type; every row is to be set. Errors: out_of_memory.
  static Result<WeightMatrix> allocate(WeightType type, int cols, int depth, const char* where,
                                       Scheme scheme = scheme_of_machine());
  /// int8 only: shows a row [depth] of the weight before any is set. Every row is shown, then set.
  void level(const float* row);
  /// Sets row `col` [depth] of the weight, rounding to the type.
  void set_row(int col, const float* row) { set_rows(col, {row, 1, depth_, depth_}); }
  /// Sets the rows from `first` on [n, depth]: fast for whole panels.
  void set_rows(int first, MatrixView<const float> rows);
  /// Whether set_row with these values would change nothing.
  bool holds_row(int col, const float* row) const;

  /// int8 only, instead of level and set_rows: what integers that are rounded already are
  /// multiplied by. scales: one a column, or one for all; reach: one an input, or none where it
  /// is 1.
  void set_factors(std::span<const float> scales, std::span<const float> reach);
  /// The integers, all in range, of the rows from `first` on [n, depth]: fast for whole panels.
  void set_integers(int first, MatrixView<const std::int8_t> rows);
  /// int8 only: values[0 .. depth) = the integers of row `col`.
  void copy_integers(int col, std::int8_t* values) const;

  WeightType type() const { return type_; }
  Scheme scheme() const { return scheme_; }
  int cols() const { return cols_; }
  int depth() const { return depth_; }
  std::uint64_t bytes() const;
  /// values[0 .. depth) = row `col` of the weight (an embedding), as the kept format has it.
  void copy_row(int col, float* values) const;

  const PackedMatrix& f32() const { return f32_; }
  /// See rounded_matmul.hpp for what the numbers mean.
  RoundedView int8() const;

 private:
  std::ptrdiff_t panel_stride() const {
    return static_cast<std::ptrdiff_t>(in_whole(scheme_, depth_)) * kPanelWidth;
  }
  std::int8_t* panel(int col) { return values_.data() + col / kPanelWidth * panel_stride(); }
  std::int8_t integer(int col, int k) const;
  /// To be called when integers of column `col`'s panel have been set.
  void find_offsets(int col);

  WeightType type_ = WeightType::f32;
  Scheme scheme_ = Scheme::pairs;
  bool rounded_before_ = false;  // its integers were given
  int cols_ = 0;
  int depth_ = 0;
  PackedMatrix f32_;
  AlignedBuffer<std::int8_t> values_;
  AlignedBuffer<float> column_scales_;
  AlignedBuffer<float> reach_;
  AlignedBuffer<std::int32_t> offsets_;  // of quads
};

/// The first n rows of output [, cols] = input [n, depth] * weight^T + bias (may be null), the
/// columns split over the threads of a pool (may be null). scratch is used by int8 only.
void matmul(Parallel* parallel, MatrixView<const float> input, const WeightMatrix& weight,
            const float* bias, RoundedRows& scratch, MatrixView<float> output);

}  // namespace relata::kernels
