// One product for everything: projections, q . k, weights times values, q . aK, weights per
// relation times aV. The second operand is packed (see PackedView), so that both a product of many
// rows and of one row read it as a single sequential stream, no horizontal sum is needed, and every
// output is one sum in ascending k.
#pragma once

#include "src/kernels/kernels.hpp"
#include "src/kernels/simd.hpp"

namespace relata::kernels {

enum class Start { zero, bias, output };  // what the sums start from

/// Rows rows of input times the first Vectors vectors of a panel's columns. bias and output point
/// at the panel's first column.
template <class Arch, int Rows, int Vectors, Start start>
void matmul_tile(const float* input, int input_stride, const float* panel, int depth,
                 const float* bias, float* output, int output_stride) {
  using Floats = simd::Floats<Arch>;
  Floats sums[Rows][Vectors];
  for (int r = 0; r < Rows; ++r) {
    for (int v = 0; v < Vectors; ++v) {
      if constexpr (start == Start::zero) {
        sums[r][v] = Floats(0.0F);
      } else {
        const float* from =
            start == Start::bias ? bias : output + static_cast<std::ptrdiff_t>(r) * output_stride;
        sums[r][v] = simd::load<Arch>(from + v * simd::kWidth<Arch>);
      }
    }
  }
  for (int k = 0; k < depth; ++k) {
    Floats weights[Vectors];
    for (int v = 0; v < Vectors; ++v) {
      weights[v] = simd::load<Arch>(panel + v * simd::kWidth<Arch>);
    }
    panel += kPanelWidth;
    for (int r = 0; r < Rows; ++r) {
      const Floats x(input[static_cast<std::ptrdiff_t>(r) * input_stride + k]);
      for (int v = 0; v < Vectors; ++v) {
        sums[r][v] = simd::multiply_add<Arch>(x, weights[v], sums[r][v]);
      }
    }
  }
  for (int r = 0; r < Rows; ++r) {
    for (int v = 0; v < Vectors; ++v) {
      sums[r][v].store_unaligned(output + static_cast<std::ptrdiff_t>(r) * output_stride +
                                 v * simd::kWidth<Arch>);
    }
  }
}

/// All rows of input times the first Vectors vectors of one panel.
template <class Arch, int Vectors, Start start>
void matmul_panel(MatrixView<const float> input, const float* panel, int depth, const float* bias,
                  MatrixView<float> output) {
  // Rows times vectors is the number of running sums: as many as 16 registers hold beside the
  // operands.
  constexpr int kRows = 8 / Vectors < 4 ? 8 / Vectors : 4;
  int i = 0;
  for (; i + kRows <= input.rows; i += kRows) {
    matmul_tile<Arch, kRows, Vectors, start>(input.row(i), input.stride, panel, depth, bias,
                                             output.row(i), output.stride);
  }
  for (; i < input.rows; ++i) {
    matmul_tile<Arch, 1, Vectors, start>(input.row(i), input.stride, panel, depth, bias,
                                         output.row(i), output.stride);
  }
}

/// One row times a panel of which only the first `cols` columns exist outside.
template <class Arch, Start start>
void matmul_edge(const float* input, const float* panel, int depth, const float* bias,
                 float* output, int cols) {
  constexpr int kVectors = kPanelWidth / simd::kWidth<Arch>;
  float edge[kPanelWidth];
  for (int c = 0; c < kPanelWidth; ++c) {
    if constexpr (start == Start::zero) {
      edge[c] = 0;
    } else {
      edge[c] = c < cols ? (start == Start::bias ? bias : output)[c] : 0;
    }
  }
  matmul_tile<Arch, 1, kVectors, start == Start::zero ? Start::zero : Start::output>(
      input, 0, panel, depth, nullptr, edge, 0);
  for (int c = 0; c < cols; ++c) {
    output[c] = edge[c];
  }
}

/// The last panel, of which `cols` < kPanelWidth columns exist: as many vectors as that fills, or
/// an edge.
template <class Arch, int Vectors, Start start>
void matmul_part(MatrixView<const float> input, const float* panel, int depth, const float* bias,
                 MatrixView<float> output, int cols) {
  if constexpr (Vectors == 0) {
    for (int i = 0; i < input.rows; ++i) {
      matmul_edge<Arch, start>(input.row(i), panel, depth, bias, output.row(i), cols);
    }
  } else if (cols == Vectors * simd::kWidth<Arch>) {
    matmul_panel<Arch, Vectors, start>(input, panel, depth, bias, output);
  } else {
    matmul_part<Arch, Vectors - 1, start>(input, panel, depth, bias, output, cols);
  }
}

/// Panels outside, rows inside: a panel stays in the first cache while all rows pass by it.
template <class Arch, Start start>
void matmul(MatrixView<const float> input, const PackedView& weight, const float* bias,
            MatrixView<float> output) {
  constexpr int kVectors = kPanelWidth / simd::kWidth<Arch>;
  const float* panel = weight.data;
  for (int first = 0; first < weight.cols; first += kPanelWidth, panel += weight.panel_stride) {
    const float* panel_bias = start == Start::bias ? bias + first : nullptr;
    const int cols = weight.cols - first;
    const auto target = output.slice_cols(first, cols);
    if (cols >= kPanelWidth) {
      matmul_panel<Arch, kVectors, start>(input, panel, weight.depth, panel_bias, target);
    } else {
      matmul_part<Arch, kVectors - 1, start>(input, panel, weight.depth, panel_bias, target, cols);
    }
  }
}

}  // namespace relata::kernels
