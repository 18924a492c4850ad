#include "src/kernels/weight_matrix.hpp"

#include <algorithm>

#include "src/kernels/packing.hpp"

namespace relata::kernels {
namespace {

using Arch = simd::BuildArch;

std::uint64_t padded(int count, int multiple) {
  return (static_cast<std::uint64_t>(count) + static_cast<std::uint64_t>(multiple) - 1) /
         static_cast<std::uint64_t>(multiple) * static_cast<std::uint64_t>(multiple);
}

/// use(i, count) for rows [i, i + count) of `rows` that lie in one panel, the first in column
/// `first`.
template <class Use>
void for_each_panel(int first, int rows, Use use) {
  for (int i = 0; i < rows;) {
    const int count = std::min(kPanelWidth - (first + i) % kPanelWidth, rows - i);
    use(i, count);
    i += count;
  }
}

}  // namespace

Result<WeightMatrix> WeightMatrix::allocate(WeightType type, int cols, int depth, const char* where,
                                            Scheme scheme) {
  WeightMatrix matrix;
  matrix.type_ = type;
  matrix.scheme_ = scheme;
  matrix.cols_ = cols;
  matrix.depth_ = depth;
  if (type == WeightType::f32) {
    RELATA_TRY_ASSIGN(matrix.f32_, PackedMatrix::allocate(cols, depth, where, Fresh::anything));
    return matrix;
  }
  const std::uint64_t padded_cols = padded(cols, kPanelWidth);
  const auto padded_depth = static_cast<std::uint64_t>(in_whole(scheme, depth));
  // Every column is set before it is used; what is past the last one or the last pair is not.
  const bool whole = padded_cols * padded_depth ==
                     static_cast<std::uint64_t>(cols) * static_cast<std::uint64_t>(depth);
  RELATA_TRY(matrix.values_.reset(padded_cols * padded_depth, where,
                                  whole ? Fresh::anything : Fresh::zeros));
  RELATA_TRY(matrix.column_scales_.reset(padded_cols, where));
  if (scheme == Scheme::quads) {
    RELATA_TRY(matrix.offsets_.reset(padded_cols, where));
  }
  RELATA_TRY(matrix.reach_.reset(static_cast<std::uint64_t>(depth), where));
  return matrix;
}

bool in_range(std::span<const std::int8_t> values) {
  return least_of<Arch>(values.data(), values.size()) >= -127;
}

void WeightMatrix::level(const float* row) {
  if (type_ == WeightType::int8) {
    widen_reach<Arch>(row, depth_, reach_.data());
  }
}

void WeightMatrix::set_rows(int first, MatrixView<const float> rows) {
  if (type_ == WeightType::f32) {
    f32_.set_columns(first, rows);
    return;
  }
  for (int i = 0; i < rows.rows; ++i) {
    column_scales_[static_cast<std::size_t>(first + i)] =
        column_scale<Arch>(rows.row(i), reach_.data(), depth_);
  }
  for_each_panel(first, rows.rows, [&](int i, int count) {
    const int col = first + i;
    round_rows_into<Arch>(scheme_, rows.slice_rows(i, count), reach_.data(),
                          column_scales_.data() + col, col % kPanelWidth, panel(col));
    find_offsets(col);
  });
}

bool WeightMatrix::holds_row(int col, const float* row) const {
  if (type_ == WeightType::f32) {
    return f32_.holds_column(col, row);
  }
  const float kept_scale = column_scales_[static_cast<std::size_t>(col)];
  const float scale = rounded_before_ ? kept_scale : column_scale<Arch>(row, reach_.data(), depth_);
  bool same = scale == kept_scale;
  for (int k = 0; k < depth_ && same; ++k) {
    const float reach = reach_[static_cast<std::size_t>(k)];
    const std::int8_t kept = integer(col, k);
    std::int8_t rounded[simd::kWidth<Arch>];
    round_weights<Arch>(row + k, &reach, scale, 1, rounded);
    same =
        rounded_before_ ? static_cast<float>(kept) * scale * reach == row[k] : kept == rounded[0];
  }
  return same;
}

void WeightMatrix::set_factors(std::span<const float> scales, std::span<const float> reach) {
  rounded_before_ = true;
  for (int col = 0; col < cols_; ++col) {
    const auto at = static_cast<std::size_t>(col);
    column_scales_[at] = scales[scales.size() == 1 ? 0 : at];
  }
  for (int k = 0; k < depth_; ++k) {
    const auto at = static_cast<std::size_t>(k);
    reach_[at] = reach.empty() ? 1 : reach[at];
  }
}

void WeightMatrix::set_integers(int first, MatrixView<const std::int8_t> rows) {
  for_each_panel(first, rows.rows, [&](int i, int count) {
    const int col = first + i;
    place_rows<Arch>(scheme_, rows.row(i), rows.stride, count, depth_, col % kPanelWidth,
                     panel(col));
    find_offsets(col);
  });
}

void WeightMatrix::copy_integers(int col, std::int8_t* values) const {
  for (int k = 0; k < depth_; ++k) {
    values[k] = integer(col, k);
  }
}

std::uint64_t WeightMatrix::bytes() const {
  return f32_.bytes() + values_.size() +
         (column_scales_.size() + reach_.size() + offsets_.size()) * sizeof(float);
}

void WeightMatrix::copy_row(int col, float* values) const {
  if (type_ == WeightType::f32) {
    f32_.copy_column(col, values);
    return;
  }
  const float scale = column_scales_[static_cast<std::size_t>(col)];
  for (int k = 0; k < depth_; ++k) {
    values[k] = static_cast<float>(integer(col, k)) * scale * reach_[static_cast<std::size_t>(k)];
  }
}

RoundedView WeightMatrix::int8() const {
  return {reinterpret_cast<const std::byte*>(values_.data()),
          column_scales_.data(),
          reach_.data(),
          offsets_.data(),
          cols_,
          depth_,
          panel_stride(),
          scheme_ == Scheme::pairs ? &kWeightPairs : &kWeightQuads};
}

std::int8_t WeightMatrix::integer(int col, int k) const {
  return values_[static_cast<std::size_t>(col / kPanelWidth * panel_stride() +
                                          place_in_panel(scheme_, col % kPanelWidth, k))];
}

void WeightMatrix::find_offsets(int col) {
  if (scheme_ == Scheme::quads) {
    kernels::find_offsets(panel(col), depth_, offsets_.data() + col / kPanelWidth * kPanelWidth);
  }
}

}  // namespace relata::kernels
