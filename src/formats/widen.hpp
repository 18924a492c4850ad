// Half-width floats widened to f32, every value exactly: subnormals, infinities and NaN included.
#pragma once

#include <bit>
#include <cstdint>

namespace relata::formats {

/// bfloat16 is the upper half of an f32.
inline float widen_bf16(std::uint16_t bits) {
  return std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16);
}

/// IEEE 754 binary16. Exponent and fraction, put where an f32 has them, stand for the value times
/// 2^-112: the one multiplication is exact, and it turns subnormals into normal numbers.
inline float widen_f16(std::uint16_t bits) {
  const std::uint32_t sign = static_cast<std::uint32_t>(bits & 0x8000U) << 16;
  const std::uint32_t magnitude = static_cast<std::uint32_t>(bits & 0x7FFFU) << 13;
  if (magnitude >= 0x0F80'0000U) {  // all exponent bits set: infinity or NaN
    return std::bit_cast<float>(sign | magnitude | 0x7F80'0000U);
  }
  const float value = std::bit_cast<float>(magnitude) * 0x1p112F;
  return std::bit_cast<float>(sign | std::bit_cast<std::uint32_t>(value));
}

}  // namespace relata::formats
