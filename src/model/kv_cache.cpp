#include "src/model/kv_cache.hpp"

#include <utility>

namespace relata {

Result<KeyValues> KeyValues::allocate(const Config& config, int capacity) {
  KeyValues memory;
  memory.capacity = capacity;
  for (int head = 0; head < config.num_heads; ++head) {
    RELATA_TRY_ASSIGN(auto keys,
                      kernels::PackedMatrix::allocate(capacity, config.head_dim, "kv_cache"));
    RELATA_TRY_ASSIGN(auto values,
                      kernels::PackedMatrix::allocate(config.head_dim, capacity, "kv_cache"));
    memory.keys.push_back(std::move(keys));
    memory.values.push_back(std::move(values));
  }
  return memory;
}

void KeyValues::append(MatrixView<const float> new_keys, MatrixView<const float> new_values) {
  for (std::size_t head = 0; head < keys.size(); ++head) {
    const auto offset = static_cast<std::ptrdiff_t>(head) * keys[head].depth();
    for (int i = 0; i < new_keys.rows; ++i) {
      keys[head].set_column(length + i, new_keys.row(i) + offset);
      values[head].set_depth_row(length + i, new_values.row(i) + offset);
    }
  }
  length += new_keys.rows;
}

void KeyValues::assign(const KeyValues& other) {
  length = other.length;
  for (std::size_t head = 0; head < keys.size(); ++head) {
    keys[head].copy_from(other.keys[head], length, keys[head].depth());
    values[head].copy_from(other.values[head], values[head].cols(), length);
  }
}

Result<KvCache> KvCache::allocate(const Config& config, int capacity) {
  KvCache cache;
  for (int layer = 0; layer < config.num_decoder_layers; ++layer) {
    RELATA_TRY_ASSIGN(auto memory, KeyValues::allocate(config, capacity));
    cache.layers.push_back(std::move(memory));
  }
  return cache;
}

}  // namespace relata
