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
    if (count == 0) {
      return buffer;
    }
    const std::uint64_t limit = std::numeric_limits<std::ptrdiff_t>::max() / sizeof(T);
    void* memory = nullptr;
    if (count <= limit) {
      memory = ::operator new[](static_cast<std::size_t>(count) * sizeof(T),
                                std::align_val_t{kAlignment}, std::nothrow);
    }
    if (memory == nullptr) {
      return fail(ErrorCode::out_of_memory, where,
                  {"cannot allocate ", count, " values of ", sizeof(T), " bytes"});
    }
    std::memset(memory, 0, static_cast<std::size_t>(count) * sizeof(T));
    buffer.data_ = static_cast<T*>(memory);
    buffer.size_ = static_cast<std::size_t>(count);
    return buffer;
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
  static Result<Matrix> allocate(int rows, int cols, const char* where) {
    RELATA_TRY_ASSIGN(
        auto buffer,
        AlignedBuffer<float>::allocate(
            static_cast<std::uint64_t>(rows) * static_cast<std::uint64_t>(cols), where));
    Matrix matrix;
    matrix.buffer_ = std::move(buffer);
    matrix.rows_ = rows;
    matrix.cols_ = cols;
    return matrix;
  }
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
