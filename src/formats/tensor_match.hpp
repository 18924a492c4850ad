// Brings the tensors a configuration calls for and those the files have together.
#pragma once

#include <map>
#include <string_view>
#include <vector>

#include "src/formats/safetensors.hpp"
#include "src/formats/tensor_plan.hpp"

namespace relata::formats {

inline constexpr int kUnused = -1;

/// What each tensor of the files is for.
struct TensorMatch {
  std::vector<int> slot_of;  // by tensor: its slot, kUnused where none
  std::vector<int>
      scale_of;  // by tensor: which of `scales` its integers are multiplied by, or kUnused
  std::vector<AlignedBuffer<float>> scales;  // further slots point at them
};

/// Adapts a configuration to what the files have: no decoder, the embedding under another name, a
/// separate output matrix. Then plans the slots and gives each its tensor; every slot has to find
/// its tensor, and every tensor its slot. Errors: unsupported, tensor_missing, tensor_invalid.
Result<TensorMatch> match_tensors(ConfigFile& file, const TensorFiles& files,
                                  Unfinished& unfinished, std::vector<TensorSlot>& slots);

}  // namespace relata::formats
