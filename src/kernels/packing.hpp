// Rows of a weight put into panels: value k of all columns of a panel side by side, and before that
// rounded to 8 bits where they are kept so. rounded_matmul.hpp says what the numbers mean.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <utility>

#include "src/kernels/kernels.hpp"
#include "src/kernels/rounded.hpp"
#include "src/kernels/simd.hpp"

namespace relata::kernels {

/// The largest 8-bit weight.
inline constexpr float kSteps = 127;

/// A square of values, transposed: rows that are riffled once for each time that two goes into
/// their number become columns. Written out by packs: what is compiled for size unrolls no loop,
/// and an array of vectors would be memory.
template <class Batch, int... I>
[[gnu::always_inline]] inline void transpose(const std::byte* rows, std::ptrdiff_t stride,
                                             typename Batch::value_type* target,
                                             std::integer_sequence<int, I...>) {
  using Value = typename Batch::value_type;
  constexpr int kHalf = sizeof...(I) / 2;
  Batch square[] = {Batch::load_unaligned(reinterpret_cast<const Value*>(rows + I * stride))...};
  const auto riffle = [&]() __attribute__((always_inline)) {
    const Batch riffled[] = {(I % 2 == 0 ? xsimd::zip_lo(square[I / 2], square[I / 2 + kHalf])
                                         : xsimd::zip_hi(square[I / 2], square[I / 2 + kHalf]))...};
    ((square[I] = riffled[I]), ...);
  };
  // Sixteen at most.
  riffle();
  if constexpr (kHalf > 1) {
    riffle();
  }
  if constexpr (kHalf > 2) {
    riffle();
  }
  if constexpr (kHalf > 4) {
    riffle();
  }
  (square[I].store_unaligned(target + I * kPanelWidth), ...);
}

/// target[k][column in panel] = row `column`'s value k, of kPanelWidth rows that lie stride bytes
/// apart, at any address. Batch: a vector of the values.
template <class Batch>
void interleave(const void* rows, std::ptrdiff_t stride, int count,
                typename Batch::value_type* target) {
  using Value = typename Batch::value_type;
  constexpr int kLanesOf = static_cast<int>(Batch::size);
  const auto* bytes = static_cast<const std::byte*>(rows);
  int k = 0;
  if constexpr (kLanesOf <= kPanelWidth) {
    for (; k + kLanesOf <= count; k += kLanesOf) {
      for (int col = 0; col < kPanelWidth; col += kLanesOf) {
        transpose<Batch>(bytes + col * stride + k * static_cast<std::ptrdiff_t>(sizeof(Value)),
                         stride, target + k * kPanelWidth + col,
                         std::make_integer_sequence<int, kLanesOf>());
      }
    }
  }
  for (; k < count; ++k) {
    for (int col = 0; col < kPanelWidth; ++col) {
      std::memcpy(target + k * kPanelWidth + col,
                  bytes + col * stride + k * static_cast<std::ptrdiff_t>(sizeof(Value)),
                  sizeof(Value));
    }
  }
}

/// use(k, load) for every vector of `count` values; load reads the one at k, zeros past the end.
/// Compiled for size, a loop that looks for its end in every turn stays one.
template <class Arch, class Use>
[[gnu::always_inline]] inline void for_vectors(int count, Use use) {
  constexpr int kWidth = simd::kWidth<Arch>;
  int k = 0;
  for (; k + kWidth <= count; k += kWidth) {
    use(k, [k](const float* values) { return simd::load<Arch>(values + k); });
  }
  if (k < count) {
    use(k, [=](const float* values) { return simd::load_tail<Arch>(values + k, count - k, 0); });
  }
}

/// reach[k] = the larger of itself and |values[k]| over the largest |values|: a row counts the same
/// whatever its size, as it is rounded by a scale of its own.
template <class Arch>
void widen_reach(const float* values, int count, float* reach) {
  simd::Floats<Arch> largest(0.0F);
  for_vectors<Arch>(count, [&](int, auto load) __attribute__((always_inline)) {
    largest = xsimd::max(largest, xsimd::abs(load(values)));
  });
  const float row = xsimd::reduce_max(largest);
  if (row == 0) {
    return;
  }
  const simd::Floats<Arch> rows(row);
  for_vectors<Arch>(count, [&](int k, auto load) __attribute__((always_inline)) {
    simd::store_at<Arch>(reach, k, count, xsimd::max(load(reach), xsimd::abs(load(values)) / rows));
  });
}

/// values / reach, and zeros where nothing reaches.
template <class Arch>
simd::Floats<Arch> levelled(const simd::Floats<Arch>& values, const simd::Floats<Arch>& reach) {
  const simd::Floats<Arch> zero(0.0F);
  return xsimd::select(reach > zero, values / reach, zero);
}

/// What the 8-bit integers of a row are multiplied by, besides its reach.
template <class Arch>
float column_scale(const float* values, const float* reach, int count) {
  simd::Floats<Arch> largest(0.0F);
  for_vectors<Arch>(count, [&](int, auto load) __attribute__((always_inline)) {
    largest = xsimd::max(largest, xsimd::abs(levelled<Arch>(load(values), load(reach))));
  });
  return xsimd::reduce_max(largest) / kSteps;
}

/// rounded[k] = values[k] / reach[k] / scale to the nearest integer of -127..127, ties to even.
/// Writes whole vectors.
template <class Arch>
void round_weights(const float* values, const float* reach, float scale, int count,
                   std::int8_t* rounded) {
  const simd::Floats<Arch> most(kSteps);
  const simd::Floats<Arch> divisor(scale > 0 ? scale : 1);
  for_vectors<Arch>(count, [&](int k, auto load) __attribute__((always_inline)) {
    const auto value = levelled<Arch>(load(values), load(reach)) / divisor;
    simd::store_rounded<Arch>(rounded + k, xsimd::max(-most, xsimd::min(most, value)));
  });
}

/// Where integer k of a panel's column is in it.
inline std::ptrdiff_t place_in_panel(Scheme scheme, int col, int k) {
  const int each = together(scheme);
  return static_cast<std::ptrdiff_t>(k / each * kPanelWidth + col) * each + k % each;
}

/// Puts rows of 8-bit weights, `count` values each and stride bytes apart, into a panel from its
/// column `col` on.
template <class Arch>
void place_rows(Scheme scheme, const std::int8_t* rows, std::ptrdiff_t stride, int num_rows,
                int count, int col, std::int8_t* panel) {
  const int whole = count / together(scheme);
  int done = 0;
  if (num_rows == kPanelWidth) {
    if (scheme == Scheme::pairs) {
      interleave<simd::Pairs<Arch>>(rows, stride, whole, reinterpret_cast<std::int16_t*>(panel));
    } else {
      interleave<simd::Floats<Arch>>(rows, stride, whole, reinterpret_cast<float*>(panel));
    }
    done = whole * together(scheme);
  }
  for (int i = 0; i < num_rows; ++i) {
    for (int k = done; k < count; ++k) {
      panel[place_in_panel(scheme, col + i, k)] = rows[i * stride + k];
    }
  }
}

/// The smallest of some 8-bit values, or 0 if that is smaller.
template <class Arch>
int least_of(const std::int8_t* values, std::size_t count) {
  using Bytes = xsimd::batch<std::int8_t, Arch>;
  Bytes least(static_cast<std::int8_t>(0));
  std::size_t i = 0;
  for (; i + Bytes::size <= count; i += Bytes::size) {
    least = xsimd::min(least, Bytes::load_unaligned(values + i));
  }
  int result = xsimd::reduce_min(least);
  for (; i < count; ++i) {
    result = std::min<int>(result, values[i]);
  }
  return result;
}

/// Rounds rows [n, depth] of a weight, with a scale each, into a panel from its column `col` on.
template <class Arch>
void round_rows_into(Scheme scheme, MatrixView<const float> rows, const float* reach,
                     const float* scales, int col, std::int8_t* panel) {
  // So much of every row at a time stays close; whole quads, so that none is cut.
  constexpr int kChunk = 128;
  std::int8_t chunk[kPanelWidth * kChunk];
  for (int k = 0; k < rows.cols; k += kChunk) {
    const int count = std::min(kChunk, rows.cols - k);
    for (int i = 0; i < rows.rows; ++i) {
      round_weights<Arch>(rows.row(i) + k, reach + k, scales[i], count, chunk + i * kChunk);
    }
    place_rows<Arch>(scheme, chunk, kChunk, rows.rows, count, col,
                     panel + static_cast<std::ptrdiff_t>(k) * kPanelWidth);
  }
}

}  // namespace relata::kernels
