// Keys and values of one attention, kept per head in the packed form that the products read, so
// that appending a position writes head_dim numbers twice and a step never copies what came before.
#pragma once

#include <vector>

#include "src/kernels/cached_matrix.hpp"
#include "src/model/config.hpp"

namespace relata {

struct KeyValues {
  std::vector<kernels::CachedMatrix> keys;    // per head
  std::vector<kernels::CachedMatrix> values;  // per head
  int length = 0;                             // positions held
  int capacity = 0;

  static Result<KeyValues> allocate(const Config& config, kernels::WeightType type, int capacity);
  /// = other, of which only what is filled is copied. other.length <= capacity.
  void assign(const KeyValues& other);
  /// keys and values [n, num_heads * head_dim], n <= capacity - length.
  void append(MatrixView<const float> new_keys, MatrixView<const float> new_values);
};

/// One entry per decoder layer: a hypothesis's own tokens, or a source, projected once.
struct KvCache {
  std::vector<KeyValues> layers;

  static Result<KvCache> allocate(const Config& config, kernels::WeightType type, int capacity);
  int capacity() const { return layers.front().capacity; }
  int length() const { return layers.front().length; }
};

}  // namespace relata
