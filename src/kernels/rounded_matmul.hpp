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
#include "src/kernels/streaming.hpp"

namespace relata::kernels {

/// The largest magnitude among values[k] * reach[k], and their sum: the same bits in every width.
struct Extent {
  float largest = 0;
  float sum = 0;
};

/// values[k] * reach[k] for k below `depth`, a vector at a time; reach null: ones.
template <class Arch>
class Levelled {
 public:
  Levelled(const float* values, const float* reach, int depth)
      : values_(values), reach_(reach == nullptr ? kOnes : reach), depth_(depth) {
    mask_ = reach == nullptr ? 0 : -1;
  }
  int depth() const { return depth_; }
  /// All of the vector is there; k is a multiple of its width.
  simd::Floats<Arch> at(int k) const {
    return simd::load<Arch>(values_ + k) * simd::load<Arch>(reach_ + (k & mask_));
  }
  /// Zeros past the end.
  simd::Floats<Arch> tail(int k) const {
    const int count = std::clamp(depth_ - k, 0, simd::kWidth<Arch>);
    return simd::load_tail<Arch>(values_ + k, count, 0) *
           simd::load_tail<Arch>(reach_ + (k & mask_), count, 0);
  }

 private:
  static constexpr float kOnes[kLanes] = {1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1};
  const float* values_;
  const float* reach_;
  int depth_;
  int mask_;  // of k, where reach_ is asked: one loop serves both
};

template <class Arch>
[[gnu::noinline]] Extent extent_of(const Levelled<Arch>& values) {
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
  const int whole = values.depth() / kLanes * kLanes;
  for (int k = 0; k < whole; k += kLanes) {
    add(k, [&](int at) { return values.at(at); });
  }
  if (whole < values.depth()) {
    add(whole, [&](int at) { return values.tail(at); });
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

/// rounded = values * steps to the nearest integer, pair by pair: pair p at rounded[2 * p *
/// stride]. The last pair of an odd depth ends with a zero.
template <class Arch>
[[gnu::noinline]] void round_pairs(const Levelled<Arch>& values, float steps, int stride,
                                   std::int16_t* rounded) {
  constexpr int kWidth = simd::kWidth<Arch>;
  const simd::Floats<Arch> factor(steps);
  const int whole = values.depth() / (2 * kWidth) * (2 * kWidth);
  for (int k = 0; k < whole; k += 2 * kWidth) {
    simd::store_pairs<Arch>(
        rounded + k * stride, stride,
        simd::rounded_pairs<Arch>(values.at(k) * factor, values.at(k + kWidth) * factor));
  }
  if (whole < values.depth()) {
    std::int16_t last[2 * kWidth];
    simd::store_pairs<Arch>(last, 1,
                            simd::rounded_pairs<Arch>(values.tail(whole) * factor,
                                                      values.tail(whole + kWidth) * factor));
    for (int k = whole; k < values.depth(); k += 2) {
      std::copy_n(last + k - whole, 2, rounded + k * stride);
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
    const Levelled<Arch> values(all.row(i), reach, all.cols);
    const float steps = steps_per_unit(extent_of<Arch>(values), 32767, budget);
    scratch.scales[static_cast<std::size_t>(i)] = step_size(steps);
    round_pairs<Arch>(
        values, steps, grouped ? kRowGroup : 1,
        scratch.values.data() + (grouped ? (i - in_group) * depth + 2 * in_group : i * depth));
  }
}

/// result [Rows, stride] = Rows rounded rows that lie together times the first Vectors vectors of a
/// panel. A function of its own, called many times: engines compile that best.
template <class Arch, int Rows, int Vectors, class Value>
[[gnu::noinline]] void sum_products(const std::int16_t* rows, const Value* panel, int depth,
                                    Ahead<Value> ahead, std::int32_t* result, int stride) {
  constexpr int kWidth = simd::kWidth<Arch>;
  simd::Ints<Arch> sums[Rows][Vectors];
  for (int r = 0; r < Rows; ++r) {
    for (int v = 0; v < Vectors; ++v) {
      sums[r][v] = simd::Ints<Arch>(0);
    }
  }
  for (int k = 0; k < depth; k += 2) {
    simd::Pairs<Arch> seconds[Vectors];
    for (int v = 0; v < Vectors; ++v) {
      seconds[v] = simd::load_pairs<Arch>(panel + 2 * v * kWidth);
    }
    panel += 2 * kPanelWidth;
    ahead.read();
    for (int r = 0; r < Rows; ++r) {
      const auto x = simd::broadcast_pair<Arch>(rows + 2 * r);
      for (int v = 0; v < Vectors; ++v) {
        sums[r][v] = simd::add_pair_products<Arch>(seconds[v], x, sums[r][v]);
      }
    }
    rows += 2 * Rows;
  }
  for (int r = 0; r < Rows; ++r) {
    for (int v = 0; v < Vectors; ++v) {
      sums[r][v].store_unaligned(result + r * stride + v * kWidth);
    }
  }
}

/// output [cols] = sums * column scale * row scale + start (column scales and start null: 1 and 0).
/// There are sums and column scales in whole vectors.
template <class Arch>
[[gnu::noinline]] void scale_row(const std::int32_t* sums, float row_scale,
                                 const float* column_scales, const float* start, float* output,
                                 int cols) {
  using Floats = simd::Floats<Arch>;
  for (int col = 0; col < cols; col += simd::kWidth<Arch>) {
    const Floats column_scale =
        column_scales == nullptr ? Floats(1.0F) : simd::load<Arch>(column_scales + col);
    auto result = xsimd::to_float(simd::Ints<Arch>::load_unaligned(sums + col)) *
                  (column_scale * Floats(row_scale));
    if (start != nullptr) {
      result += simd::load_at<Arch>(start, col, cols, 0);
    }
    simd::store_at<Arch>(output, col, cols, result);
  }
}

/// output = start (or null) + one rounded row * the first kStreams times `count` panels of second.
template <class Arch, class Value>
[[gnu::noinline]] void multiply_row(const std::int16_t* row, float row_scale,
                                    const RoundedView<Value>& second, int count, const float* start,
                                    float* output) {
  constexpr int kWidth = simd::kWidth<Arch>;
  constexpr int kVectors = kPanelWidth / kWidth;
  for (int panel = 0; panel < count; ++panel) {
    simd::Ints<Arch> sums[kStreams][kVectors];
    const Value* values[kStreams];
    for (int s = 0; s < kStreams; ++s) {
      values[s] = second.data + (panel + s * count) * second.panel_stride;
      for (int v = 0; v < kVectors; ++v) {
        sums[s][v] = simd::Ints<Arch>(0);
      }
    }
    for (int k = 0; k < second.depth; k += 2) {
      const auto x = simd::broadcast_pair<Arch>(row + k);
      for (int s = 0; s < kStreams; ++s) {
        for (int v = 0; v < kVectors; ++v) {
          sums[s][v] = simd::add_pair_products<Arch>(
              simd::load_pairs<Arch>(values[s] + 2 * v * kWidth), x, sums[s][v]);
        }
        values[s] += 2 * kPanelWidth;
      }
    }
    std::int32_t lanes[kStreams][kPanelWidth];
    for (int s = 0; s < kStreams; ++s) {
      for (int v = 0; v < kVectors; ++v) {
        sums[s][v].store_unaligned(lanes[s] + v * kWidth);
      }
    }
    for (int s = 0; s < kStreams; ++s) {
      const int col = (panel + s * count) * kPanelWidth;
      scale_row<Arch>(lanes[s], row_scale,
                      second.column_scales == nullptr ? nullptr : second.column_scales + col,
                      start == nullptr ? nullptr : start + col, output + col, kPanelWidth);
    }
  }
}

/// output [n, cols] = start + rounded rows * second; start as matmul's.
template <class Arch, class Value>
void rounded_matmul(const RoundedRows& scratch, const RoundedView<Value>& second,
                    MatrixView<const float> start, MatrixView<float> output) {
  const int panels = (second.cols + kPanelWidth - 1) / kPanelWidth;
  const std::ptrdiff_t depth = second.depth + second.depth % 2;
  const auto row = [&](int i) { return scratch.values.data() + i * depth; };
  int panel = 0;
  if (output.rows == 1) {
    const int each = second.cols / kPanelWidth / kStreams;
    multiply_row<Arch>(row(0), scratch.scales[0], second, each, start.data, output.data);
    panel = kStreams * each;
  }
  // Rows times vectors is the number of running sums: as many as 16 registers hold beside the
  // operands.
  constexpr int kPanelVectors = kPanelWidth / simd::kWidth<Arch>;
  constexpr int kVectors = std::min(2, kPanelVectors);
  constexpr int kParts = kPanelVectors / kVectors;
  // Rows whose sums wait to be scaled together: whole groups.
  constexpr int kRows = 8 * kRowGroup;
  for (; panel < panels; ++panel) {
    const Value* data = second.data + panel * second.panel_stride;
    const int col = panel * kPanelWidth;
    const int cols = std::min(kPanelWidth, second.cols - col);
    Ahead<Value> ahead(panel + 1 < panels ? data + second.panel_stride : data, 2 * kPanelWidth,
                       panel + 1 < panels ? output.rows / kRowGroup * kParts : 0);
    for (int first = 0; first < output.rows; first += kRows) {
      const int rows = std::min(kRows, output.rows - first);
      std::int32_t sums[kRows * kPanelWidth];
      int i = 0;
      for (; i + kRowGroup <= rows; i += kRowGroup) {
        for (int part = 0; part < kParts; ++part) {
          const int offset = part * kVectors * simd::kWidth<Arch>;
          sum_products<Arch, kRowGroup, kVectors>(row(first + i), data + 2 * offset, second.depth,
                                                  ahead, sums + i * kPanelWidth + offset,
                                                  kPanelWidth);
          ahead.skip(static_cast<int>(depth / 2));
        }
      }
      for (; i < rows; ++i) {
        sum_products<Arch, 1, kPanelVectors>(row(first + i), data, second.depth, Ahead<Value>(data),
                                             sums + i * kPanelWidth, 0);
      }
      const float* scales = second.column_scales == nullptr ? nullptr : second.column_scales + col;
      for (i = 0; i < rows; ++i) {
        scale_row<Arch>(sums + i * kPanelWidth, scratch.scales[static_cast<std::size_t>(first + i)],
                        scales, start.data == nullptr ? nullptr : start.row(first + i) + col,
                        output.row(first + i) + col, cols);
      }
    }
  }
}

}  // namespace relata::kernels
