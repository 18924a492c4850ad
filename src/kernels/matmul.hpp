// One product for everything: projections, q . k, weights times values, q . aK, weights per
// relation times aV. The second operand is packed (see PackedView), so that both a product of many
// rows and of one row read it as a single sequential stream, no horizontal sum is needed, and every
// output is one sum in ascending k.
#pragma once

#include "src/kernels/kernels.hpp"
#include "src/kernels/simd.hpp"

namespace relata::kernels {

enum class Start { zero, bias, output };  // what the sums start from

/// Rows rows of input times one panel. bias and output point at the panel's first column; `cols` <=
/// kPanelWidth.
template <class Arch, int Rows, Start start>
void matmul_tile(const float* input, int input_stride, const float* panel, int depth,
                 const float* bias, float* output, int output_stride, int cols) {
  constexpr int kVectors = kPanelWidth / simd::kWidth<Arch>;
  using Floats = simd::Floats<Arch>;
  float edge[Rows * kPanelWidth] =
      {};  // stands in for the output where the panel is only partly used
  const bool whole = cols == kPanelWidth;
  float* target = output;
  int target_stride = output_stride;
  if (!whole) {
    target = edge;
    target_stride = kPanelWidth;
    for (int r = 0; r < Rows; ++r) {
      for (int c = 0; c < cols; ++c) {
        if constexpr (start == Start::bias) {
          edge[r * kPanelWidth + c] = bias[c];
        } else if constexpr (start == Start::output) {
          edge[r * kPanelWidth + c] = output[static_cast<std::ptrdiff_t>(r) * output_stride + c];
        }
      }
    }
  }
  Floats sums[Rows][kVectors];
  for (int r = 0; r < Rows; ++r) {
    for (int v = 0; v < kVectors; ++v) {
      const float* row = target + static_cast<std::ptrdiff_t>(r) * target_stride;
      if (start == Start::output || (start == Start::bias && !whole)) {
        sums[r][v] = simd::load<Arch>(row + v * simd::kWidth<Arch>);
      } else if (start == Start::bias) {
        sums[r][v] = simd::load<Arch>(bias + v * simd::kWidth<Arch>);
      } else {
        sums[r][v] = Floats(0.0F);
      }
    }
  }
  for (int k = 0; k < depth; ++k) {
    Floats weights[kVectors];
    for (int v = 0; v < kVectors; ++v) {
      weights[v] = simd::load<Arch>(panel + v * simd::kWidth<Arch>);
    }
    panel += kPanelWidth;
    for (int r = 0; r < Rows; ++r) {
      const Floats x(input[static_cast<std::ptrdiff_t>(r) * input_stride + k]);
      for (int v = 0; v < kVectors; ++v) {
        sums[r][v] = simd::multiply_add<Arch>(x, weights[v], sums[r][v]);
      }
    }
  }
  for (int r = 0; r < Rows; ++r) {
    for (int v = 0; v < kVectors; ++v) {
      sums[r][v].store_unaligned(target + static_cast<std::ptrdiff_t>(r) * target_stride +
                                 v * simd::kWidth<Arch>);
    }
  }
  if (!whole) {
    for (int r = 0; r < Rows; ++r) {
      for (int c = 0; c < cols; ++c) {
        output[static_cast<std::ptrdiff_t>(r) * output_stride + c] = edge[r * kPanelWidth + c];
      }
    }
  }
}

/// Panels outside, rows inside: a panel stays in the first cache while all rows pass by it.
template <class Arch, Start start>
void matmul(MatrixView<const float> input, const PackedView& weight, const float* bias,
            MatrixView<float> output) {
  // Rows times vectors per panel is the number of running sums: as many as 16 registers hold beside
  // the operands.
  constexpr int kRows = simd::kWidth<Arch> >= 8 ? 4 : 2;
  for (int first = 0; first < weight.cols; first += kPanelWidth) {
    const int cols = weight.cols - first < kPanelWidth ? weight.cols - first : kPanelWidth;
    const float* panel = weight.data + (first / kPanelWidth) * weight.panel_stride;
    const float* panel_bias = start == Start::bias ? bias + first : nullptr;
    int i = 0;
    for (; i + kRows <= input.rows; i += kRows) {
      matmul_tile<Arch, kRows, start>(input.row(i), input.stride, panel, weight.depth, panel_bias,
                                      output.row(i) + first, output.stride, cols);
    }
    for (; i < input.rows; ++i) {
      matmul_tile<Arch, 1, start>(input.row(i), input.stride, panel, weight.depth, panel_bias,
                                  output.row(i) + first, output.stride, cols);
    }
  }
}

}  // namespace relata::kernels
