#pragma once

#include <cstdint>

#include "src/kernels/simd.hpp"

namespace relata::kernels {

/// A number as a vector of WebAssembly holds it.
struct Constant {
  float lanes[4];
};

/// The constants of `exponential`, defined where no compiler sees them: V8 would build each of
/// those it knows anew at every use, from a number in an integer register, instead of loading it.
struct ExponentialConstants {
  Constant lowest;  // e^-88.02 and less are 0
  Constant log2_e;
  Constant rounder;       // 1.5 * 2^23, which rounds to an integer, and the 127 of exponents
  Constant minus_ln2[2];  // in two parts, the first short enough that an integer times it is exact
  Constant polynomial[6];
  Constant one;
};
extern const ExponentialConstants kExponential;

/// e^x, x at most 88, to about one unit in the last place; 0 below -88 (also for -infinity). The
/// usual reduction x = n ln 2 + r with Cephes' polynomial for e^r, whose parts do not wait for one
/// another; n is rounded by adding 1.5 * 2^23, whose sum also holds n as bits, so that no
/// conversion to integers is needed (slow in WebAssembly, whose conversions saturate).
template <class Arch>
simd::Floats<Arch> exponential(const simd::Floats<Arch>& x) {
  using Floats = simd::Floats<Arch>;
  const ExponentialConstants& constants = kExponential;
  const auto fma = [](const Floats& a, const Floats& b, const Floats& c) {
    return simd::multiply_add<Arch>(a, b, c);
  };
  const auto vector = [](const Constant& constant) {
    if constexpr (simd::kWidth<Arch> <= 4) {
      return simd::load<Arch>(constant.lanes);
    } else {
      return Floats(constant.lanes[0]);
    }
  };
  const auto term = [&](int i) { return vector(constants.polynomial[i]); };
  const Floats bounded = simd::max<Arch>(x, vector(constants.lowest));
  const Floats rounder = vector(constants.rounder);
  const Floats shifted = fma(bounded, vector(constants.log2_e), rounder);
  const Floats n = shifted - rounder;
  const Floats r =
      fma(n, vector(constants.minus_ln2[1]), fma(n, vector(constants.minus_ln2[0]), bounded));
  const Floats square = r * r;
  const Floats high = fma(fma(term(0), r, term(1)), square, fma(term(2), r, term(3)));
  const Floats low = fma(term(4), r, term(5));
  const Floats polynomial = fma(fma(high, square, low), square, r + vector(constants.one));
  // 2^n; at n = -127, where the lowest x end, zero.
  const Floats power = xsimd::bitwise_cast<float>(xsimd::bitwise_cast<std::int32_t>(shifted) << 23);
  return polynomial * power;
}

}  // namespace relata::kernels
