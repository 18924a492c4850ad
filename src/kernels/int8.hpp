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

/// Rows rows of rounded activations times one panel: output = sums * column scale * row scale +
/// bias.
template <class Arch, int Rows>
void int8_tile(const std::int16_t* input, int input_stride, const float* row_scales,
               const std::int8_t* panel, int depth, const float* column_scales, const float* bias,
               float* output, int output_stride, int cols) {
  constexpr int kWidth = simd::kWidth<Arch>;
  constexpr int kVectors = kPanelWidth / kWidth;
  simd::Ints<Arch> sums[Rows][kVectors];
  for (int r = 0; r < Rows; ++r) {
    for (int v = 0; v < kVectors; ++v) {
      sums[r][v] = simd::Ints<Arch>(0);
    }
  }
  for (int k = 0; k < depth; k += 2) {
    simd::Pairs<Arch> weights[kVectors];
    for (int v = 0; v < kVectors; ++v) {
      weights[v] = simd::load_pairs<Arch>(panel + 2 * v * kWidth);
    }
    panel += 2 * kPanelWidth;
    for (int r = 0; r < Rows; ++r) {
      const auto x =
          simd::broadcast_pair<Arch>(input + static_cast<std::ptrdiff_t>(r) * input_stride + k);
      for (int v = 0; v < kVectors; ++v) {
        sums[r][v] = simd::add_pair_products<Arch>(weights[v], x, sums[r][v]);
      }
    }
  }
  for (int r = 0; r < Rows; ++r) {
    float* row = output + static_cast<std::ptrdiff_t>(r) * output_stride;
    for (int v = 0; v < kVectors && v * kWidth < cols; ++v) {
      // Scales and bias are padded to whole panels.
      auto result = xsimd::to_float(sums[r][v]) * (simd::load<Arch>(column_scales + v * kWidth) *
                                                   simd::Floats<Arch>(row_scales[r]));
      if (bias != nullptr) {
        result += cols >= (v + 1) * kWidth
                      ? simd::load<Arch>(bias + v * kWidth)
                      : simd::load_tail<Arch>(bias + v * kWidth, cols - v * kWidth, 0);
      }
      if (cols >= (v + 1) * kWidth) {
        result.store_unaligned(row + v * kWidth);
      } else {
        simd::store_tail<Arch>(row + v * kWidth, result, cols - v * kWidth);
      }
    }
  }
}

/// output [n, cols] = input [n, depth] * weight + bias; n at most the rows of scratch.
template <class Arch>
void int8_matmul(MatrixView<const float> input, const Int8View& weight, const float* bias,
                 RoundedRows& scratch, MatrixView<float> output) {
  constexpr int kRows = 2;  // as many sums as registers hold
  const int stride = weight.depth + weight.depth % 2;
  for (int i = 0; i < input.rows; ++i) {
    scratch.scales[static_cast<std::size_t>(i)] =
        round_row<Arch>(input.row(i), weight.reach, weight.depth,
                        scratch.values.data() + static_cast<std::ptrdiff_t>(i) * stride);
  }
  const std::int8_t* panel = weight.data;
  for (int first = 0; first < weight.cols;
       first += kPanelWidth, panel += static_cast<std::ptrdiff_t>(stride) * kPanelWidth) {
    const int cols = std::min(kPanelWidth, weight.cols - first);
    const float* panel_bias = bias != nullptr ? bias + first : nullptr;
    const auto tile = [&]<int Rows>(int i) {
      int8_tile<Arch, Rows>(scratch.values.data() + static_cast<std::ptrdiff_t>(i) * stride, stride,
                            scratch.scales.data() + i, panel, weight.depth,
                            weight.column_scales + first, panel_bias, output.row(i) + first,
                            output.stride, cols);
    };
    int i = 0;
    for (; i + kRows <= input.rows; i += kRows) {
      tile.template operator()<kRows>(i);
    }
    for (; i < input.rows; ++i) {
      tile.template operator()<1>(i);
    }
  }
}

}  // namespace relata::kernels
