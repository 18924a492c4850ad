// Products of integers, so that the result is the same to the bit in every build, at every number
// of rows and on every machine.
//
// Weights: q[c][k] * column_scale[c] * reach[k] with 8 bits each. reach[k], the largest weight of
// input k against the largest of its column c, levels the inputs before rounding: one whose weights
// are all small would otherwise lose its precision to its neighbours. Keys and values: 16 bits, a
// scale for every position. The first operand carries the reach instead; it is rounded to 16 bits,
// one scale per row, to as many steps as the 32-bit sums can hold.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>

#include "src/kernels/rounded.hpp"
#include "src/kernels/simd.hpp"

namespace relata::kernels {

/// The largest magnitude among values[k] * reach[k], and their sum: the same bits in every width.
struct Extent {
  float largest = 0;
  float sum = 0;
};

/// values[k ..] * reach[k ..], a whole vector.
template <class Arch>
simd::Floats<Arch> levelled(const float* values, const float* reach, int k) {
  const auto value = simd::load<Arch>(values + k);
  return reach == nullptr ? value : value * simd::load<Arch>(reach + k);
}

/// The same of `depth` values in all, zeros past the end.
template <class Arch>
simd::Floats<Arch> levelled_tail(const float* values, const float* reach, int k, int depth) {
  const int count = std::clamp(depth - k, 0, simd::kWidth<Arch>);
  const auto value = simd::load_tail<Arch>(values + k, count, 0);
  return reach == nullptr ? value : value * simd::load_tail<Arch>(reach + k, count, 0);
}

/// function(k, values[k ..] * reach[k ..]) for one vector after the other, zeros past the end.
template <class Arch, class Function>
void for_levelled(const float* values, const float* reach, int depth, const Function& function) {
  constexpr int kWidth = simd::kWidth<Arch>;
  const int whole = depth / kWidth * kWidth;
  for (int k = 0; k < whole; k += kWidth) {
    function(k, levelled<Arch>(values, reach, k));
  }
  if (whole < depth) {
    function(whole, levelled_tail<Arch>(values, reach, whole, depth));
  }
}

template <class Arch>
[[gnu::noinline]] Extent extent_of(const float* values, const float* reach, int depth) {
  constexpr int kWidth = simd::kWidth<Arch>;
  constexpr int kVectors = kLanes / kWidth;
  simd::Floats<Arch> largest(0.0F);
  simd::Floats<Arch> sums[kVectors];
  for (int v = 0; v < kVectors; ++v) {
    sums[v] = simd::Floats<Arch>(0.0F);
  }
  const auto add = [&](int k, const auto& vector_at) {
    for (int v = 0; v < kVectors; ++v) {
      const auto magnitude = xsimd::abs(vector_at(k + v * kWidth));
      largest = simd::max<Arch>(largest, magnitude);
      sums[v] += magnitude;
    }
  };
  const int whole = depth / kLanes * kLanes;
  for (int k = 0; k < whole; k += kLanes) {
    add(k, [&](int at) { return levelled<Arch>(values, reach, at); });
  }
  if (whole < depth) {
    add(whole, [&](int at) { return levelled_tail<Arch>(values, reach, at, depth); });
  }
  float lanes[kLanes];
  for (int v = 0; v < kVectors; ++v) {
    sums[v].store_unaligned(lanes + v * kWidth);
  }
  return {xsimd::reduce_max(largest), sum_lanes(lanes)};
}

/// Steps per unit at which values of an extent stay within `limit` each and within `budget`
/// together. Zero for a row of zeros and for one too small to be divided by; NaN where a value is
/// no number.
inline float steps_per_unit(const Extent& extent, float limit, float budget) {
  if (!(extent.sum <= std::numeric_limits<float>::max())) {
    return std::numeric_limits<float>::quiet_NaN();
  }
  return extent.largest > 1e-30F ? std::min(limit / extent.largest, budget / extent.sum) : 0;
}

/// What one step stands for.
inline float step_size(float steps) { return steps == 0 ? 0 : 1 / steps; }

/// rounded = values[k] * reach[k] * steps to the nearest integer, pair by pair: pair p at rounded[2
/// * p * stride]. The last pair of an odd depth ends with a zero.
template <class Arch>
void round_pairs(const float* values, const float* reach, int depth, float steps, int stride,
                 std::int16_t* rounded) {
  constexpr int kWidth = simd::kWidth<Arch>;
  const simd::Floats<Arch> factor(steps);
  const int whole = depth / kWidth * kWidth;
  for (int k = 0; k < whole; k += kWidth) {
    simd::store_pairs<Arch>(rounded, stride, levelled<Arch>(values, reach, k) * factor);
    rounded += kWidth * stride;
  }
  if (whole < depth) {
    std::int16_t last[kWidth];
    simd::store_pairs<Arch>(last, 1, levelled_tail<Arch>(values, reach, whole, depth) * factor);
    for (int k = 0; k < depth - whole; k += 2) {
      std::copy_n(last + k, 2, rounded + k * stride);
    }
  }
}

/// Rounds rows [first, last) of `all`: first at the beginning of a group. reach as RoundedView's.
template <class Arch>
void round_rows(MatrixView<const float> all, const float* reach, float budget, int first, int last,
                RoundedRows& scratch) {
  const std::ptrdiff_t depth = all.cols + all.cols % 2;
  for (int i = first; i < last; ++i) {
    const int in_group = i % kRowGroup;
    const bool grouped = i - in_group + kRowGroup <= all.rows;
    const float steps = steps_per_unit(extent_of<Arch>(all.row(i), reach, all.cols), 32767, budget);
    scratch.scales[static_cast<std::size_t>(i)] = step_size(steps);
    round_pairs<Arch>(
        all.row(i), reach, all.cols, steps, grouped ? kRowGroup : 1,
        scratch.values.data() + (grouped ? (i - in_group) * depth + 2 * in_group : i * depth));
  }
}

/// result [Rows, Panels * Vectors * kWidth] = Rows rounded rows that lie together times the first
/// Vectors vectors of each of Panels panels. A function of its own, called many times: engines
/// compile that best.
template <class Arch, int Rows, int Panels, int Vectors, class Value>
[[gnu::noinline]] void sum_products(const std::int16_t* rows, const Value* panel,
                                    std::ptrdiff_t panel_stride, int depth, std::int32_t* result,
                                    int stride) {
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
    simd::Pairs<Arch> seconds[Panels][Vectors];
    for (int p = 0; p < Panels; ++p) {
      for (int v = 0; v < Vectors; ++v) {
        seconds[p][v] = simd::load_pairs<Arch>(panel + p * panel_stride + 2 * v * kWidth);
      }
    }
    panel += 2 * kPanelWidth;
    for (int r = 0; r < Rows; ++r) {
      const auto x = simd::broadcast_pair<Arch>(rows + 2 * r);
      for (int p = 0; p < Panels; ++p) {
        for (int v = 0; v < Vectors; ++v) {
          sums[r][p][v] = simd::add_pair_products<Arch>(seconds[p][v], x, sums[r][p][v]);
        }
      }
    }
    rows += 2 * Rows;
  }
  for (int r = 0; r < Rows; ++r) {
    for (int p = 0; p < Panels; ++p) {
      for (int v = 0; v < Vectors; ++v) {
        sums[r][p][v].store_unaligned(result + r * stride + (p * Vectors + v) * kWidth);
      }
    }
  }
}

