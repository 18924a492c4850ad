#pragma once

#include <bit>
#include <cstdint>

namespace relata {

/// xoshiro128++ (Blackman and Vigna 2019), its state filled by splitmix64 from seed and stream: 32
/// random bits at a time from integer operations alone, so that one seed gives one sequence on
/// every machine.
class Random {
 public:
  Random() : Random(0, 0) {}
  Random(std::uint32_t seed, std::uint32_t stream) {
    std::uint64_t counter = (static_cast<std::uint64_t>(stream) << 32) | seed;
    for (int i = 0; i < 4; i += 2) {
      counter += 0x9E3779B97F4A7C15U;
      std::uint64_t mixed = counter;
      mixed = (mixed ^ (mixed >> 30)) * 0xBF58476D1CE4E5B9U;
      mixed = (mixed ^ (mixed >> 27)) * 0x94D049BB133111EBU;
      mixed ^= mixed >> 31;
      state_[i] = static_cast<std::uint32_t>(mixed);
      state_[i + 1] = static_cast<std::uint32_t>(mixed >> 32);
    }
  }

  std::uint32_t next() {
    const std::uint32_t result = std::rotl(state_[0] + state_[3], 7) + state_[0];
    const std::uint32_t shifted = state_[1] << 9;
    state_[2] ^= state_[0];
    state_[3] ^= state_[1];
    state_[1] ^= state_[2];
    state_[0] ^= state_[3];
    state_[2] ^= shifted;
    state_[3] = std::rotl(state_[3], 11);
    return result;
  }

  /// A multiple of 2^-53 in [0, 1), from two draws: 27 bits, then 26.
  double uniform() {
    const auto high = static_cast<double>(next() >> 5);
    const auto low = static_cast<double>(next() >> 6);
    return (high * 0x1p26 + low) * 0x1p-53;
  }

 private:
  std::uint32_t state_[4];
};

}  // namespace relata
