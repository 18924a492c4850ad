#pragma once

#include "src/kernels/exponential.hpp"
#include "src/kernels/kernels.hpp"
#include "src/kernels/simd.hpp"

namespace relata::kernels {

/// x / (1 + e^-u): x times the sigmoid of u.
template <class Arch>
simd::Floats<Arch> times_sigmoid(const simd::Floats<Arch>& x, const simd::Floats<Arch>& u) {
  using Floats = simd::Floats<Arch>;
  // Below, e^-u is beyond f32, and the quotient closer to zero than anything it is added to.
  return xsimd::select(u < Floats(-88.0F), Floats(0.0F),
                       x / (Floats(1.0F) + exponential<Arch>(-u)));
}

template <class Arch>
void activate(Activation activation, float* values, int count) {
  using Floats = simd::Floats<Arch>;
  const Floats zero(0.0F);
  const Floats half(0.5F);
  const Floats one(1.0F);
  switch (activation) {
    case Activation::relu:
      simd::transform<Arch>(values, count, [&](auto x) { return simd::max<Arch>(x, zero); });
      return;
    case Activation::gelu: {
      const Floats inverse_sqrt2(0.70710678118654752F);
      simd::transform<Arch>(
          values, count, [&](auto x) { return half * x * (one + xsimd::erf(x * inverse_sqrt2)); });
      return;
    }
    case Activation::gelu_tanh: {
      // (1 + tanh(u)) / 2 is the sigmoid of 2u.
      const Floats factor(2 * 0.79788456080286536F);  // 2 sqrt(2 / pi)
      const Floats cubic(0.044715F);
      simd::transform<Arch>(values, count, [&](auto x) {
        return times_sigmoid<Arch>(x, factor * simd::multiply_add<Arch>(cubic * x * x, x, x));
      });
      return;
    }
    case Activation::silu:
      simd::transform<Arch>(values, count, [&](auto x) { return times_sigmoid<Arch>(x, x); });
      return;
  }
}

}  // namespace relata::kernels
