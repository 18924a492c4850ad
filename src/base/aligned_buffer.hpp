// Owned, 64-byte aligned, zero-filled storage whose allocation can be refused instead of aborting.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <new>
#include <string>
#include <type_traits>
#include <utility>

#include "src/base/matrix_view.hpp"
#include "src/base/result.hpp"

namespace relata {

/// What fresh storage holds: zeros, or anything, for what is about to be set as a whole.
enum class Fresh { zeros, anything };

/// Memory for `count` values of so many bytes, to be freed by operator delete[]; null for none.
/// Error: out_of_memory.
Result<void*> allocate_values(std::uint64_t count, std::size_t value_bytes, std::size_t alignment,
                              Fresh fresh, const char* where);

/// Lets the heap grow once for what many buffers are about to take: growing is slow where the
/// system hands out all of a heap anew. Never fails: the buffers that find no room say so.
void make_room(std::uint64_t bytes);

template <class T>
class AlignedBuffer {
  static_assert(std::is_trivially_copyable_v<T>);

 public:
  static constexpr std::size_t kAlignment = 64;

  AlignedBuffer() = default;
  AlignedBuffer(AlignedBuffer&& other) noexcept
      : data_(std::exchange(other.data_, nullptr)), size_(std::exchange(other.size_, 0)) {}
  AlignedBuffer& operator=(AlignedBuffer&& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(size_, other.size_);
    return *this;
  }
  ~AlignedBuffer() { ::operator delete[](data_, std::align_val_t{kAlignment}); }

  /// `count` zeros. The count is taken in 64 bits, so that a product of file or caller sizes cannot
  /// wrap on a 32-bit machine. Error: out_of_memory, naming `where` and the bytes asked for.
  static Result<AlignedBuffer> allocate(std::uint64_t count, const char* where) {
    AlignedBuffer buffer;
    RELATA_TRY(buffer.reset(count, where));
    return buffer;
  }
  /// The same in place of what was there.
  Result<void> reset(std::uint64_t count, const char* where, Fresh fresh = Fresh::zeros) {
    ::operator delete[](std::exchange(data_, nullptr), std::align_val_t{kAlignment});
    size_ = 0;
    RELATA_TRY_ASSIGN(void* const memory,
                      allocate_values(count, sizeof(T), kAlignment, fresh, where));
    data_ = static_cast<T*>(memory);
    size_ = static_cast<std::size_t>(count);
    return {};
  }

  T* data() { return data_; }
  const T* data() const { return data_; }
  std::size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  T& operator[](std::size_t i) { return data_[i]; }
  const T& operator[](std::size_t i) const { return data_[i]; }

 private:
  T* data_ = nullptr;
  std::size_t size_ = 0;
};

/// An owned row-major matrix of floats without padding between rows.
class Matrix {
 public:
  Matrix() = default;
  static Result<Matrix> allocate(int rows, int cols, const char* where);
  /// The same in place of what was there.
  Result<void> reset(int rows, int cols, const char* where);
  int rows() const { return rows_; }
  int cols() const { return cols_; }
  MatrixView<float> view() { return {buffer_.data(), rows_, cols_, cols_}; }
  MatrixView<const float> view() const { return {buffer_.data(), rows_, cols_, cols_}; }

 private:
  AlignedBuffer<float> buffer_;
  int rows_ = 0;
  int cols_ = 0;
};

}  // namespace relata
