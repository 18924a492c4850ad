// What one thread of WebAssembly can do at most: bytes read, and f32 and int8 arithmetic from
// registers. Built alone, without Emscripten's JavaScript; limits.mjs calls the exports and times
// them. With relaxed SIMD two more. Every export is called many times, for V8 compiles well what is
// called often.

#include <wasm_simd128.h>

#include <cstddef>
#include <cstdint>

namespace {

/// About what a decoding step of t5-small reads in int8.
constexpr std::size_t kBytes = 40 << 20;
/// Read side by side, for a processor fetches several streams ahead faster than one.
constexpr std::size_t kStreams = 4;
/// Of int8 weights that stay in the first cache.
constexpr int kNearVectors = 256;
/// Independent sums: enough to hide an instruction's latency, few enough for the registers.
constexpr int kSums = 12;

alignas(64) std::uint8_t memory[kBytes];

struct Activations {
  v128_t low, high;
};

/// 16 activations as 16-bit integers, from memory: V8 14 and later rewrites a dot product whose two
/// operands it sees extended.
Activations activations(int row) {
  const std::uint8_t* at = memory + kBytes - 64 * (row + 1);
  return {wasm_v128_load(at), wasm_v128_load(at + 16)};
}

v128_t dot(v128_t sum, v128_t low, v128_t high, const Activations& x) {
  return wasm_i32x4_add(
      sum, wasm_i32x4_add(wasm_i32x4_dot_i16x8(low, x.low), wasm_i32x4_dot_i16x8(high, x.high)));
}

}  // namespace

#define EXPORT(name) __attribute__((export_name(#name), noinline))

/// To be called first.
extern "C" EXPORT(fill) void fill() {
  for (std::size_t i = 0; i < kBytes; ++i) {
    memory[i] = static_cast<std::uint8_t>(i % 61);
  }
}

/// Reads `kBytes` bytes once.
extern "C" EXPORT(read) float read() {
  v128_t sums[kStreams] = {};
  for (std::size_t i = 0; i < kBytes / kStreams; i += 64) {
    for (std::size_t j = 0; j < kStreams; ++j) {
      const std::uint8_t* at = memory + j * (kBytes / kStreams) + i;
      const v128_t low = wasm_f32x4_add(wasm_v128_load(at), wasm_v128_load(at + 16));
      const v128_t high = wasm_f32x4_add(wasm_v128_load(at + 32), wasm_v128_load(at + 48));
      sums[j] = wasm_f32x4_add(sums[j], wasm_f32x4_add(low, high));
    }
  }
  float sum = 0;
  for (const v128_t& each : sums) {
    sum += wasm_f32x4_extract_lane(each, 0);
  }
  return sum;
}

template <typename Step>
float chain(int rounds, float start, Step step) {
  v128_t sums[kSums];
  for (int j = 0; j < kSums; ++j) {
    sums[j] = wasm_f32x4_splat(start * static_cast<float>(j));
  }
  for (int i = 0; i < rounds; ++i) {
    for (int j = 0; j < kSums; ++j) {
      sums[j] = step(sums[j]);
    }
  }
  v128_t sum = sums[0];
  for (int j = 1; j < kSums; ++j) {
    sum = wasm_f32x4_add(sum, sums[j]);
  }
  return wasm_f32x4_extract_lane(sum, 0);
}

/// `rounds` x 12 x 4 multiplications and as many additions.
extern "C" EXPORT(multiply_add) float multiply_add(int rounds, float factor) {
  const v128_t by = wasm_f32x4_splat(factor);
  return chain(rounds, factor,
               [by](v128_t x) { return wasm_f32x4_add(wasm_f32x4_mul(x, by), by); });
}

/// `rounds` x 64 products: each weight meets four rows, as in a product of matrices.
extern "C" EXPORT(dot_rows) int dot_rows(int rounds) {
  const Activations x[4] = {activations(0), activations(1), activations(2), activations(3)};
  v128_t sums[4] = {};
  for (int i = 0; i < rounds; ++i) {
    const v128_t weights = wasm_v128_load(memory + 16 * (i % kNearVectors));
    const v128_t low = wasm_i16x8_extend_low_i8x16(weights);
    const v128_t high = wasm_i16x8_extend_high_i8x16(weights);
    for (int j = 0; j < 4; ++j) {
      sums[j] = dot(sums[j], low, high, x[j]);
    }
  }
  return wasm_i32x4_extract_lane(
      wasm_i32x4_add(wasm_i32x4_add(sums[0], sums[1]), wasm_i32x4_add(sums[2], sums[3])), 0);
}

/// `rounds` x 64 products: each weight meets one row, as in a decoding step.
extern "C" EXPORT(dot_row) int dot_row(int rounds) {
  const Activations x = activations(0);
  v128_t sums[4] = {};
  for (int i = 0; i < rounds; ++i) {
    const std::uint8_t* at = memory + 64 * (i % (kNearVectors / 4));
    for (int j = 0; j < 4; ++j) {
      const v128_t weights = wasm_v128_load(at + 16 * j);
      sums[j] = dot(sums[j], wasm_i16x8_extend_low_i8x16(weights),
                    wasm_i16x8_extend_high_i8x16(weights), x);
    }
  }
  return wasm_i32x4_extract_lane(
      wasm_i32x4_add(wasm_i32x4_add(sums[0], sums[1]), wasm_i32x4_add(sums[2], sums[3])), 0);
}

#ifdef __wasm_relaxed_simd__

extern "C" EXPORT(relaxed_multiply_add) float relaxed_multiply_add(int rounds, float factor) {
  const v128_t by = wasm_f32x4_splat(factor);
  return chain(rounds, factor, [by](v128_t x) { return wasm_f32x4_relaxed_madd(x, by, by); });
}

/// `rounds` x 128 products with activations of seven bits: each weight meets eight rows.
extern "C" EXPORT(relaxed_dot_rows) int relaxed_dot_rows(int rounds) {
  v128_t x[8];
  v128_t sums[8] = {};
  for (int j = 0; j < 8; ++j) {
    x[j] = wasm_v128_and(wasm_v128_load(memory + kBytes - 16 * (j + 1)), wasm_i8x16_splat(127));
  }
  for (int i = 0; i < rounds; ++i) {
    const v128_t weights = wasm_v128_load(memory + 16 * (i % kNearVectors));
    for (int j = 0; j < 8; ++j) {
      sums[j] = wasm_i32x4_relaxed_dot_i8x16_i7x16_add(weights, x[j], sums[j]);
    }
  }
  int sum = 0;
  for (const v128_t& each : sums) {
    sum += wasm_i32x4_extract_lane(each, 0);
  }
  return sum;
}

#endif
