#include "src/kernels/weight_matrix.hpp"

#include <algorithm>
#include <cmath>

namespace relata::kernels {
namespace {

constexpr float kSteps = 127;

std::uint64_t padded(int count, int multiple) {
  return (static_cast<std::uint64_t>(count) + static_cast<std::uint64_t>(multiple) - 1) /
         static_cast<std::uint64_t>(multiple) * static_cast<std::uint64_t>(multiple);
}

}  // namespace

Result<RoundedRows> RoundedRows::allocate(int rows, int max_depth, int num_threads,
                                          const char* where) {
  RoundedRows scratch;
  scratch.num_threads = num_threads;
  RELATA_TRY(scratch.values.reset(static_cast<std::uint64_t>(rows) * padded(max_depth, 2), where));
  RELATA_TRY(scratch.scales.reset(static_cast<std::uint64_t>(rows), where));
  RELATA_TRY(scratch.panels.reset(
      padded(max_depth, 2) * kPanelWidth * kWidePanels * static_cast<std::uint64_t>(num_threads),
      where));
  return scratch;
}

Result<WeightMatrix> WeightMatrix::allocate(WeightType type, int cols, int depth,
                                            const char* where) {
  WeightMatrix matrix;
  matrix.type_ = type;
  matrix.cols_ = cols;
  matrix.depth_ = depth;
  if (type == WeightType::f32) {
    RELATA_TRY_ASSIGN(matrix.f32_, PackedMatrix::allocate(cols, depth, where));
    return matrix;
  }
  const std::uint64_t padded_cols = padded(cols, kPanelWidth);
  RELATA_TRY(matrix.values_.reset(padded_cols * padded(depth, 2), where));
  RELATA_TRY(matrix.column_scales_.reset(padded_cols, where));
  RELATA_TRY(matrix.reach_.reset(static_cast<std::uint64_t>(depth), where));
  return matrix;
}

void WeightMatrix::level(const float* row) {
  if (type_ == WeightType::int8) {
    for (int k = 0; k < depth_; ++k) {
      float& reach = reach_[static_cast<std::size_t>(k)];
      reach = std::max(reach, std::abs(row[k]));
    }
  }
}

void WeightMatrix::set_row(int col, const float* row) {
  if (type_ == WeightType::f32) {
    f32_.set_column(col, row);
    return;
  }
  const float scale = scale_of(row);
  column_scales_[static_cast<std::size_t>(col)] = scale;
  for (int k = 0; k < depth_; ++k) {
    values_[static_cast<std::size_t>(place(col, k))] = round(row[k], scale, k);
  }
}

bool WeightMatrix::holds_row(int col, const float* row) const {
  if (type_ == WeightType::f32) {
    return f32_.holds_column(col, row);
  }
  const float scale = scale_of(row);
  bool same = scale == column_scales_[static_cast<std::size_t>(col)];
  for (int k = 0; k < depth_; ++k) {
    same = same && values_[static_cast<std::size_t>(place(col, k))] == round(row[k], scale, k);
  }
  return same;
}

float WeightMatrix::scale_of(const float* row) const {
  float largest = 0;
  for (int k = 0; k < depth_; ++k) {
    const float reach = reach_[static_cast<std::size_t>(k)];
    largest = std::max(largest, reach > 0 ? std::abs(row[k]) / reach : 0);
  }
  return largest / kSteps;
}

std::int8_t WeightMatrix::round(float value, float scale, int k) const {
  const float reach = reach_[static_cast<std::size_t>(k)];
  if (scale == 0 || reach == 0) {
    return 0;
  }
  return static_cast<std::int8_t>(
      std::nearbyint(std::clamp(value / reach / scale, -kSteps, kSteps)));
}

std::uint64_t WeightMatrix::bytes() const {
  return f32_.bytes() + values_.size() + (column_scales_.size() + reach_.size()) * sizeof(float);
}

void WeightMatrix::copy_row(int col, float* values) const {
  if (type_ == WeightType::f32) {
    f32_.copy_column(col, values);
    return;
  }
  const float scale = column_scales_[static_cast<std::size_t>(col)];
  for (int k = 0; k < depth_; ++k) {
    values[k] = static_cast<float>(values_[static_cast<std::size_t>(place(col, k))]) * scale *
                reach_[static_cast<std::size_t>(k)];
  }
}

Int8View WeightMatrix::int8() const {
  return {values_.data(), column_scales_.data(), reach_.data(), cols_, depth_};
}

std::ptrdiff_t WeightMatrix::place(int col, int k) const {
  const std::ptrdiff_t panel = col / kPanelWidth;
  const std::ptrdiff_t pair = k / 2;
  const std::ptrdiff_t pairs = (depth_ + 1) / 2;
  return ((panel * pairs + pair) * kPanelWidth + col % kPanelWidth) * 2 + k % 2;
}

}  // namespace relata::kernels
