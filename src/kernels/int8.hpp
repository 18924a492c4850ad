// Products with int8 weights: integer sums, so that the result is the same to the bit in every
// build, at every number of rows and on every machine.
//
// A weight is q[c][k] * column_scale[c] * reach[k]. reach[k], the largest weight of input k, levels
// the inputs before rounding: one whose weights are all small would otherwise lose its precision to
// its neighbours. The activations carry it instead; they are rounded to 16 bits, one scale per row,
// to as many steps as the 32-bit sums can hold.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "src/kernels/simd.hpp"
#include "src/kernels/weight_matrix.hpp"

namespace relata::kernels {

/// The largest 16-bit activation at which a sum of `depth` products with |q| <= 127 stays inside 32
/// bits.
inline int activation_limit(int depth) { return std::clamp(INT32_MAX / (127 * depth), 1, 32767); }

/// rounded[k] = values[k] * reach[k] / scale; returns scale. depth values, then a zero
/// where depth is odd.
template <class Arch>
float round_row(const float* values, const float* reach, int depth, std::int16_t* rounded) {
  constexpr int kWidth = simd::kWidth<Arch>;
  using Floats = simd::Floats<Arch>;
  Floats largest(0.0F);
  int k = 0;
  for (; k + kWidth <= depth; k += kWidth) {
    largest =
        xsimd::max(largest, xsimd::abs(simd::load<Arch>(values + k) * simd::load<Arch>(reach + k)));
  }
  float top = xsimd::reduce_max(largest);
  for (; k < depth; ++k) {
    top = std::max(top, std::abs(values[k] * reach[k]));
  }
  const float limit = static_cast<float>(activation_limit(depth));
  // A row of zeros, and one too small to be divided by, round to zeros.
  const float factor = top > 1e-30F ? limit / top : 0;
  for (k = 0; k + kWidth <= depth; k += kWidth) {
    simd::store_rounded<Arch>(
        rounded + k, simd::load<Arch>(values + k) * simd::load<Arch>(reach + k) * Floats(factor));
  }
  for (; k < depth; ++k) {
    rounded[k] = static_cast<std::int16_t>(std::nearbyint(values[k] * reach[k] * factor));
  }
  if (depth % 2 != 0) {
    rounded[depth] = 0;
  }
  return top > 1e-30F ? top / limit : 0;
}

/// output = sums * column scale * row scale + bias, of one row. The sums come in whole vectors.
template <class Arch>
[[gnu::noinline]] void scale_sums(const std::int32_t* sums, float row_scale,
                                  const float* column_scales, const float* bias, int count,
                                  float* output) {
  for (int col = 0; col < count; col += simd::kWidth<Arch>) {
    // Scales are padded to whole panels.
    auto result = xsimd::to_float(simd::Ints<Arch>::load_unaligned(sums + col)) *
                  (simd::load<Arch>(column_scales + col) * simd::Floats<Arch>(row_scale));
    if (bias != nullptr) {
      result += simd::load_at<Arch>(bias, col, count, 0);
    }
    simd::store_at<Arch>(output, col, count, result);
  }
}

/// Rows rows of rounded activations times Vectors vectors of each of Panels panels: output = sums *
/// column scale * row scale + bias. Weights are read as they are kept, or widened to 16 bits.
template <class Arch, int Rows, int Panels, int Vectors, class Weight>
void int8_tile(const std::int16_t* input, int input_stride, const float* row_scales,
               const Weight* panel, std::ptrdiff_t panel_size, int depth,
               const float* column_scales, const float* bias, float* output, int output_stride,
               int cols) {
  constexpr int kWidth = simd::kWidth<Arch>;
  simd::Ints<Arch> sums[Rows][Panels][Vectors];
  for (int r = 0; r < Rows; ++r) {
    for (int p = 0; p < Panels; ++p) {
      for (int v = 0; v < Vectors; ++v) {
        sums[r][p][v] = simd::Ints<Arch>(0);
      }
    }
  }
  for (int k = 0; k < depth; k += 2) {
    simd::Pairs<Arch> weights[Panels][Vectors];
    for (int p = 0; p < Panels; ++p) {
      for (int v = 0; v < Vectors; ++v) {
        weights[p][v] = simd::load_pairs<Arch>(panel + p * panel_size + 2 * v * kWidth);
      }
    }
    panel += 2 * kPanelWidth;
    for (int r = 0; r < Rows; ++r) {
      const auto x =
          simd::broadcast_pair<Arch>(input + static_cast<std::ptrdiff_t>(r) * input_stride + k);
      for (int p = 0; p < Panels; ++p) {
        for (int v = 0; v < Vectors; ++v) {
          sums[r][p][v] = simd::add_pair_products<Arch>(weights[p][v], x, sums[r][p][v]);
        }
      }
    }
  }
  constexpr int kCols = Panels * kPanelWidth;
  std::int32_t whole[Rows * kCols];
  for (int r = 0; r < Rows; ++r) {
    for (int p = 0; p < Panels; ++p) {
      for (int v = 0; v < Vectors; ++v) {
        sums[r][p][v].store_unaligned(whole + r * kCols + p * kPanelWidth + v * kWidth);
      }
    }
  }
  const int count = std::min(cols, (Panels - 1) * kPanelWidth + Vectors * kWidth);
  for (int r = 0; r < Rows; ++r) {
    scale_sums<Arch>(whole + r * kCols, row_scales[r], column_scales, bias, count,
                     output + static_cast<std::ptrdiff_t>(r) * output_stride);
  }
}

/// Rounds rows [first, last) of the input into the scratch.
template <class Arch>
void round_rows(MatrixView<const float> input, const Int8View& weight, int first, int last,
                RoundedRows& scratch) {
  const int stride = weight.depth + weight.depth % 2;
  for (int i = first; i < last; ++i) {
    scratch.scales[static_cast<std::size_t>(i)] =
        round_row<Arch>(input.row(i), weight.reach, weight.depth,
                        scratch.values.data() + static_cast<std::ptrdiff_t>(i) * stride);
  }
}

/// output [n, cols] = rounded rows * weight + bias. wide_panels: scratch for kWidePanels panels of
/// 16 bits.
template <class Arch>
void int8_matmul(const RoundedRows& scratch, const Int8View& weight, const float* bias,
                 std::int16_t* wide_panels, MatrixView<float> output) {
  // Rows times panels times vectors is the number of running sums: as many as 16 registers hold
  // beside the operands.
  constexpr int kWidth = simd::kWidth<Arch>;
  constexpr int kRows = 4;
  constexpr int kVectors = 2;
  // A product of few rows waits for memory: several panels at once keep more of it on its way.
  constexpr int kStreams = kWidePanels;
  const int stride = weight.depth + weight.depth % 2;
  const std::ptrdiff_t panel_size = static_cast<std::ptrdiff_t>(stride) * kPanelWidth;
  const auto tile = [&]<int Rows, int Panels, int Vectors>(int i, int col, const auto* weights) {
    int8_tile<Arch, Rows, Panels, Vectors>(
        scratch.values.data() + static_cast<std::ptrdiff_t>(i) * stride, stride,
        scratch.scales.data() + i, weights, panel_size, weight.depth, weight.column_scales + col,
        bias != nullptr ? bias + col : nullptr, output.row(i) + col, output.stride,
        weight.cols - col);
  };
  const std::int8_t* panel = weight.data;
  int col = 0;
  if (output.rows == 1) {
    for (; col + kStreams * kPanelWidth <= weight.cols; col += kStreams * kPanelWidth) {
      tile.template operator()<1, kStreams, kPanelWidth / kWidth>(0, col, panel);
      panel += kStreams * panel_size;
    }
  }
  for (; col < weight.cols; col += kStreams * kPanelWidth, panel += kStreams * panel_size) {
    const int panels = std::min(kStreams, (weight.cols - col + kPanelWidth - 1) / kPanelWidth);
    const bool widens = output.rows >= kRows;
    for (std::ptrdiff_t at = 0; widens && at < panel_size; at += 2 * kWidth) {
      for (std::ptrdiff_t p = at; p < panels * panel_size; p += panel_size) {
        simd::load_pairs<Arch>(panel + p).store_unaligned(wide_panels + p);
      }
    }
    for (int p = 0; p < panels; ++p) {
      const int first = col + p * kPanelWidth;
      int i = 0;
      for (; i + kRows <= output.rows; i += kRows) {
        for (int part = 0; part < kPanelWidth && first + part < weight.cols;
             part += kVectors * kWidth) {
          tile.template operator()<kRows, 1, kVectors>(i, first + part,
                                                       wide_panels + p * panel_size + 2 * part);
        }
      }
      for (; i < output.rows; ++i) {
        tile.template operator()<1, 1, kPanelWidth / kWidth>(i, first, panel + p * panel_size);
      }
    }
  }
}

}  // namespace relata::kernels
