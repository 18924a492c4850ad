#pragma once

#include <cstdint>

#include "src/kernels/simd.hpp"

namespace relata::kernels {

/// The constants of `exponential`, defined where no compiler sees them: V8 would build each of
/// those it knows anew at every use, from a number in an integer register, instead of loading it.
struct ExponentialConstants {
  float lowest;   // e^-88.02 and less are 0
  float highest;  // e^88 is near the largest float
  float log2_e;
  float rounder;       // 1.5 * 2^23: a sum with it is rounded to an integer
  float minus_ln2[2];  // in two parts, the first short enough that an integer times it is exact
  float polynomial[6];
  float one;
};
extern const ExponentialConstants kExponential;

/// e^x to about one unit in the last place; 0 below -88 (also for -infinity), e^88 above 88. The
/// usual reduction x = n ln 2 + r with Cephes' polynomial for e^r; n is rounded by adding 1.5 *
/// 2^23, whose sum also holds n as bits, so that no conversion to integers is needed (slow in
/// WebAssembly, whose conversions saturate).
template <class Arch>
simd::Floats<Arch> exponential(const simd::Floats<Arch>& x) {
  using Floats = simd::Floats<Arch>;
  using Ints = xsimd::batch<std::int32_t, Arch>;
  const ExponentialConstants& constants = kExponential;
  const auto fma = [](const Floats& a, const Floats& b, const Floats& c) {
    return simd::multiply_add<Arch>(a, b, c);
  };
  const Floats bounded =
      simd::min<Arch>(simd::max<Arch>(x, Floats(constants.lowest)), Floats(constants.highest));
  const Floats rounder(constants.rounder);
  const Floats shifted = fma(bounded, Floats(constants.log2_e), rounder);
  const Floats n = shifted - rounder;
  const Floats r =
      fma(n, Floats(constants.minus_ln2[1]), fma(n, Floats(constants.minus_ln2[0]), bounded));
  Floats polynomial(constants.polynomial[0]);
  for (int i = 1; i < 6; ++i) {
    polynomial = fma(polynomial, r, Floats(constants.polynomial[i]));
  }
  polynomial = fma(polynomial, r * r, r + Floats(constants.one));
  // 2^n; at n = -127, where the lowest x end, zero.
  const Floats power =
      xsimd::bitwise_cast<float>((xsimd::bitwise_cast<std::int32_t>(shifted) + Ints(127)) << 23);
  return polynomial * power;
}

}  // namespace relata::kernels
