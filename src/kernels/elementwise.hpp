#pragma once

#include "src/kernels/kernels.hpp"
#include "src/kernels/simd.hpp"

namespace relata::kernels {

// Not by simd::combine, which reads what it writes to.
template <class Arch>
void fill(float* target, float value, int count) {
  const simd::Floats<Arch> vector(value);
  int i = 0;
  for (; i + simd::kWidth<Arch> <= count; i += simd::kWidth<Arch>) {
    vector.store_unaligned(target + i);
  }
  if (i < count) {
    simd::store_tail<Arch>(target + i, vector, count - i);
  }
}

template <class Arch>
void copy(float* target, const float* source, int count) {
  int i = 0;
  for (; i + simd::kWidth<Arch> <= count; i += simd::kWidth<Arch>) {
    simd::load<Arch>(source + i).store_unaligned(target + i);
  }
  if (i < count) {
    simd::store_tail<Arch>(target + i, simd::load_tail<Arch>(source + i, count - i, 0), count - i);
  }
}

template <class Arch>
void fill_slope(float* target, float slope, int first, int count) {
  float steps[simd::kWidth<Arch>];
  for (int i = 0; i < simd::kWidth<Arch>; ++i) {
    steps[i] = static_cast<float>(i);
  }
  // Distances stay exact integers in f32; only the product with the slope rounds.
  simd::Floats<Arch> distances =
      simd::load<Arch>(steps) + simd::Floats<Arch>(static_cast<float>(first));
  const simd::Floats<Arch> slopes(slope);
  const simd::Floats<Arch> advance(static_cast<float>(simd::kWidth<Arch>));
  simd::transform<Arch>(target, count, [&](auto) {
    const auto value = slopes * distances;
    distances += advance;
    return value;
  });
}

template <class Arch>
float sum_range(const float* values, int first, int last) {
  static_assert(kLanes % simd::kWidth<Arch> == 0);
  constexpr int kVectors = kLanes / simd::kWidth<Arch>;
  simd::Floats<Arch> sums[kVectors];
  for (int v = 0; v < kVectors; ++v) {
    sums[v] = simd::Floats<Arch>(0.0F);
  }
  constexpr int kWidth = simd::kWidth<Arch>;
  for (int block = first / kLanes * kLanes; block < last; block += kLanes) {
    const bool whole = block >= first && block + kLanes <= last;
    for (int v = 0; v < kVectors; ++v) {
      const int at = block + v * kWidth;
      if (whole || (at >= first && at + kWidth <= last)) {
        sums[v] += simd::load<Arch>(values + at);
      } else if (at + kWidth > first && at < last) {
        float lanes[kWidth];
        for (int i = 0; i < kWidth; ++i) {
          lanes[i] = at + i >= first && at + i < last ? values[at + i] : 0;
        }
        sums[v] += simd::load<Arch>(lanes);
      }
    }
  }
  float lanes[kLanes];
  for (int v = 0; v < kVectors; ++v) {
    sums[v].store_unaligned(lanes + v * simd::kWidth<Arch>);
  }
  return sum_lanes(lanes);
}

}  // namespace relata::kernels
