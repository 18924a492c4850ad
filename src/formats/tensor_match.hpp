// Brings the tensors a configuration calls for and those the files have together.
#pragma once

#include <map>
#include <string_view>
#include <vector>

#include "src/formats/safetensors.hpp"
#include "src/formats/tensor_plan.hpp"

namespace relata::formats {

inline constexpr int kUnused = -1;

/// What the integers of one tensor are multiplied by, of tensors of their own.
struct ReadFactors {
  AlignedBuffer<float> scales;  // further slots point at them
  AlignedBuffer<float> reach;   // levelled only
  std::size_t last = 0;         // the later tensor of these in the files
};

/// What each tensor of the files is for.
struct TensorMatch {
  std::vector<int> slot_of;     // by tensor: its slot, kUnused where none
  std::vector<int> factors_of;  // by tensor: which of `factors` are its integers', or kUnused
  std::vector<ReadFactors> factors;
};

/// Adapts a configuration to what the files have: no decoder, the embedding under another name, a
/// separate output matrix. Then plans the slots and gives each its tensor; every slot has to find
/// its tensor, and every tensor its slot. Errors: unsupported, tensor_missing, tensor_invalid.
Result<TensorMatch> match_tensors(ConfigFile& file, const TensorFiles& files,
                                  Unfinished& unfinished, std::vector<TensorSlot>& slots);

}  // namespace relata::formats
