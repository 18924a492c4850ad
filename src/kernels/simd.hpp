// The only file that includes xsimd and the only one that may look at the instruction set. Every
// kernel is a template on Arch, written once: kernels.cpp instantiates it for the build, the tests
// for emulated widths as well.
#pragma once

#include <cstdint>
#include <cstring>
#include <type_traits>

#include <xsimd/xsimd.hpp>

#if defined(__wasm_simd128__)
#include <wasm_simd128.h>
#elif defined(__AVX2__)
#include <immintrin.h>
#endif

namespace relata::simd {

/// The widest vectors of this build: WebAssembly's 128 bits, AVX2 natively.
using BuildArch = xsimd::default_arch;

template <class Arch>
using Floats = xsimd::batch<float, Arch>;

template <class Arch>
inline constexpr int kWidth = static_cast<int>(Floats<Arch>::size);

/// Whether instructions may be called by name.
template <class Arch>
inline constexpr bool kNamedInstructions = std::is_same_v<Arch, BuildArch>;

template <class Arch>
Floats<Arch> load(const float* source) {
  return Floats<Arch>::load_unaligned(source);
}

/// Whether this build has WebAssembly's relaxed instructions.
#if defined(__wasm_relaxed_simd__)
inline constexpr bool kRelaxed = true;
#else
inline constexpr bool kRelaxed = false;
#endif

/// a * b + c; fused where the build's instructions are. Relaxed: fused where the machine's are, so
/// that results differ by machine. Only products with f32 weights allow it: with int8 weights every
/// build gives the same bits.
template <class Arch, bool Relaxed = false>
Floats<Arch> multiply_add(const Floats<Arch>& a, const Floats<Arch>& b, const Floats<Arch>& c) {
#if defined(__wasm_relaxed_simd__)
  if constexpr (Relaxed) {
    return wasm_f32x4_relaxed_madd(a, b, c);
  }
#endif
  return xsimd::fma(a, b, c);
}

/// The larger of a and b, a where one is NaN. WebAssembly's own maximum, which keeps NaN and orders
/// zeros, is several instructions long.
template <class Arch>
Floats<Arch> max(const Floats<Arch>& a, const Floats<Arch>& b) {
#if defined(__wasm_simd128__)
  if constexpr (kNamedInstructions<Arch>) {
    return wasm_f32x4_pmax(a, b);
  }
#endif
  return xsimd::select(a < b, b, a);
}

/// The smaller of a and b, a where one is NaN.
template <class Arch>
Floats<Arch> min(const Floats<Arch>& a, const Floats<Arch>& b) {
#if defined(__wasm_simd128__)
  if constexpr (kNamedInstructions<Arch>) {
    return wasm_f32x4_pmin(a, b);
  }
#endif
  return xsimd::select(b < a, b, a);
}

/// The first `count` < kWidth values, the rest `fill`: the one way in which tails are read
/// everywhere.
template <class Arch>
[[gnu::noinline]] Floats<Arch> load_tail(const float* source, int count, float fill) {
  float lanes[kWidth<Arch>];
  for (int i = 0; i < kWidth<Arch>; ++i) {
    lanes[i] = i < count ? source[i] : fill;
  }
  return load<Arch>(lanes);
}

/// Writes the first `count` < kWidth lanes and nothing else.
template <class Arch>
[[gnu::noinline]] void store_tail(float* target, const Floats<Arch>& value, int count) {
  float lanes[kWidth<Arch>];
  value.store_unaligned(lanes);
  for (int i = 0; i < count; ++i) {
    target[i] = lanes[i];
  }
}

// Products of 8-bit or 16-bit values with 16-bit activations, two neighbours at a time. xsimd has
// no pairwise product, so this is the one place with instructions by name; widths other than the
// build's take the plain loops.
//
// The activations are kept as 16-bit integers in memory: V8 14 and later turns a product of two
// widened operands into slower instructions.

template <class Arch>
using Ints = xsimd::batch<std::int32_t, Arch>;
/// Two 16-bit values for each column: [column][pair].
template <class Arch>
using Pairs = xsimd::batch<std::int16_t, Arch>;

/// Widens 2 * kWidth 8-bit values.
template <class Arch>
Pairs<Arch> load_pairs(const std::int8_t* source) {
#if defined(__wasm_simd128__)
  if constexpr (kNamedInstructions<Arch>) {
    return wasm_i16x8_load8x8(source);
  }
#elif defined(__AVX2__)
  if constexpr (kNamedInstructions<Arch>) {
    return _mm256_cvtepi8_epi16(_mm_loadu_si128(reinterpret_cast<const __m128i*>(source)));
  }
#endif
  std::int16_t lanes[2 * kWidth<Arch>];
  for (int i = 0; i < 2 * kWidth<Arch>; ++i) {
    lanes[i] = source[i];
  }
  return Pairs<Arch>::load_unaligned(lanes);
}

/// 2 * kWidth values that are kept in 16 bits.
template <class Arch>
Pairs<Arch> load_pairs(const std::int16_t* source) {
  return Pairs<Arch>::load_unaligned(source);
}

/// The same two or four Values, 32 bits in all, for every column.
template <class Arch, class Value>
xsimd::batch<Value, Arch> broadcast(const void* source) {
  std::int32_t bits = 0;
  std::memcpy(&bits, source, sizeof bits);
  return xsimd::bitwise_cast<Value>(Ints<Arch>(bits));
}

/// sums[c] + a[c][0] * b[c][0] + a[c][1] * b[c][1], in 32 bits.
template <class Arch>
Ints<Arch> add_pair_products(const Pairs<Arch>& a, const Pairs<Arch>& b, const Ints<Arch>& sums) {
#if defined(__wasm_simd128__)
  if constexpr (kNamedInstructions<Arch>) {
    return sums + Ints<Arch>(wasm_i32x4_dot_i16x8(a, b));
  }
#elif defined(__AVX2__)
  if constexpr (kNamedInstructions<Arch>) {
    return sums + Ints<Arch>(_mm256_madd_epi16(a, b));
  }
#endif
  std::int16_t left[2 * kWidth<Arch>];
  std::int16_t right[2 * kWidth<Arch>];
  std::int32_t products[kWidth<Arch>];
  a.store_unaligned(left);
  b.store_unaligned(right);
  for (int c = 0; c < kWidth<Arch>; ++c) {
    products[c] = left[2 * c] * right[2 * c] + left[2 * c + 1] * right[2 * c + 1];
  }
  return sums + Ints<Arch>::load_unaligned(products);
}

template <class Arch>
using Bytes = xsimd::batch<std::int8_t, Arch>;

/// sums[c] + the four products a[c] * b[c], in 32 bits; b is 0..127.
template <class Arch>
Ints<Arch> add_quad_products(const Bytes<Arch>& a, const Bytes<Arch>& b, const Ints<Arch>& sums) {
#if defined(__wasm_relaxed_simd__)
  if constexpr (kNamedInstructions<Arch>) {
    return wasm_i32x4_relaxed_dot_i8x16_i7x16_add(a, b, sums);
  }
#endif
  std::int8_t left[4 * kWidth<Arch>];
  std::int8_t right[4 * kWidth<Arch>];
  std::int32_t products[kWidth<Arch>] = {};
  a.store_unaligned(left);
  b.store_unaligned(right);
  for (int i = 0; i < 4 * kWidth<Arch>; ++i) {
    products[i / 4] += left[i] * right[i];
  }
  return sums + Ints<Arch>::load_unaligned(products);
}

/// Whether add_quad_products is an instruction of the machine's rather than several. Where it is
/// made of others, x86 adds pairs of products in 16 bits, which shows outside of b's range.
inline bool sums_four_products_at_once() {
#if defined(__wasm_relaxed_simd__)
  const volatile std::int8_t most = 127;
  const volatile std::int8_t all_bits = -1;
  const v128_t sums = wasm_i32x4_relaxed_dot_i8x16_i7x16_add(
      wasm_i8x16_splat(most), wasm_i8x16_splat(all_bits), wasm_i32x4_splat(0));
  return wasm_i32x4_extract_lane(sums, 0) != 2 * 32767;
#else
  return false;
#endif
}

/// The nearest integers (ties to even), |value| <= 32767, in the lower halves.
template <class Arch>
Ints<Arch> rounded(const Floats<Arch>& value) {
  // Adding 1.5 * 2^23 leaves the rounded integer in the low bits of the sum.
  return xsimd::bitwise_cast<std::int32_t>(value + Floats<Arch>(12582912.0F));
}

/// Rounds to 16 bits and stores integer i at target[i * stride].
template <class Arch>
void store_spread(std::int16_t* target, int stride, const Floats<Arch>& value) {
  const Ints<Arch> bits = rounded<Arch>(value);
#if defined(__wasm_simd128__)
  if constexpr (kNamedInstructions<Arch>) {
    wasm_v128_store16_lane(target, bits, 0);
    wasm_v128_store16_lane(target + stride, bits, 2);
    wasm_v128_store16_lane(target + 2 * stride, bits, 4);
    wasm_v128_store16_lane(target + 3 * stride, bits, 6);
    return;
  }
#endif
  std::int32_t lanes[kWidth<Arch>];
  bits.store_unaligned(lanes);
  for (int i = 0; i < kWidth<Arch>; ++i) {
    target[i * stride] = static_cast<std::int16_t>(lanes[i]);
  }
}

/// The nearest 16-bit integers of two vectors, one after the other.
template <class Arch>
Pairs<Arch> rounded_pairs(const Floats<Arch>& first, const Floats<Arch>& second) {
  const Ints<Arch> offset(0x4B400000);  // the bits of 1.5 * 2^23
  const Ints<Arch> low = rounded<Arch>(first) - offset;
  const Ints<Arch> high = rounded<Arch>(second) - offset;
#if defined(__wasm_simd128__)
  if constexpr (kNamedInstructions<Arch>) {
    return wasm_i16x8_narrow_i32x4(low, high);
  }
#endif
  std::int32_t lanes[2 * kWidth<Arch>];
  std::int16_t pairs[2 * kWidth<Arch>];
  low.store_unaligned(lanes);
  high.store_unaligned(lanes + kWidth<Arch>);
  for (int i = 0; i < 2 * kWidth<Arch>; ++i) {
    pairs[i] = static_cast<std::int16_t>(lanes[i]);
  }
  return Pairs<Arch>::load_unaligned(pairs);
}

/// Stores pair p at target[2 * p * stride].
template <class Arch>
void store_pairs(std::int16_t* target, int stride, const Pairs<Arch>& pairs) {
  if (stride == 1) {
    pairs.store_unaligned(target);
    return;
  }
#if defined(__wasm_simd128__)
  if constexpr (kNamedInstructions<Arch>) {
    wasm_v128_store32_lane(target, pairs, 0);
    wasm_v128_store32_lane(target + 2 * stride, pairs, 1);
    wasm_v128_store32_lane(target + 4 * stride, pairs, 2);
    wasm_v128_store32_lane(target + 6 * stride, pairs, 3);
    return;
  }
#endif
  std::int16_t lanes[2 * kWidth<Arch>];
  pairs.store_unaligned(lanes);
  for (int p = 0; p < kWidth<Arch>; ++p) {
    std::memcpy(target + 2 * p * stride, lanes + 2 * p, 2 * sizeof *lanes);
  }
}

/// Stores quad q, of integers within -8192..8191, at target[4 * q * stride]: as integers from 0 on
/// in two digits of 7 bits, the four higher ones first.
template <class Arch>
void store_quads(std::int16_t* target, int stride, const Pairs<Arch>& integers) {
  const Pairs<Arch> positive = integers + Pairs<Arch>(std::int16_t{8192});
  const Pairs<Arch> high = positive >> 7;
  const Pairs<Arch> low = positive & Pairs<Arch>(std::int16_t{127});
#if defined(__wasm_simd128__)
  if constexpr (kNamedInstructions<Arch>) {
    const v128_t digits = wasm_u8x16_narrow_i16x8(high, low);
    const v128_t quads = wasm_i32x4_shuffle(digits, digits, 0, 2, 1, 3);
    wasm_v128_store64_lane(target, quads, 0);
    wasm_v128_store64_lane(target + 4 * stride, quads, 1);
    return;
  }
#endif
  std::int16_t digits[2][2 * kWidth<Arch>];
  high.store_unaligned(digits[0]);
  low.store_unaligned(digits[1]);
  for (int i = 0; i < 2 * kWidth<Arch>; ++i) {
    auto* quad = reinterpret_cast<std::int8_t*>(target + i / 4 * 4 * stride);
    quad[i % 4] = static_cast<std::int8_t>(digits[0][i]);
    quad[4 + i % 4] = static_cast<std::int8_t>(digits[1][i]);
  }
}

/// The same for 8-bit values, |value| <= 127.
template <class Arch>
void store_rounded(std::int8_t* target, const Floats<Arch>& value) {
  const auto bits = xsimd::bitwise_cast<std::int32_t>(value + Floats<Arch>(12582912.0F));
#if defined(__wasm_simd128__)
  if constexpr (kNamedInstructions<Arch>) {
    const v128_t first =
        wasm_i8x16_shuffle(bits, bits, 0, 4, 8, 12, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0);
    wasm_v128_store32_lane(target, first, 0);
    return;
  }
#endif
  std::int32_t lanes[kWidth<Arch>];
  bits.store_unaligned(lanes);
  for (int i = 0; i < kWidth<Arch>; ++i) {
    target[i] = static_cast<std::int8_t>(lanes[i]);
  }
}

/// The vector at source[i ..] of `count` values in all, `fill` past the end.
template <class Arch>
Floats<Arch> load_at(const float* source, int i, int count, float fill) {
  return i + kWidth<Arch> <= count ? load<Arch>(source + i)
                                   : load_tail<Arch>(source + i, count - i, fill);
}

/// Stores a vector at target[i ..], nothing past `count`.
template <class Arch>
void store_at(float* target, int i, int count, const Floats<Arch>& value) {
  if (i + kWidth<Arch> <= count) {
    value.store_unaligned(target + i);
  } else {
    store_tail<Arch>(target + i, value, count - i);
  }
}

/// The values past the last whole vector of `count`, followed by `fill`, so that a loop over whole
/// vectors can end with them: a call in its body would cost it its registers.
template <class Arch>
class Tail {
 public:
  Tail(const float* values, int count, float fill) : whole_(count / kWidth<Arch> * kWidth<Arch>) {
    if (whole_ < count) {
      load_tail<Arch>(values + whole_, count - whole_, fill).store_unaligned(lanes_);
    }
  }
  /// Where vector i is: among the values, or here.
  const float* at(const float* values, int i) const { return i < whole_ ? values + i : lanes_; }
  float* at(float* values, int i) { return i < whole_ ? values + i : lanes_; }
  /// Copies what has become of the values back.
  void store(float* values, int count) const {
    if (whole_ < count) {
      store_tail<Arch>(values + whole_, load<Arch>(lanes_), count - whole_);
    }
  }

