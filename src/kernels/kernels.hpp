// The kernels of the build's instruction set behind plain functions. They know floats, not heads or
// tokens.
#pragma once

#include <cstdint>

#include "src/base/aligned_buffer.hpp"
#include "src/base/matrix_view.hpp"

namespace relata::kernels {

/// Output columns per panel of a packed matrix: four vectors of WebAssembly, two of AVX2.
inline constexpr int kPanelWidth = 16;

/// count rounded up to whole vectors of this build: the width at which a product has no edge.
int round_up_to_vector(int count);

/// The second operand of every product, borrowed: `cols` output columns of `depth` values each.
/// Columns are grouped in panels of kPanelWidth; inside a panel value k of all its columns is
/// contiguous: data[panel][k][column in panel]. A Linear weight [out, in] has cols = out, depth =
/// in. The keys of a head have cols = keys, depth = head_dim; its values have cols = head_dim,
/// depth = keys. Columns past `cols` in the last panel are zero or never read back.
struct PackedView {
  const float* data = nullptr;
  int cols = 0;
  int depth = 0;
  std::ptrdiff_t panel_stride = 0;  // floats between two panels, >= depth * kPanelWidth

  /// Columns [first, last); first at the beginning of a panel.
  PackedView slice_cols(int first, int last) const {
    return {data + first / kPanelWidth * panel_stride, last - first, depth, panel_stride};
  }
};

/// Owned packed matrix, zeros at first.
class PackedMatrix {
 public:
  PackedMatrix() = default;
  /// Fresh::anything leaves zeros only where whole panels have columns past `cols`.
  static Result<PackedMatrix> allocate(int cols, int depth, const char* where,
                                       Fresh fresh = Fresh::zeros);
  /// Packs a row-major [cols, depth] matrix (a Linear weight as PyTorch stores it).
  static Result<PackedMatrix> pack(MatrixView<const float> rows, const char* where);

  int cols() const { return cols_; }
  int depth() const { return depth_; }
  std::uint64_t bytes() const { return buffer_.size() * sizeof(float); }
  PackedView view() const { return view(cols_, depth_); }
  /// The first `cols` columns (up to cols() rounded up to a panel: the rest are zeros), using the
  /// first `depth` values of each.
  PackedView view(int cols, int depth) const;
  /// Column `col` = values[0 .. depth): appends a key, or loads one row of a Linear weight.
  void set_column(int col, const float* values);
  /// The columns from `first` on = rows [n, depth]: fast for whole panels.
  void set_columns(int first, MatrixView<const float> rows);
  /// Value k of every column = values[0 .. cols): appends a value vector, or loads a table whose
  /// rows are relations.
  void set_depth_row(int k, const float* values);
  /// Whether column `col` has exactly these values.
  bool holds_column(int col, const float* values) const;
  /// values[0 .. depth) = column `col`: one row of an embedding kept packed for the output
  /// projection.
  void copy_column(int col, float* values) const;
  /// The first `cols` columns, of each the first `depth` values, = those of source; both are at
  /// least that large.
  void copy_from(const PackedMatrix& source, int cols, int depth);

 private:
  float* at(int col, int k);
  const float* at(int col, int k) const;

  AlignedBuffer<float> buffer_;
  int cols_ = 0;
  int depth_ = 0;
};

/// output[i][c] = bias[c] + sum_k input[i][k] * weight(c, k), k in ascending order, in f32.
/// input [n, depth], output [n, cols]; bias [cols] or null. The order of the sum does not depend on
/// n.
void matmul(MatrixView<const float> input, const PackedView& weight, const float* bias,
            MatrixView<float> output);
/// output += input * weight, otherwise as matmul.
void matmul_add(MatrixView<const float> input, const PackedView& weight, MatrixView<float> output);

/// target[i] += source[i].
void add(float* target, const float* source, int count);
/// target[i] += value.
void add_constant(float* target, float value, int count);
/// target[i] *= factor.
void scale(float* target, float factor, int count);
/// target[i] *= source[i].
void multiply(float* target, const float* source, int count);
/// target[i] = value.
void fill(float* target, float value, int count);
/// target[i] = source[i].
void copy(float* target, const float* source, int count);
/// target[i] = slope * (first + i): a bias linear in the distance.
void fill_slope(float* target, float slope, int first, int count);
/// Sum of values[first .. last): kLanes partial sums by index mod kLanes, then reduced in fixed
/// order by `sum_lanes`, so that a scattered sum in the same order gives the same bits.
inline constexpr int kLanes = 16;
float sum_range(const float* values, int first, int last);
/// Reduces kLanes partial sums in the fixed order of sum_range.
float sum_lanes(const float* lanes);

/// values[i] = exp(values[i] - max) / sum. count 0 does nothing; if every value is -infinity the
/// row becomes zeros. No value may be +infinity or NaN.
void softmax(float* values, int count);
/// log(sum(exp(values))), computed against the maximum. count >= 1.
float log_sum_exp(const float* values, int count);
/// Whether every value is a number small enough (a quarter of the largest float) that the
/// difference of any two is one too.
bool all_finite(const float* values, int count);
/// Index of the largest value, the lower index on ties. count >= 1; NaN is never chosen.
int argmax(const float* values, int count);

/// output = (input - mean) / sqrt(variance + epsilon) * weight + bias, row by row; bias may be
/// null. [n, d]
void layer_norm(MatrixView<const float> input, const float* weight, const float* bias,
                float epsilon, MatrixView<float> output);
/// output = input / sqrt(mean(input^2) + epsilon) * weight, row by row (T5's layer norm). [n, d]
void rms_norm(MatrixView<const float> input, const float* weight, float epsilon,
              MatrixView<float> output);

enum class Activation {
  relu,
  gelu,       // x * Phi(x), by erf
  gelu_tanh,  // the tanh form ("gelu_new")
  silu,       // x * sigmoid(x)
};
void activate(Activation activation, float* values, int count);

}  // namespace relata::kernels
