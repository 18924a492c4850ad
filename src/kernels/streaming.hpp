// How weights come from memory, which a product of a few rows waits for. WebAssembly has no
// instruction that asks for memory early.
#pragma once

#include <cstddef>
#include <cstdint>

namespace relata::kernels {

/// Places at which a product of one row reads weights, far from one another, each of them on and
/// on: that keeps more on its way than reading neighbours does.
inline constexpr int kStreams = 3;

/// A walk through the next panel's bytes, `step` of them at a time. The first of a product's passes
/// over a panel brings it near, those after it find it there; reading a little of the next one at
/// every step spreads the waiting over all of them.
struct Ahead {
  const std::byte* at;
  int step;

  /// None: it stays where it is.
  explicit Ahead(const void* here) : Ahead(here, 0, 0) {}
  /// The walk through `next` in which `passes` passes take their share each, `row` bytes at every
  /// step of theirs. Without passes it stays where it is.
  Ahead(const void* next, int row, int passes)
      : at(static_cast<const std::byte*>(next)), step(passes > 0 ? row / passes : 0) {}

  void read() {
    static_cast<void>(*reinterpret_cast<const volatile std::int8_t*>(at));
    at += step;
  }
  /// Skips what a pass of so many steps has read.
  void skip(int steps) { at += step * steps; }
};

}  // namespace relata::kernels
