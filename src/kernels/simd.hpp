// The only file that includes xsimd and the only one that may look at the instruction set. Every
// kernel is a template on Arch, written once: kernels.cpp instantiates it for the build, the tests
// for emulated widths as well.
#pragma once

#include <xsimd/xsimd.hpp>

namespace relata::simd {

/// The widest vectors of this build: WebAssembly's 128 bits, AVX2 natively.
using BuildArch = xsimd::default_arch;

template <class Arch>
using Floats = xsimd::batch<float, Arch>;

template <class Arch>
inline constexpr int kWidth = static_cast<int>(Floats<Arch>::size);

template <class Arch>
Floats<Arch> load(const float* source) {
  return Floats<Arch>::load_unaligned(source);
}

/// a * b + c; fused where the build has it. One place, so that a relaxed build changes one line.
template <class Arch>
Floats<Arch> multiply_add(const Floats<Arch>& a, const Floats<Arch>& b, const Floats<Arch>& c) {
  return xsimd::fma(a, b, c);
}

/// The first `count` < kWidth values, the rest `fill`: the one way in which tails are read
/// everywhere.
template <class Arch>
Floats<Arch> load_tail(const float* source, int count, float fill) {
  float lanes[kWidth<Arch>];
  for (int i = 0; i < kWidth<Arch>; ++i) {
    lanes[i] = i < count ? source[i] : fill;
  }
  return load<Arch>(lanes);
}

/// Writes the first `count` < kWidth lanes and nothing else.
template <class Arch>
void store_tail(float* target, const Floats<Arch>& value, int count) {
  float lanes[kWidth<Arch>];
  value.store_unaligned(lanes);
  for (int i = 0; i < count; ++i) {
    target[i] = lanes[i];
  }
}

/// values[i] = function(values[i]), a vector at a time.
template <class Arch, class Function>
void transform(float* values, int count, Function function) {
  int i = 0;
  for (; i + kWidth<Arch> <= count; i += kWidth<Arch>) {
    function(load<Arch>(values + i)).store_unaligned(values + i);
  }
  if (i < count) {
    store_tail<Arch>(values + i, function(load_tail<Arch>(values + i, count - i, 0)), count - i);
  }
}

/// target[i] = function(target[i], source[i]), a vector at a time.
template <class Arch, class Function>
void combine(float* target, const float* source, int count, Function function) {
  int i = 0;
  for (; i + kWidth<Arch> <= count; i += kWidth<Arch>) {
    function(load<Arch>(target + i), load<Arch>(source + i)).store_unaligned(target + i);
  }
  if (i < count) {
    const int rest = count - i;
    store_tail<Arch>(
        target + i,
        function(load_tail<Arch>(target + i, rest, 0), load_tail<Arch>(source + i, rest, 0)), rest);
  }
}

/// partial = function(partial, values), vector by vector from partial = start; lanes past the end
/// read `fill`.
template <class Arch, class Function>
Floats<Arch> accumulate(const float* values, int count, float start, float fill,
                        Function function) {
  Floats<Arch> partial(start);
  int i = 0;
  for (; i + kWidth<Arch> <= count; i += kWidth<Arch>) {
    partial = function(partial, load<Arch>(values + i));
  }
  if (i < count) {
    partial = function(partial, load_tail<Arch>(values + i, count - i, fill));
  }
  return partial;
}

}  // namespace relata::simd
