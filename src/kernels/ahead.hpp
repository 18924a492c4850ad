// Reading ahead. A product of a few rows computes and waits for memory in turns: its first pass
// over a panel of weights brings the panel near, the passes after it find it there. Reading a
// little of the next panel at every step spreads that over all passes. WebAssembly has no
// instruction that asks for memory early.
#pragma once

#include <cstdint>

namespace relata::kernels {

/// A walk through the values of a panel, `step` of them at a time.
template <class Value>
struct Ahead {
  const Value* at;
  int step;

  /// The walk through `next` in which `passes` passes take their share each, `row` values at every
  /// step of theirs. Without passes it stays where it is.
  Ahead(const Value* next, int row, int passes) : at(next), step(passes > 0 ? row / passes : 0) {}

  void read() {
    static_cast<void>(*reinterpret_cast<const volatile std::int8_t*>(at));
    at += step;
  }
  /// Skips what a pass of so many steps has read.
  void skip(int steps) { at += step * steps; }
};

}  // namespace relata::kernels
