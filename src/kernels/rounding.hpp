// How rows of the first operand of a product of integers are rounded.
#pragma once

#include <algorithm>
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

/// rounded = values * steps to the nearest integer, as the scheme lays them out, its pairs or quads
/// stride times their length apart. What is past the end in the last one is zero.
template <class Arch>
[[gnu::noinline]] void round_values(Scheme scheme, const Levelled<Arch>& values, float steps,
                                    int stride, std::int16_t* rounded) {
  constexpr int kWidth = simd::kWidth<Arch>;
  const simd::Floats<Arch> factor(steps);
  const int whole = values.depth() / (2 * kWidth) * (2 * kWidth);
  for (int k = 0; k < whole; k += 2 * kWidth) {
    const auto integers =
        simd::rounded_pairs<Arch>(values.at(k) * factor, values.at(k + kWidth) * factor);
    if (scheme == Scheme::pairs) {
      simd::store_pairs<Arch>(rounded + k * stride, stride, integers);
    } else {
      simd::store_quads<Arch>(rounded + k * stride, stride, integers);
    }
  }
  if (whole < values.depth()) {
    float rest[2 * kWidth];
    std::int16_t last[2 * kWidth];
    values.tail(whole).store_unaligned(rest);
    values.tail(whole + kWidth).store_unaligned(rest + kWidth);
    round_values<Arch>(scheme, {rest, nullptr, 2 * kWidth}, steps, 1, last);
    for (int k = whole; k < values.depth(); k += together(scheme)) {
      std::copy_n(last + k - whole, together(scheme), rounded + k * stride);
    }
  }
}

/// Rounds rows [first, last) of `all`, to integers of at most `largest`: first at the beginning of
/// a group. reach as RoundedView's.
template <class Arch>
void round_rows(Scheme scheme, MatrixView<const float> all, const float* reach, float largest,
                float budget, int first, int last, RoundedRows& scratch) {
  const int group = row_group(scheme);
  const std::ptrdiff_t depth = in_whole(scheme, all.cols);
  for (int i = first; i < last; ++i) {
    const int in_group = i % group;
    const bool grouped = i - in_group + group <= all.rows;
    const Levelled<Arch> values(all.row(i), reach, all.cols);
    const float steps = steps_per_unit(extent_of<Arch>(values), largest, budget);
    scratch.scales[static_cast<std::size_t>(i)] = step_size(steps);
    round_values<Arch>(
        scheme, values, steps, grouped ? group : 1,
        scratch.values.data() +
            (grouped ? (i - in_group) * depth + together(scheme) * in_group : i * depth));
  }
}

}  // namespace relata::kernels
