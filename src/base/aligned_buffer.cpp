#include "src/base/aligned_buffer.hpp"

#include <cstring>
#include <limits>
#include <new>

namespace relata {
Result<void*> allocate_values(std::uint64_t count, std::size_t value_bytes, std::size_t alignment,
                              Fresh fresh, const char* where) {
  void* memory = nullptr;
  if (count == 0) {
    return memory;
  }
  if (count <= std::numeric_limits<std::ptrdiff_t>::max() / value_bytes) {
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
  constexpr std::align_val_t kAlignment{AlignedBuffer<char>::kAlignment};
  if (bytes > 0 && bytes <= std::numeric_limits<std::ptrdiff_t>::max()) {
    // Volatile: otherwise it would not be taken at all.
    void* volatile memory =
        ::operator new[](static_cast<std::size_t>(bytes), kAlignment, std::nothrow);
    ::operator delete[](memory, kAlignment);
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
