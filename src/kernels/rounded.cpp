#include "src/kernels/rounded.hpp"

#include "src/kernels/simd.hpp"

namespace relata::kernels {

Scheme scheme_of_machine() {
  return simd::sums_four_products_at_once() ? Scheme::quads : Scheme::pairs;
}

Result<RoundedRows> RoundedRows::allocate(int rows, int max_depth, const char* where) {
  const auto count = static_cast<std::uint64_t>(rows);
  const auto depth = static_cast<std::uint64_t>(in_whole(Scheme::quads, max_depth));
  RoundedRows scratch;
  RELATA_TRY(scratch.values.reset(count * depth, where));
  RELATA_TRY(scratch.scales.reset(count, where));
  return scratch;
}

void rounded_matmul(const RoundedRows& rows, const RoundedView& second,
                    MatrixView<const float> start, MatrixView<float> output) {
  const RoundedKernels& kernels = *second.kernels;
  const int group = row_group(kernels.scheme);
  const int num_sums = digits(kernels.scheme) * kPanelWidth;
  const std::ptrdiff_t depth = in_whole(kernels.scheme, second.depth);
  const int panels = (second.cols + kPanelWidth - 1) / kPanelWidth;
  int panel = 0;
  if (output.rows == 1 && kernels.row != nullptr) {
    const int each = second.cols / kPanelWidth / kStreams;
    kernels.row(rows.values.data(), rows.scales[0], second, each, start.data, output.data);
    panel = kStreams * each;
  }
  // Rows whose sums wait to be scaled together: whole groups of either scheme.
  constexpr int kRows = 24;
  std::int32_t sums[kRows * digits(Scheme::quads) * kPanelWidth];
  for (; panel < panels; ++panel) {
    const std::byte* data = second.data + panel * second.panel_stride;
    const int col = panel * kPanelWidth;
    const int cols = std::min(kPanelWidth, second.cols - col);
    Ahead ahead(panel + 1 < panels ? data + second.panel_stride : data,
                together(kernels.scheme) * kPanelWidth * kernels.integer_bytes,
                panel + 1 < panels ? output.rows / group * kernels.passes : 0);
    for (int first = 0; first < output.rows; first += kRows) {
      const int count = std::min(kRows, output.rows - first);
      for (int i = 0; i < count;) {
        const std::int16_t* values = rows.values.data() + (first + i) * depth;
        if (i + group <= count) {
          kernels.group(values, data, second.depth, ahead, sums + i * num_sums);
          i += group;
        } else {
          kernels.single(values, data, second.depth, sums + i * num_sums);
          ++i;
        }
      }
      kernels.scale(sums, rows.scales.data() + first, count, second, col, cols,
                    start.data == nullptr ? nullptr : start.row(first) + col, start.stride,
                    output.row(first) + col, output.stride);
    }
  }
}

}  // namespace relata::kernels
