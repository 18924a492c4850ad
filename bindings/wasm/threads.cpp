// Threads of a build that has them: instances of the module over one memory, which JavaScript
// starts (bindings/js/threads.ts). They run kernels alone and call nothing of JavaScript's.

#ifdef RELATA_SERVED

#include <emscripten/em_macros.h>

#include <cstddef>

#include "src/base/parallel.hpp"

namespace relata {

// Functions of their own: inlined, they broke what goes on around them in Node 20's baseline
// compiler, and in no other.

[[gnu::noinline]] void wait(std::atomic<std::uint32_t>& counter, std::uint32_t seen) {
  __builtin_wasm_memory_atomic_wait32(reinterpret_cast<int*>(&counter), static_cast<int>(seen), -1);
}

[[gnu::noinline]] void wake(std::atomic<std::uint32_t>& counter) {
  __builtin_wasm_memory_atomic_notify(reinterpret_cast<int*>(&counter), ~0U);
}

}  // namespace relata

extern "C" {

// The linker's and Emscripten's.
void __wasm_init_tls(void* place);
void _emscripten_stack_restore(void* top);

/// Never returns. To be called first in the thread's instance, whose stack is still the first
/// thread's: nothing may lie on it. From then on it is the memory from `place` on, beside the
/// thread's variables at its beginning. What follows is a function of its own, or its place on the
/// stack would be taken before.
EMSCRIPTEN_KEEPALIVE void serveThread(std::byte* place, int bytes, int thread) {
  __wasm_init_tls(place);
  _emscripten_stack_restore(place + bytes);
  relata::Parallel::serve(thread);
}

}  // extern "C"

#endif
