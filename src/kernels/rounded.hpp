// Operands of products of integers: weights kept in 8 bits, keys and values kept in 16 bits, and
// the rows they are multiplied with.
//
// Two schemes give the same bits. Pairs: two neighbouring integers of a row at a time. Quads: four,
// of 14 bits each, as two digits of 7 bits that meet 8-bit weights one after the other; for
// machines that sum four products of bytes in one instruction.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "src/base/aligned_buffer.hpp"
#include "src/kernels/kernels.hpp"
#include "src/kernels/streaming.hpp"

namespace relata::kernels {

/// How many neighbouring integers of a column lie together.
enum class Scheme : std::uint8_t { pairs = 2, quads = 4 };

constexpr int together(Scheme scheme) { return static_cast<int>(scheme); }

/// `count` integers in whole pairs or quads.
constexpr int in_whole(Scheme scheme, int count) {
  return (count + together(scheme) - 1) / together(scheme) * together(scheme);
}

/// Rows that share each integer read of the second operand.
constexpr int row_group(Scheme scheme) { return scheme == Scheme::pairs ? 4 : 3; }

/// What a row is multiplied as: itself, or its two digits.
constexpr int digits(Scheme scheme) { return scheme == Scheme::pairs ? 1 : 2; }

/// The scheme for 8-bit weights on this machine.
Scheme scheme_of_machine();

struct RoundedKernels;

/// The second operand, borrowed: `cols` output columns of `depth` integers each, in panels of
/// kPanelWidth, inside a panel two or four neighbouring integers of all its columns at a time:
/// data[panel][k / together][column in panel][k % together]. Integer k of column c stands for data
/// * column_scales[c] * reach[k].
struct RoundedView {
  const std::byte* data = nullptr;        // integers of 8 or 16 bits
  const float* column_scales = nullptr;   // [cols, padded to a panel], or null for ones
  const float* reach = nullptr;           // [depth], or null for ones
  const std::int32_t* offsets = nullptr;  // quads: [cols, padded to a panel], of find_offsets
  int cols = 0;
  int depth = 0;
  std::ptrdiff_t panel_stride = 0;  // bytes between two panels
  const RoundedKernels* kernels = nullptr;

  /// Columns [first, last); first at the beginning of a panel.
  RoundedView slice_cols(int first, int last) const {
    RoundedView slice = *this;
    slice.data += first / kPanelWidth * panel_stride;
    slice.column_scales += column_scales == nullptr ? 0 : first;
    slice.offsets += offsets == nullptr ? 0 : first;
    slice.cols = last - first;
    return slice;
  }
};

/// What rounded_matmul is made of, for one scheme, type of integers and vector width; in
/// rounded_matmul.hpp.
struct RoundedKernels {
  Scheme scheme;
  int integer_bytes;
  /// result [rows of digits, kPanelWidth] = a group of rows times a panel; `passes` are made over
  /// it.
  void (*group)(const std::int16_t* rows, const std::byte* panel, int depth, Ahead& ahead,
                std::int32_t* result);
  int passes;
  /// The same for a single row.
  void (*single)(const std::int16_t* row, const std::byte* panel, int depth, std::int32_t* result);
  /// output = start (or null) + a row * the first kStreams times `count` panels of second; null
  /// where `single` is as fast.
  void (*row)(const std::int16_t* row, float row_scale, const RoundedView& second, int count,
              const float* start, float* output);
  /// output [rows, cols] = sums [rows, digits, kPanelWidth] * column scale * row scale + start
  /// (null: 0), for the columns of second from `first` on, kPanelWidth at most.
  void (*scale)(const std::int32_t* sums, const float* row_scales, int rows,
                const RoundedView& second, int first, int cols, const float* start,
                std::ptrdiff_t start_stride, float* output, std::ptrdiff_t output_stride);
};

/// Those of this build: of 8-bit weights in either scheme, and of keys and values in 16 bits.
extern const RoundedKernels kWeightPairs;
extern const RoundedKernels kWeightQuads;
extern const RoundedKernels kCachedPairs;

/// offsets [kPanelWidth] = 8192 times the sum of each column of a panel of quads: what digits of
/// integers plus 8192 give too much.
void find_offsets(const std::int8_t* panel, int depth, std::int32_t* offsets);

/// The largest integer of a row that meets weights, in every scheme: 14 bits with the sign.
inline constexpr int kLargestInput = 8191;

/// Scratch: rows of the first operand, rounded. They lie in groups of row_group; rows that do not
/// fill a group lie one by one. Pairs: 16-bit integers, [k / 2][row in group][k % 2]. Quads: bytes,
/// [k / 4][row in group][digit, the higher first][k % 4], of the integers plus 8192. A row has one
/// scale.
struct RoundedRows {
  AlignedBuffer<std::int16_t> values;  // [rows, depth in whole quads]
  AlignedBuffer<float> scales;         // [rows]

  /// Room for `rows` rows of up to max_depth values. Errors: out_of_memory, naming `where`.
  static Result<RoundedRows> allocate(int rows, int max_depth, const char* where);
};

/// The most that the magnitudes of `depth` rounded values may add up to, before they are rounded,
/// so that their products with integers of at most `largest` stay inside 32 bits.
inline float rounding_budget(int largest, int depth) {
  return static_cast<float>(INT32_MAX / largest - depth / 2);
}

/// output [n, cols] = start + rounded rows * second; start as matmul's.
void rounded_matmul(const RoundedRows& rows, const RoundedView& second,
                    MatrixView<const float> start, MatrixView<float> output);

}  // namespace relata::kernels
