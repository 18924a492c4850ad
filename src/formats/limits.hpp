// How much a file may ask for before its contents are believed. Everything else is bounded by the
// length of the file itself: no tensor is allocated before the file is known to hold its bytes.
#pragma once

#include <cstddef>
#include <cstdint>

namespace relata::formats {

/// config.json and generation_config.json: published ones stay below 20 kB.
inline constexpr std::uint64_t kMaxConfigBytes = 1 << 20;
/// The JSON header of model.safetensors: a model of 1,500 tensors needs about 200 kB, and the
/// parsed form takes some ten times its text.
inline constexpr std::uint64_t kMaxHeaderBytes = 4 << 20;
/// Tensors of one file: the deepest models of these families have about 1,500.
inline constexpr std::size_t kMaxTensors = 1 << 14;
/// Files the weights of one model may be spread over, and letters in the name of one.
inline constexpr std::size_t kMaxShards = 1024;
inline constexpr std::size_t kMaxFileName = 255;
/// Dimensions of one tensor: ours have two, other networks up to five.
inline constexpr std::size_t kMaxRank = 8;
/// Nesting of any JSON: configurations need four levels, a header three.
inline constexpr std::size_t kMaxJsonDepth = 16;
/// End-of-sequence ids of one model.
inline constexpr std::size_t kMaxEosTokens = 64;

}  // namespace relata::formats
