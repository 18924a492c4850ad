#pragma once

#include "src/kernels/exponential.hpp"
#include "src/kernels/kernels.hpp"
#include "src/kernels/simd.hpp"

namespace relata::kernels {

template <class Arch>
void activate(Activation activation, float* values, int count) {
  using Floats = simd::Floats<Arch>;
  const Floats zero(0.0F);
  const Floats half(0.5F);
  const Floats one(1.0F);
  switch (activation) {
    case Activation::relu:
      simd::transform<Arch>(values, count, [&](auto x) { return xsimd::max(x, zero); });
      return;
    case Activation::gelu: {
      const Floats inverse_sqrt2(0.70710678118654752F);
      simd::transform<Arch>(
          values, count, [&](auto x) { return half * x * (one + xsimd::erf(x * inverse_sqrt2)); });
      return;
    }
    case Activation::gelu_tanh: {
      const Floats factor(0.79788456080286536F);  // sqrt(2 / pi)
      const Floats cubic(0.044715F);
      simd::transform<Arch>(values, count, [&](auto x) {
        return half * x *
               (one + xsimd::tanh(factor * simd::multiply_add<Arch>(cubic * x * x, x, x)));
      });
      return;
    }
    case Activation::silu: {
      // Below, e^-x is beyond f32, and the quotient closer to zero than anything it is added to.
      const Floats lowest(-88.0F);
      simd::transform<Arch>(values, count, [&](auto x) {
        return xsimd::select(x < lowest, zero, x / (one + exponential<Arch>(-x)));
      });
      return;
    }
  }
}

}  // namespace relata::kernels
