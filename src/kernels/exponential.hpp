#pragma once

#include <cstdint>

#include "src/kernels/simd.hpp"

namespace relata::kernels {

/// e^x to about one unit in the last place; 0 below -87 (also for -infinity), e^88 above 88. The
/// usual reduction x = n ln 2 + r with Cephes' polynomial for e^r; n is rounded by adding 1.5 *
/// 2^23, whose sum also holds n as bits, so that no conversion to integers is needed (slow in
/// WebAssembly, whose conversions saturate).
template <class Arch>
simd::Floats<Arch> exponential(const simd::Floats<Arch>& x) {
  using Floats = simd::Floats<Arch>;
  using Ints = xsimd::batch<std::int32_t, Arch>;
  const auto fma = [](const Floats& a, const Floats& b, const Floats& c) {
    return simd::multiply_add<Arch>(a, b, c);
  };
  const Floats lowest(-87.0F);
  const Floats bounded = xsimd::min(xsimd::max(x, lowest), Floats(88.0F));
  const Floats rounder(12582912.0F);
  const Floats shifted = fma(bounded, Floats(1.44269504F), rounder);
  const Floats n = shifted - rounder;
  // ln 2 in two parts, the first short enough that n times it is exact.
  const Floats r = fma(n, Floats(2.12194440e-4F), fma(n, Floats(-0.693359375F), bounded));
  Floats polynomial(1.9875691500e-4F);
  polynomial = fma(polynomial, r, Floats(1.3981999507e-3F));
  polynomial = fma(polynomial, r, Floats(8.3334519073e-3F));
  polynomial = fma(polynomial, r, Floats(4.1665795894e-2F));
  polynomial = fma(polynomial, r, Floats(1.6666665459e-1F));
  polynomial = fma(polynomial, r, Floats(5.0000001201e-1F));
  polynomial = fma(polynomial, r * r, r + Floats(1.0F));
  const Floats power =
      xsimd::bitwise_cast<float>((xsimd::bitwise_cast<std::int32_t>(shifted) + Ints(127)) << 23);
  return xsimd::select(x < lowest, Floats(0.0F), polynomial * power);
}

}  // namespace relata::kernels
