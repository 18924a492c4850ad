// Products of integers, so that the result is the same to the bit in every build, at every number
// of rows and on every machine.
//
// Weights: q[c][k] * column_scale[c] * reach[k] with 8 bits each. reach[k], the largest weight of
// input k against the largest of its column c, levels the inputs before rounding: one whose weights
// are all small would otherwise lose its precision to its neighbours. Keys and values: 16 bits, a
// scale for every position. The first operand carries the reach instead; it is rounded, one scale
// per row, to 14 bits beside weights and else to 16, or to as many steps as the 32-bit sums can
// hold.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "src/kernels/rounded.hpp"
#include "src/kernels/simd.hpp"
#include "src/kernels/streaming.hpp"

namespace relata::kernels {

/// The scheme of pairs: how its operands are read and multiplied. A row is one row of integers.
template <class Architecture, class Type>
struct Pairs {
  using Arch = Architecture;
  using Value = Type;
  static constexpr Scheme kScheme = Scheme::pairs;

  static auto load(const std::byte* values) {
    return simd::load_pairs<Arch>(reinterpret_cast<const Value*>(values));
  }
  static auto broadcast(const std::int16_t* row) {
    return simd::broadcast<Arch, std::int16_t>(row);
  }
  static auto add(const simd::Pairs<Arch>& a, const simd::Pairs<Arch>& b,
                  const simd::Ints<Arch>& sums) {
    return simd::add_pair_products<Arch>(a, b, sums);
  }
  /// The sums of products with a row's integers.
  static auto whole(const std::int32_t* sums, const simd::Ints<Arch>&) {
    return simd::Ints<Arch>::load_unaligned(sums);
  }
  static auto offsets(const std::int32_t*, int) { return simd::Ints<Arch>(0); }
};

/// The scheme of quads. A row is two rows of digits.
template <class Architecture>
struct Quads {
  using Arch = Architecture;
  using Value = std::int8_t;
  static constexpr Scheme kScheme = Scheme::quads;

