// Threads of a build that has them: instances of the module over one memory, which JavaScript
// starts (bindings/js/threads.ts). They run kernels alone and call nothing of JavaScript's.

#ifdef RELATA_THREADS

#include <emscripten/em_macros.h>

#include <cstddef>

#include "src/base/parallel.hpp"

extern "C" {

// The linker's and Emscripten's.
void __wasm_init_tls(void* place);
void _emscripten_stack_restore(void* top);

/// Never returns. To be called first in the thread's instance, whose stack is still the caller's;
/// from then on it is the memory from `place` on, beside the thread's variables at its beginning.
EMSCRIPTEN_KEEPALIVE void serveThread(std::byte* place, int bytes, int thread) {
  __wasm_init_tls(place);
  _emscripten_stack_restore(place + bytes);
  relata::Parallel::serve(thread);
}

}  // extern "C"

#endif
