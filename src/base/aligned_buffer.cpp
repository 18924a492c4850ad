#include "src/base/aligned_buffer.hpp"

#include <cstring>
#include <limits>
#include <new>

namespace relata {
namespace {

/// Whether an allocator that adds 32-bit addresses and sizes can be asked for so much: emmalloc,
/// half as large as others, takes a sum that wraps for a small one. What is not allocated here is
/// small, and the build leaves room for it below the end of the address space.
bool addresses_hold(std::uint64_t bytes) {
#if defined(__wasm32__)
  constexpr std::uint64_t kPageBytes = 65536;
  return __builtin_wasm_memory_size(0) * kPageBytes + bytes <
         std::numeric_limits<std::uint32_t>::max();
#else
  return bytes <= static_cast<std::uint64_t>(std::numeric_limits<std::ptrdiff_t>::max());
#endif
}

}  // namespace

Result<void*> allocate_values(std::uint64_t count, std::size_t value_bytes, std::size_t alignment,
                              Fresh fresh, const char* where) {
  void* memory = nullptr;
  if (count == 0) {
    return memory;
  }
  if (count <= std::numeric_limits<std::ptrdiff_t>::max() / value_bytes &&
      addresses_hold(count * value_bytes + alignment)) {
    memory = ::operator new[](static_cast<std::size_t>(count) * value_bytes,
                              std::align_val_t{alignment}, std::nothrow);
  }
  if (memory == nullptr) {
    return fail(ErrorCode::out_of_memory, where,
                {"cannot allocate ", count, " values of ", value_bytes, " bytes"});
  }
  if (fresh == Fresh::zeros) {
    std::memset(memory, 0, static_cast<std::size_t>(count) * value_bytes);
  }
  return memory;
}

void make_room(std::uint64_t bytes) {
  if (bytes > 0 && bytes <= std::numeric_limits<std::ptrdiff_t>::max() && addresses_hold(bytes)) {
    // Volatile: otherwise it would not be taken at all.
    void* volatile memory = ::operator new(static_cast<std::size_t>(bytes), std::nothrow);
    ::operator delete(memory);
  }
}

Result<Matrix> Matrix::allocate(int rows, int cols, const char* where) {
  Matrix matrix;
  RELATA_TRY(matrix.reset(rows, cols, where));
  return matrix;
}

Result<void> Matrix::reset(int rows, int cols, const char* where) {
  rows_ = cols_ = 0;
  RELATA_TRY(
      buffer_.reset(static_cast<std::uint64_t>(rows) * static_cast<std::uint64_t>(cols), where));
  rows_ = rows;
  cols_ = cols;
  return {};
}

}  // namespace relata
