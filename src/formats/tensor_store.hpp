// From the bytes of a tensor to its place in the model: decoded, multiplied by what belongs to it,
// checked, and rounded or kept as integers.
#pragma once

#include <cstddef>
#include <span>

#include "src/formats/block_formats.hpp"
#include "src/formats/safetensors.hpp"
#include "src/formats/tensor_plan.hpp"

namespace relata::formats {

/// What integers are multiplied by: one factor a row or one for all, and one an input or none. Both
/// are empty for floats.
struct Factors {
  std::span<const float> scales = {};
  std::span<const float> reach = {};
};

/// values[0 .. cols) = row i, whose bytes begin here. False where one is no finite number; `wrong`
/// is the first.
bool read_row(const BlockFormat& format, const Factors& factors, const std::byte* bytes, int i,
              int cols, float* values, int& wrong);

/// Whether a tensor can be stored some rows at a time. One that is rounded is looked at first.
bool takes_parts(const TensorSlot& slot, const Factors& factors);

/// Stores tensors one after the other.
class TensorStore {
 public:
  /// For rows of `widest` values at most. Error: out_of_memory.
  Result<void> allocate(int widest, const char* where);
  /// Stores `count` rows from `first` on, whose bytes these are. Errors: tensor_invalid, naming the
  /// tensor.
  Result<void> store(const TensorFiles& files, const TensorInfo& tensor, const TensorSlot& slot,
                     const Factors& factors, int first, int count, const std::byte* bytes);

 private:
  AlignedBuffer<float> rows_;  // a panel of them
};

}  // namespace relata::formats
