#include "src/kernels/cached_matrix.hpp"

#include <algorithm>
#include <limits>

#include "src/kernels/matmul.hpp"
#include "src/kernels/rounding.hpp"

namespace relata::kernels {
namespace {

using Arch = simd::BuildArch;

// Precision of a key or value against that of its partner: both share the 32 bits of a sum.
constexpr int kLargestKey = 4095;
constexpr int kLargestValue = 2047;
constexpr int kLargestPartner = 32767;
/// No sequence is longer than this. The budget of a row of weights holds for any length, so that a
/// row does not depend on the others of its tile.
constexpr int kMostPositions = 1 << 20;

std::ptrdiff_t in_panels(int count) { return (count + kPanelWidth - 1) / kPanelWidth; }

}  // namespace

Result<CachedMatrix> CachedMatrix::allocate(CachedRole role, WeightType type, int capacity,
                                            int head_dim, const char* where) {
  CachedMatrix cached;
  cached.role_ = role;
  cached.type_ = type;
  cached.head_dim_ = head_dim;
  const bool keys = role == CachedRole::keys;
  const int cols = keys ? capacity : head_dim;
  const int depth = keys ? head_dim : capacity;
  if (type == WeightType::f32) {
    RELATA_TRY_ASSIGN(cached.f32_, PackedMatrix::allocate(cols, depth, where));
    return cached;
  }
  cached.panel_stride_ = static_cast<std::ptrdiff_t>(depth + depth % 2) * kPanelWidth;
  RELATA_TRY(cached.rounded_.reset(static_cast<std::uint64_t>(in_panels(cols)) *
                                       static_cast<std::uint64_t>(cached.panel_stride_),
                                   where));
  RELATA_TRY(
      cached.scales_.reset(static_cast<std::uint64_t>(in_panels(capacity)) * kPanelWidth, where));
  return cached;
}

void CachedMatrix::set(int position, const float* values) {
  const bool keys = role_ == CachedRole::keys;
  if (type_ == WeightType::f32) {
    keys ? f32_.set_column(position, values) : f32_.set_depth_row(position, values);
    return;
  }
  const Levelled<Arch> row(values, nullptr, head_dim_);
  const float steps = steps_per_unit(extent_of<Arch>(row), keys ? kLargestKey : kLargestValue,
                                     std::numeric_limits<float>::infinity());
  scales_[static_cast<std::size_t>(position)] = step_size(steps);
  if (keys) {
    round_values<Arch>(
        Scheme::pairs, row, steps, kPanelWidth,
        rounded_.data() + position / kPanelWidth * panel_stride_ + 2 * (position % kPanelWidth));
    return;
  }
  const simd::Floats<Arch> factor(steps);
  for (int k = 0; k < head_dim_; k += simd::kWidth<Arch>) {
    const auto value = k + simd::kWidth<Arch> <= head_dim_ ? row.at(k) : row.tail(k);
    // Columns past head_dim are there: panels are whole.
    simd::store_spread<Arch>(rounded_.data() + k / kPanelWidth * panel_stride_ +
                                 2 * (position / 2 * kPanelWidth + k % kPanelWidth) + position % 2,
                             2, value * factor);
  }
}

void CachedMatrix::copy_from(const CachedMatrix& source, int length) {
  const bool keys = role_ == CachedRole::keys;
  if (type_ == WeightType::f32) {
    f32_.copy_from(source.f32_, keys ? length : head_dim_, keys ? head_dim_ : length);
    return;
  }
  std::copy_n(source.scales_.data(), length, scales_.data());
  const std::ptrdiff_t panels = in_panels(keys ? length : head_dim_);
  const std::ptrdiff_t filled =
      keys ? panel_stride_ : static_cast<std::ptrdiff_t>(length + length % 2) * kPanelWidth;
  for (std::ptrdiff_t panel = 0; panel < panels; ++panel) {
    std::copy_n(source.rounded_.data() + panel * source.panel_stride_, filled,
                rounded_.data() + panel * panel_stride_);
  }
}

PackedView CachedMatrix::f32(int length) const {
  return role_ == CachedRole::keys ? f32_.view(round_up_to_vector(length), head_dim_)
                                   : f32_.view(head_dim_, length);
}

RoundedView CachedMatrix::rounded(int length) const {
  const bool keys = role_ == CachedRole::keys;
  return {reinterpret_cast<const std::byte*>(rounded_.data()),
          keys ? scales_.data() : nullptr,
          keys ? nullptr : scales_.data(),
          nullptr,
          keys ? round_up_to_vector(length) : head_dim_,
          keys ? head_dim_ : length,
          panel_stride_ * static_cast<std::ptrdiff_t>(sizeof(std::int16_t)),
          &kCachedPairs};
}

void matmul(MatrixView<const float> input, const CachedMatrix& cached, int length,
            MatrixView<const float> start, RoundedRows& scratch, MatrixView<float> output) {
  if (cached.type() == WeightType::f32) {
    matmul<Arch, simd::kRelaxed>(input, cached.f32(length), start, output);
    return;
  }
  const RoundedView second = cached.rounded(length);
  const float budget = cached.role() == CachedRole::keys
                           ? rounding_budget(kLargestKey, second.depth)
                           : rounding_budget(kLargestValue, kMostPositions);
  round_rows<Arch>(Scheme::pairs, input, second.reach, kLargestPartner, budget, 0, input.rows,
                   scratch);
  rounded_matmul(scratch, second, start, output);
}

}  // namespace relata::kernels