 private:
  int whole_;
  float lanes_[kWidth<Arch>];
};

/// values[i] = function(values[i]), a vector at a time. The function is written into the loop once,
/// for whole vectors and for the tail, which reads `fill` past the end.
template <class Arch, class Function>
void transform(float* values, int count, Function function, float fill = 0) {
  Tail<Arch> tail(values, count, fill);
  for (int i = 0; i < count; i += kWidth<Arch>) {
    float* at = tail.at(values, i);
    function(load<Arch>(at)).store_unaligned(at);
  }
  tail.store(values, count);
}

/// target[i] = function(target[i], source[i]), a vector at a time.
template <class Arch, class Function>
void combine(float* target, const float* source, int count, Function function) {
  Tail<Arch> target_tail(target, count, 0);
  const Tail<Arch> source_tail(source, count, 0);
  for (int i = 0; i < count; i += kWidth<Arch>) {
    float* at = target_tail.at(target, i);
    function(load<Arch>(at), load<Arch>(source_tail.at(source, i))).store_unaligned(at);
  }
  target_tail.store(target, count);
}

/// partial = function(partial, values), vector by vector from partial = start; lanes past the end
/// read `fill`.
template <class Arch, class Function>
Floats<Arch> accumulate(const float* values, int count, float start, float fill,
                        Function function) {
  const Tail<Arch> tail(values, count, fill);
  Floats<Arch> partial(start);
  for (int i = 0; i < count; i += kWidth<Arch>) {
    partial = function(partial, load<Arch>(tail.at(values, i)));
  }
  return partial;
}

}  // namespace relata::simd
