#pragma once

#include "src/kernels/kernels.hpp"
#include "src/kernels/simd.hpp"

namespace relata::kernels {

template <class Arch>
void add_slope(float* target, float slope, int first, int count) {
  float steps[simd::kWidth<Arch>];
  for (int i = 0; i < simd::kWidth<Arch>; ++i) {
    steps[i] = static_cast<float>(i);
  }
  // Distances stay exact integers in f32; only the product with the slope rounds.
  simd::Floats<Arch> distances =
      simd::load<Arch>(steps) + simd::Floats<Arch>(static_cast<float>(first));
  const simd::Floats<Arch> slopes(slope);
  const simd::Floats<Arch> advance(static_cast<float>(simd::kWidth<Arch>));
  simd::transform<Arch>(target, count, [&](auto value) {
    const auto sum = value + slopes * distances;
    distances += advance;
    return sum;
  });
}

template <class Arch>
float sum_range(const float* values, int first, int last) {
  static_assert(kLanes % simd::kWidth<Arch> == 0);
  float lanes[kLanes] = {};
  int i = first;
  for (; i < last && i % kLanes != 0; ++i) {
    lanes[i % kLanes] += values[i];
  }
  constexpr int kVectors = kLanes / simd::kWidth<Arch>;
  simd::Floats<Arch> sums[kVectors];
  for (int v = 0; v < kVectors; ++v) {
    sums[v] = simd::load<Arch>(lanes + v * simd::kWidth<Arch>);
  }
  for (; i + kLanes <= last; i += kLanes) {
    for (int v = 0; v < kVectors; ++v) {
      sums[v] += simd::load<Arch>(values + i + v * simd::kWidth<Arch>);
    }
  }
  for (int v = 0; v < kVectors; ++v) {
    sums[v].store_unaligned(lanes + v * simd::kWidth<Arch>);
  }
  for (; i < last; ++i) {
    lanes[i % kLanes] += values[i];
  }
  return sum_lanes(lanes);
}

}  // namespace relata::kernels
