#include "src/formats/block_formats.hpp"

#include <cstring>

#include "src/formats/widen.hpp"

namespace relata::formats {
namespace {

template <class T>
T read(const std::byte* source) {
  T value;
  std::memcpy(&value, source, sizeof value);
  return value;
}

int byte_at(const std::byte* source, int i) { return std::to_integer<int>(source[i]); }
int low(int byte) { return byte & 15; }
int high(int byte) { return byte >> 4; }
float half_at(const std::byte* source) { return widen_f16(read<std::uint16_t>(source)); }

void decode_f32(const std::byte* block, float* values) { values[0] = read<float>(block); }
void decode_f16(const std::byte* block, float* values) { values[0] = half_at(block); }
void decode_bf16(const std::byte* block, float* values) {
  values[0] = widen_bf16(read<std::uint16_t>(block));
}

template <class T>
void decode_integer(const std::byte* block, float* values) {
  values[0] = static_cast<float>(read<T>(block));
}

void decode_q8_0(const std::byte* block, float* values) {
  const float scale = half_at(block);
  for (int i = 0; i < 32; ++i) {
    values[i] = scale * static_cast<float>(read<std::int8_t>(block + 2 + i));
  }
}

/// The blocks of 32 with 4 or 5 bits: scale, maybe a minimum, maybe the fifth bits, then nibbles
/// whose low halves are values 0..15 and whose high halves are values 16..31. Without a minimum the
/// values are centred.
template <int Bits, bool HasMinimum>
void decode_q32(const std::byte* block, float* values) {
  const float scale = half_at(block);
  block += 2;
  float minimum = 0;
  if constexpr (HasMinimum) {
    minimum = half_at(block);
    block += 2;
  }
  std::uint32_t fifth = 0;
  if constexpr (Bits == 5) {
    fifth = read<std::uint32_t>(block);
    block += 4;
  }
  constexpr int kCentre = HasMinimum ? 0 : 1 << (Bits - 1);
  for (int i = 0; i < 32; ++i) {
    const int byte = byte_at(block, i % 16);
    const int nibble = i < 16 ? low(byte) : high(byte);
    const int top = static_cast<int>(fifth >> i & 1) << 4;
    values[i] = static_cast<float>((nibble | top) - kCentre) * scale + minimum;
  }
}

/// The eight 6-bit scales and minima of a K block, packed into twelve bytes.
struct KScales {
  int scale[8];
  int minimum[8];

  explicit KScales(const std::byte* packed) {
    for (int i = 0; i < 4; ++i) {
      const int first = byte_at(packed, i);
      const int second = byte_at(packed, i + 4);
      const int third = byte_at(packed, i + 8);
      scale[i] = first & 63;
      minimum[i] = second & 63;
      scale[i + 4] = low(third) | (first >> 6) << 4;
      minimum[i + 4] = high(third) | (second >> 6) << 4;
    }
  }
};

/// 256 values in eight runs of 32, each with a scale and a minimum; the nibbles of two runs share
/// 32 bytes.
template <int Bits>
void decode_k(const std::byte* block, float* values) {
  const float scale = half_at(block);
  const float minimum = half_at(block + 2);
  const KScales scales(block + 4);
  const std::byte* fifth = block + 16;  // bit r of byte i belongs to value i of run r
  const std::byte* nibbles = block + (Bits == 5 ? 48 : 16);
  for (int run = 0; run < 8; ++run) {
    const float run_scale = scale * static_cast<float>(scales.scale[run]);
    const float run_minimum = minimum * static_cast<float>(scales.minimum[run]);
    for (int i = 0; i < 32; ++i) {
      const int byte = byte_at(nibbles, run / 2 * 32 + i);
      int value = run % 2 == 0 ? low(byte) : high(byte);
      if constexpr (Bits == 5) {
        value |= (byte_at(fifth, i) >> run & 1) << 4;
      }
      values[run * 32 + i] = run_scale * static_cast<float>(value) - run_minimum;
    }
  }
}

/// 256 values of 6 bits, centred: low nibbles, then two more bits each, an 8-bit scale per 16
/// values, the common scale.
void decode_q6_k(const std::byte* block, float* values) {
  const std::byte* nibbles = block;
  const std::byte* tops = block + 128;
  const std::byte* scales = block + 192;
  const float scale = half_at(block + 208);
  for (int i = 0; i < 256; ++i) {
    const int half = i / 128;
    const int quarter = i % 128 / 32;  // which two bits of the top byte
    const int at = i % 32;
    const int byte = byte_at(nibbles, half * 64 + quarter % 2 * 32 + at);
    const int nibble = quarter < 2 ? low(byte) : high(byte);
    const int top = byte_at(tops, half * 32 + at) >> (2 * quarter) & 3;
    const float own = scale * static_cast<float>(read<std::int8_t>(scales + i / 16));
    values[i] = own * static_cast<float>((nibble | top << 4) - 32);
  }
}

constexpr BlockFormat kFormats[] = {
    {"F32", 1, 4, decode_f32},
    {"F16", 1, 2, decode_f16},
    {"BF16", 1, 2, decode_bf16},
    {"I8", 1, 1, decode_integer<std::int8_t>},
    {"I16", 1, 2, decode_integer<std::int16_t>},
    {"Q8_0", 32, 34, decode_q8_0},
    {"Q4_0", 32, 18, decode_q32<4, false>},
    {"Q4_1", 32, 20, decode_q32<4, true>},
    {"Q5_0", 32, 22, decode_q32<5, false>},
    {"Q5_1", 32, 24, decode_q32<5, true>},
    {"Q4_K", 256, 144, decode_k<4>},
    {"Q5_K", 256, 176, decode_k<5>},
    {"Q6_K", 256, 210, decode_q6_k},
};

}  // namespace

const BlockFormat* find_block_format(std::string_view name) {
  for (const BlockFormat& format : kFormats) {
    if (format.name == name) {
      return &format;
    }
  }
  return nullptr;
}

void decode_row(const BlockFormat& format, const std::byte* source, int count, float* row) {
  if (format.decode == decode_f32) {
    std::memcpy(row, source, static_cast<std::size_t>(count) * sizeof(float));
    return;
  }
  for (int i = 0; i < count; i += format.block_values, source += format.block_bytes) {
    format.decode(source, row + i);
  }
}

}  // namespace relata::formats
