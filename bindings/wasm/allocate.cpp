// Large blocks, which src asks for by operator new[] with an alignment, are refused where they
// might reach past the end of 32-bit addresses: emmalloc, half as large as other allocators, adds
// an address and a size, and takes a sum that wraps for a small one. Small blocks have 64 MB below
// that end (MAXIMUM_MEMORY).

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <new>

#include <emscripten/heap.h>

void* operator new[](std::size_t bytes, std::align_val_t alignment,
                     const std::nothrow_t&) noexcept {
  const auto aligned = static_cast<std::size_t>(alignment);
  if (std::uint64_t{emscripten_get_heap_size()} + bytes + 2 * aligned > UINT32_MAX) {
    return nullptr;
  }
  return std::aligned_alloc(aligned, (bytes + aligned - 1) / aligned * aligned);
}
