#include "src/formats/tensor_store.hpp"

#include <algorithm>
#include <cmath>
#include <string>

namespace relata::formats {
namespace {

/// Whether every value that 8-bit integers with these factors may stand for is a number.
bool may_keep(const Factors& factors) {
  const auto largest = [](std::span<const float> values, float least) {
    float most = least;
    for (const float value : values) {
      most = std::max(most, std::abs(value));
    }
    return most;
  };
  return std::isfinite(127 * largest(factors.scales, 0) *
                       largest(factors.reach, factors.reach.empty() ? 1.0F : 0.0F));
}

/// The rows of one tensor, and where they go.
struct Stored {
  const TensorFiles& files;
  const TensorInfo& tensor;
  const TensorSlot& slot;
  const Factors& factors;
  int first;
  int count;
  const std::byte* bytes;
  float* panel;  // room for kPanelWidth rows

  int cols() const { return slot.cols(); }
  std::size_t row_bytes() const {
    return static_cast<std::size_t>(tensor.bytes) / static_cast<std::size_t>(slot.rows());
  }

  Handed wrong_value(int row, int col, const Words& problem) const {
    const std::string place = slot.shape.size() == 1 ? "" : std::to_string(row) + ", ";
    return files.error(ErrorCode::tensor_invalid, tensor,
                       {"the value at [", place, col, "] ", problem});
  }

  Result<void> read(int i, float* values) const {
    int wrong = 0;
    const std::byte* row = bytes + static_cast<std::size_t>(i) * row_bytes();
    if (!read_row(*find_block_format(tensor.dtype), factors, row, first + i, cols(), values,
                  wrong)) {
      return wrong_value(first + i, wrong, "is not finite");
    }
    if (std::holds_alternative<Factor>(slot.destination)) {
      const float* const negative =
          std::find_if(values, values + cols(), [](float value) { return value < 0; });
      if (negative != values + cols()) {
        return wrong_value(first + i, static_cast<int>(negative - values),
                           "is negative, and integers are multiplied by it");
      }
    }
    return {};
  }

  /// Decodes all rows, a panel of them at a time.
  Result<void> store_rows() const {
    for (int i = 0; i < count; i += kernels::kPanelWidth) {
      const int together = std::min(kernels::kPanelWidth, count - i);
      for (int j = 0; j < together; ++j) {
        RELATA_TRY(read(i + j, panel + static_cast<std::ptrdiff_t>(j) * cols()));
      }
      const int different = slot.store_rows(first + i, {panel, together, cols(), cols()});
      if (different >= 0) {
        return files.error(
            ErrorCode::tensor_invalid, tensor,
            {"row ", different, " differs from the embedding, of which it has to be a copy"});
      }
    }
    return {};
  }

  Result<void> round_into(kernels::WeightMatrix& matrix) const {
    for (int i = 0; i < count; ++i) {
      RELATA_TRY(read(i, panel));
      matrix.level(panel);
    }
    return store_rows();
  }

  std::span<const std::int8_t> integers() const {
    return {reinterpret_cast<const std::int8_t*>(bytes),
            static_cast<std::size_t>(count) * row_bytes()};
  }

  Result<void> keep_in(kernels::WeightMatrix& matrix) const {
    if (first == 0) {
      if (!may_keep(factors)) {
        return files.error(ErrorCode::tensor_invalid, tensor,
                           "with its factors its values would leave the range of f32");
      }
      matrix.set_factors(factors.scales, factors.reach);
    }
    const auto values = integers();
    if (!kernels::in_range(values)) {
      const auto wrong = std::find(values.begin(), values.end(), -128) - values.begin();
      return wrong_value(first + static_cast<int>(wrong / cols()), static_cast<int>(wrong % cols()),
                         "is -128; the least is -127");
    }
    matrix.set_integers(first, {values.data(), count, cols(), cols()});
    return {};
  }
};

/// The matrix that a tensor is rounded into, or kept in as 8-bit integers; else null.
kernels::WeightMatrix* int8_matrix(const TensorSlot& slot) {
  auto* const* const matrix = std::get_if<kernels::WeightMatrix*>(&slot.destination);
  return matrix != nullptr && (*matrix)->type() == kernels::WeightType::int8 ? *matrix : nullptr;
}

}  // namespace

bool read_row(const BlockFormat& format, const Factors& factors, const std::byte* bytes, int i,
              int cols, float* values, int& wrong) {
  decode_row(format, bytes, cols, values);
  if (!factors.scales.empty()) {
    const bool whole = factors.scales.size() == 1;
    kernels::scale(values, factors.scales[whole ? 0 : static_cast<std::size_t>(i)], cols);
  }
  if (!factors.reach.empty()) {
    kernels::multiply(values, factors.reach.data(), cols);
  }
  // Nearly every row passes this quick look; the largest of all numbers do not.
  wrong = kernels::all_finite(values, cols) ? cols : 0;
  while (wrong < cols && std::isfinite(values[wrong])) {
    ++wrong;
  }
  return wrong == cols;
}

bool takes_parts(const TensorSlot& slot, const Factors& factors) {
  return int8_matrix(slot) == nullptr || !factors.reach.empty();
}

Result<void> TensorStore::allocate(int widest, const char* where) {
  return rows_.reset(static_cast<std::uint64_t>(widest) * kernels::kPanelWidth, where);
}

Result<void> TensorStore::store(const TensorFiles& files, const TensorInfo& tensor,
                                const TensorSlot& slot, const Factors& factors, int first,
                                int count, const std::byte* bytes) {
  const Stored stored{files, tensor, slot, factors, first, count, bytes, rows_.data()};
  kernels::WeightMatrix* const matrix = int8_matrix(slot);
  if (matrix == nullptr) {
    return stored.store_rows();
  }
  // Integers that somebody else has rounded stay what they are, if they are in our range.
  const bool whole_bytes = tensor.dtype == "I8" && !factors.scales.empty();
  if (whole_bytes && (!factors.reach.empty() || kernels::in_range(stored.integers()))) {
    return stored.keep_in(*matrix);
  }
  return stored.round_into(*matrix);
}

}  // namespace relata::formats