/// output [rows, cols] = sums * column scale * row scale + start (null data: zero). A row of sums
/// has `stride`, in whole vectors.
template <class Arch>
[[gnu::noinline]] void scale_sums(const std::int32_t* sums, int stride, const float* row_scales,
                                  const float* column_scales, MatrixView<const float> start,
                                  MatrixView<float> output) {
  constexpr int kWidth = simd::kWidth<Arch>;
  using Floats = simd::Floats<Arch>;
  for (int col = 0; col < output.cols; col += kWidth) {
    // Column scales are padded to whole panels.
    const auto scales =
        column_scales == nullptr ? Floats(1.0F) : simd::load<Arch>(column_scales + col);
    for (int i = 0; i < output.rows; ++i) {
      const auto sum = simd::Ints<Arch>::load_unaligned(sums + i * stride + col);
      auto result = xsimd::to_float(sum) * (scales * Floats(row_scales[i]));
      if (start.data != nullptr) {
        result += simd::load_at<Arch>(start.row(i), col, output.cols, 0);
      }
      simd::store_at<Arch>(output.row(i), col, output.cols, result);
    }
  }
}

/// output [n, cols] = start + rounded rows * second; start as matmul's.
template <class Arch, class Value>
void rounded_matmul(const RoundedRows& scratch, const RoundedView<Value>& second,
                    MatrixView<const float> start, MatrixView<float> output) {
  // Rows times vectors is the number of running sums: as many as 16 registers hold beside the
  // operands.
  constexpr int kPanelVectors = kPanelWidth / simd::kWidth<Arch>;
  constexpr int kVectors = std::min(2, kPanelVectors);
  // A product of one row waits for memory: reading at several places far from one another, each of
  // them on and on, keeps more of it on its way than reading neighbours does.
  constexpr int kStreams = 3;
  // Rows whose sums wait to be scaled together: whole groups.
  constexpr int kRows = 8 * kRowGroup;
  const std::ptrdiff_t depth = second.depth + second.depth % 2;
  const auto sum = [&]<int Rows, int Panels, int Vectors>(int i, int col, std::int32_t* sums,
                                                          int stride, int panels_between) {
    sum_products<Arch, Rows, Panels, Vectors>(
        scratch.values.data() + i * depth,
        second.data + col / kPanelWidth * second.panel_stride + 2 * (col % kPanelWidth),
        panels_between * second.panel_stride, second.depth, sums, stride);
  };
  const auto scale = [&](const std::int32_t* sums, int stride, int i, int rows, int col) {
    const int cols = std::min(stride, second.cols - col);
    scale_sums<Arch>(
        sums, stride, scratch.scales.data() + i,
        second.column_scales == nullptr ? nullptr : second.column_scales + col,
        start.data == nullptr ? start : start.slice_rows(i, rows).slice_cols(col, cols),
        output.slice_rows(i, rows).slice_cols(col, cols));
  };
  int col = 0;
  if (output.rows == 1) {
    const int panels = second.cols / kPanelWidth / kStreams;  // of each stream
    for (int panel = 0; panel < panels; ++panel) {
      std::int32_t sums[kStreams * kPanelWidth];
      sum.template operator()<1, kStreams, kPanelVectors>(0, panel * kPanelWidth, sums, 0, panels);
      for (int stream = 0; stream < kStreams; ++stream) {
        scale(sums + stream * kPanelWidth, kPanelWidth, 0, 1,
              (stream * panels + panel) * kPanelWidth);
      }
    }
    col = kStreams * panels * kPanelWidth;
  }
  for (; col < second.cols; col += kPanelWidth) {
    for (int first = 0; first < output.rows; first += kRows) {
      const int rows = std::min(kRows, output.rows - first);
      std::int32_t sums[kRows * kPanelWidth];
      int i = 0;
      for (; i + kRowGroup <= rows; i += kRowGroup) {
        for (int part = 0; part < kPanelWidth; part += kVectors * simd::kWidth<Arch>) {
          sum.template operator()<kRowGroup, 1, kVectors>(
              first + i, col + part, sums + i * kPanelWidth + part, kPanelWidth, 0);
        }
      }
      for (; i < rows; ++i) {
        sum.template operator()<1, 1, kPanelVectors>(first + i, col, sums + i * kPanelWidth, 0, 0);
      }
      scale(sums, kPanelWidth, first, rows, col);
    }
  }
}

}  // namespace relata::kernels
