#include "src/model/kv_cache.hpp"

#include <utility>

namespace relata {

Result<KeyValues> KeyValues::allocate(const Config& config, kernels::WeightType type,
                                      int capacity) {
  KeyValues memory;
  memory.capacity = capacity;
  for (int head = 0; head < config.num_heads; ++head) {
    for (const auto& [role, matrices] : {std::pair{kernels::CachedRole::keys, &memory.keys},
                                         std::pair{kernels::CachedRole::values, &memory.values}}) {
      RELATA_TRY_ASSIGN(auto matrix, kernels::CachedMatrix::allocate(role, type, capacity,
                                                                     config.head_dim, "kv_cache"));
      matrices->push_back(std::move(matrix));
    }
  }
  return memory;
}

void KeyValues::append(MatrixView<const float> new_keys, MatrixView<const float> new_values) {
  for (std::size_t head = 0; head < keys.size(); ++head) {
    const auto offset = static_cast<std::ptrdiff_t>(head) * keys[head].head_dim();
    for (int i = 0; i < new_keys.rows; ++i) {
      keys[head].set(length + i, new_keys.row(i) + offset);
      values[head].set(length + i, new_values.row(i) + offset);
    }
  }
  length += new_keys.rows;
}

void KeyValues::assign(const KeyValues& other) {
  length = other.length;
  for (std::size_t head = 0; head < keys.size(); ++head) {
    keys[head].copy_from(other.keys[head], length);
    values[head].copy_from(other.values[head], length);
  }
}

Result<KvCache> KvCache::allocate(const Config& config, kernels::WeightType type, int capacity) {
  KvCache cache;
  for (int layer = 0; layer < config.num_decoder_layers; ++layer) {
    RELATA_TRY_ASSIGN(auto memory, KeyValues::allocate(config, type, capacity));
    cache.layers.push_back(std::move(memory));
  }
  return cache;
}

}  // namespace relata