  static auto load(const std::byte* values) {
    return simd::Bytes<Arch>::load_unaligned(reinterpret_cast<const Value*>(values));
  }
  static auto broadcast(const std::int16_t* row) { return simd::broadcast<Arch, std::int8_t>(row); }
  static auto add(const simd::Bytes<Arch>& a, const simd::Bytes<Arch>& b,
                  const simd::Ints<Arch>& sums) {
    return simd::add_quad_products<Arch>(a, b, sums);
  }
  /// From the sums of the higher digits and, kPanelWidth further, of the lower ones. In between
  /// they may leave 32 bits, in the end they are back: unsigned, they may.
  static auto whole(const std::int32_t* sums, const simd::Ints<Arch>& offsets) {
    const auto bits = [](const simd::Ints<Arch>& values) {
      return xsimd::bitwise_cast<std::uint32_t>(values);
    };
    return xsimd::bitwise_cast<std::int32_t>(
        (bits(simd::Ints<Arch>::load_unaligned(sums)) << 7) +
        bits(simd::Ints<Arch>::load_unaligned(sums + kPanelWidth)) - bits(offsets));
  }
  static auto offsets(const std::int32_t* offsets, int col) {
    return simd::Ints<Arch>::load_unaligned(offsets + col);
  }
};

/// Bytes of a vector of columns and of a panel, as far as they lie together.
template <class Products>
inline constexpr int kVectorStep =
    together(Products::kScheme) * static_cast<int>(sizeof(typename Products::Value)) *
    simd::kWidth<typename Products::Arch>;
template <class Products>
inline constexpr int kPanelStep =
    kVectorStep<Products> / simd::kWidth<typename Products::Arch> * kPanelWidth;

/// result [Rows, kPanelWidth] = Rows rounded rows, or rows of digits, that lie together times the
/// first Vectors vectors of a panel. A function of its own, called many times: engines compile that
/// best.
template <class Products, int Rows, int Vectors>
[[gnu::noinline]] void sum_products(const std::int16_t* rows, const std::byte* panel, int depth,
                                    Ahead ahead, std::int32_t* result) {
  using Arch = typename Products::Arch;
  constexpr int kWidth = simd::kWidth<Arch>;
  constexpr int kTogether = together(Products::kScheme);
  constexpr int kStep = kVectorStep<Products>;
  simd::Ints<Arch> sums[Rows][Vectors];
  for (int r = 0; r < Rows; ++r) {
    for (int v = 0; v < Vectors; ++v) {
      sums[r][v] = simd::Ints<Arch>(0);
    }
  }
  for (int k = 0; k < depth; k += kTogether) {
    decltype(Products::load(panel)) seconds[Vectors];
    for (int v = 0; v < Vectors; ++v) {
      seconds[v] = Products::load(panel + v * kStep);
    }
    panel += kPanelStep<Products>;
    ahead.read();
    for (int r = 0; r < Rows; ++r) {
      const auto x = Products::broadcast(rows + 2 * r);
      for (int v = 0; v < Vectors; ++v) {
        sums[r][v] = Products::add(seconds[v], x, sums[r][v]);
      }
    }
    rows += 2 * Rows;
  }
  for (int r = 0; r < Rows; ++r) {
    for (int v = 0; v < Vectors; ++v) {
      sums[r][v].store_unaligned(result + r * kPanelWidth + v * kWidth);
    }
  }
}

/// RoundedKernels::scale. There are sums and column scales in whole vectors.
template <class Products>
[[gnu::noinline]] void scale_rows(const std::int32_t* sums, const float* row_scales, int rows,
                                  const RoundedView& second, int first, int cols,
                                  const float* start, std::ptrdiff_t start_stride, float* output,
                                  std::ptrdiff_t output_stride) {
  using Arch = typename Products::Arch;
  using Floats = simd::Floats<Arch>;
  for (int col = 0; col < cols; col += simd::kWidth<Arch>) {
    const Floats column_scale = second.column_scales == nullptr
                                    ? Floats(1.0F)
                                    : simd::load<Arch>(second.column_scales + first + col);
    const auto offsets = Products::offsets(second.offsets, first + col);
    for (int i = 0; i < rows; ++i) {
      const auto whole =
          Products::whole(sums + i * digits(Products::kScheme) * kPanelWidth + col, offsets);
      auto result = xsimd::to_float(whole) * (column_scale * Floats(row_scales[i]));
      if (start != nullptr) {
        result += simd::load_at<Arch>(start + i * start_stride, col, cols, 0);
      }
      simd::store_at<Arch>(output + i * output_stride, col, cols, result);
    }
  }
}

/// output = start (or null) + one rounded row * the first kStreams times `count` panels of second.
template <class Products>
[[gnu::noinline]] void multiply_row(const std::int16_t* row, float row_scale,
                                    const RoundedView& second, int count, const float* start,
                                    float* output) {
  using Arch = typename Products::Arch;
  constexpr int kWidth = simd::kWidth<Arch>;
  constexpr int kDigits = digits(Products::kScheme);
  constexpr int kTogether = together(Products::kScheme);
  // As many running sums in every scheme: with digits, a part of the panels at a time.
  constexpr int kVectors = kPanelWidth / kWidth / kDigits;
  for (int panel = 0; panel < count; ++panel) {
    std::int32_t lanes[kStreams][kDigits][kPanelWidth];
    for (int part = 0; part < kPanelWidth; part += kVectors * kWidth) {
      simd::Ints<Arch> sums[kStreams][kDigits][kVectors];
      const std::byte* values[kStreams];
      for (int s = 0; s < kStreams; ++s) {
        values[s] = second.data + (panel + s * count) * second.panel_stride +
                    part / kWidth * kVectorStep<Products>;
        for (int d = 0; d < kDigits; ++d) {
          for (int v = 0; v < kVectors; ++v) {
            sums[s][d][v] = simd::Ints<Arch>(0);
          }
        }
      }
      const std::int16_t* at = row;
      for (int k = 0; k < second.depth; k += kTogether) {
        decltype(Products::broadcast(at)) x[kDigits];
        for (int d = 0; d < kDigits; ++d) {
          x[d] = Products::broadcast(at + 2 * d);
        }
        at += kTogether;
        for (int s = 0; s < kStreams; ++s) {
          for (int v = 0; v < kVectors; ++v) {
            const auto weights = Products::load(values[s] + v * kVectorStep<Products>);
            for (int d = 0; d < kDigits; ++d) {
              sums[s][d][v] = Products::add(weights, x[d], sums[s][d][v]);
            }
          }
          values[s] += kPanelStep<Products>;
        }
      }
      for (int s = 0; s < kStreams; ++s) {
        for (int d = 0; d < kDigits; ++d) {
          for (int v = 0; v < kVectors; ++v) {
            sums[s][d][v].store_unaligned(lanes[s][d] + part + v * kWidth);
          }
        }
      }
    }
    for (int s = 0; s < kStreams; ++s) {
      const int col = (panel + s * count) * kPanelWidth;
      scale_rows<Products>(lanes[s][0], &row_scale, 1, second, col, kPanelWidth,
                           start == nullptr ? nullptr : start + col, 0, output + col, 0);
    }
  }
}

/// The vectors of a panel that meet a group of rows at a time. Rows times digits times vectors is
/// the number of running sums: as many as 16 registers hold beside the operands.
template <class Arch>
inline constexpr int kGroupVectors = std::min(2, kPanelWidth / simd::kWidth<Arch>);
template <class Arch>
inline constexpr int kPasses = kPanelWidth / simd::kWidth<Arch> / kGroupVectors<Arch>;

template <class Products>
void multiply_group(const std::int16_t* rows, const std::byte* panel, int depth, Ahead& ahead,
                    std::int32_t* result) {
  using Arch = typename Products::Arch;
  constexpr int kRows = row_group(Products::kScheme) * digits(Products::kScheme);
  constexpr int kVectors = kGroupVectors<Arch>;
  for (int pass = 0; pass < kPasses<Arch>; ++pass) {
    sum_products<Products, kRows, kVectors>(rows, panel + pass * kVectors * kVectorStep<Products>,
                                            depth, ahead,
                                            result + pass * kVectors * simd::kWidth<Arch>);
    ahead.skip((depth + together(Products::kScheme) - 1) / together(Products::kScheme));
  }
}

template <class Products>
void multiply_single(const std::int16_t* row, const std::byte* panel, int depth,
                     std::int32_t* result) {
  sum_products<Products, digits(Products::kScheme),
               kPanelWidth / simd::kWidth<typename Products::Arch>>(row, panel, depth, Ahead(panel),
                                                                    result);
}

template <class Products>
inline constexpr RoundedKernels kRoundedKernels = {
    Products::kScheme,         static_cast<int>(sizeof(typename Products::Value)),
    multiply_group<Products>,  kPasses<typename Products::Arch>,
    multiply_single<Products>, multiply_row<Products>,
    scale_rows<Products>,
};

}  // namespace relata::kernels
