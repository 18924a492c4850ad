// Threads of a build that has them: instances of the module over one memory, which JavaScript starts
// (bindings/js/thread.ts). They run kernels alone and call nothing of JavaScript's.

#ifdef RELATA_THREADS

#include <emscripten/em_macros.h>

#include <cstddef>
#include <cstdlib>

#include "src/base/parallel.hpp"

extern "C" {

// The linker's and Emscripten's.
void __wasm_init_tls(void* place);
void _emscripten_stack_restore(void* top);

constexpr std::size_t kThreadBytes = 128 << 10;

/// Memory for one thread: its thread-local variables, and its stack from the other end. Null if
/// there is none.
EMSCRIPTEN_KEEPALIVE void* prepareThread() { return std::aligned_alloc(64, kThreadBytes); }

/// To be called first in the thread's instance, whose stack is still the caller's; never returns.
EMSCRIPTEN_KEEPALIVE void serveThread(std::byte* place, int thread) {
  __wasm_init_tls(place);
  _emscripten_stack_restore(place + kThreadBytes);
  relata::Parallel::serve(thread);
}

}  // extern "C"

#endif
