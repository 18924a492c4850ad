#pragma once

#include <cmath>
#include <limits>

#include "src/kernels/exponential.hpp"
#include "src/kernels/simd.hpp"

namespace relata::kernels {

inline constexpr float kMinusInfinity = -std::numeric_limits<float>::infinity();

template <class Arch>
float maximum(const float* values, int count) {
  return xsimd::reduce_max(
      simd::accumulate<Arch>(values, count, kMinusInfinity, kMinusInfinity,
                             [](auto a, auto b) { return simd::max<Arch>(a, b); }));
}

template <class Arch>
void softmax(float* values, int count) {
  const float largest = maximum<Arch>(values, count);
  if (largest == kMinusInfinity) {
    // Nothing may be attended to: no weight at all, where exp(-inf + inf) would be NaN.
    simd::transform<Arch>(values, count, [](auto) { return simd::Floats<Arch>(0.0F); });
    return;
  }
  const simd::Floats<Arch> shift(largest);
  simd::Floats<Arch> sums(0.0F);
  // Lanes past the end are exp(-inf) = 0.
  simd::transform<Arch>(
      values, count,
      [&](auto value) {
        const auto weight = exponential<Arch>(value - shift);
        sums += weight;
        return weight;
      },
      kMinusInfinity);
  const simd::Floats<Arch> factor(1 / xsimd::reduce_add(sums));
  simd::transform<Arch>(values, count, [&factor](auto value) { return value * factor; });
}

template <class Arch>
float log_sum_exp(const float* values, int count) {
  const float largest = maximum<Arch>(values, count);
  if (std::isinf(largest)) {
    return largest;
  }
  const simd::Floats<Arch> shift(largest);
  // Lanes past the end are exp(-inf) = 0.
  const auto sums = simd::accumulate<Arch>(
      values, count, 0, kMinusInfinity,
      [&shift](auto partial, auto value) { return partial + exponential<Arch>(value - shift); });
  return largest + std::log(xsimd::reduce_add(sums));
}

}  // namespace relata::kernels
