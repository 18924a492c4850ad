// One product for everything: projections, q . k, weights times values, q . aK, weights per
// relation times aV. The second operand is packed (see PackedView), so that both a product of many
// rows and of one row read it as a single sequential stream, no horizontal sum is needed, and every
// output is one sum in ascending k. Relaxed: see simd::multiply_add.
#pragma once

#include "src/kernels/kernels.hpp"
#include "src/kernels/simd.hpp"
#include "src/kernels/streaming.hpp"

namespace relata::kernels {

/// Rows rows of input times the first Vectors vectors of each of Panels panels, which are
/// panel_stride floats apart, and their columns in start and output panel_cols. The sums start from
/// the rows of `start` (null: from zero).
template <class Arch, bool Relaxed, int Rows, int Vectors, int Panels = 1>
void matmul_tile(const float* input, int input_stride, const float* panel, int depth,
                 const float* start, int start_stride, float* output, int output_stride,
                 Ahead ahead, std::ptrdiff_t panel_stride = 0, int panel_cols = 0) {
  using Floats = simd::Floats<Arch>;
  constexpr int kVectors = Panels * Vectors;
  const auto column = [panel_cols](int v) {
    return v / Vectors * panel_cols + v % Vectors * simd::kWidth<Arch>;
  };
  Floats sums[Rows][kVectors];
  for (int r = 0; r < Rows; ++r) {
    for (int v = 0; v < kVectors; ++v) {
      sums[r][v] =
          start == nullptr
              ? Floats(0.0F)
              : simd::load<Arch>(start + static_cast<std::ptrdiff_t>(r) * start_stride + column(v));
    }
  }
  for (int k = 0; k < depth; ++k) {
    Floats weights[kVectors];
    for (int v = 0; v < kVectors; ++v) {
      weights[v] =
          simd::load<Arch>(panel + v / Vectors * panel_stride + v % Vectors * simd::kWidth<Arch>);
    }
    panel += kPanelWidth;
    if constexpr (Rows > 1) {
      ahead.read();
    }
    for (int r = 0; r < Rows; ++r) {
      const Floats x(input[static_cast<std::ptrdiff_t>(r) * input_stride + k]);
      for (int v = 0; v < kVectors; ++v) {
        sums[r][v] = simd::multiply_add<Arch, Relaxed>(x, weights[v], sums[r][v]);
      }
    }
  }
  for (int r = 0; r < Rows; ++r) {
    for (int v = 0; v < kVectors; ++v) {
      sums[r][v].store_unaligned(output + static_cast<std::ptrdiff_t>(r) * output_stride +
                                 column(v));
    }
  }
}

/// One row, for rows and columns that are left over: written once, as they are few.
template <class Arch, bool Relaxed, int Vectors>
[[gnu::noinline]] void matmul_row(const float* input, const float* panel, int depth,
                                  const float* start, float* output) {
  matmul_tile<Arch, Relaxed, 1, Vectors>(input, 0, panel, depth, start, 0, output, 0, Ahead(panel));
}

/// All rows of input times the first Vectors vectors of one panel. next: the panel to read ahead,
/// or null.
template <class Arch, bool Relaxed, int Vectors>
void matmul_panel(MatrixView<const float> input, const float* panel, int depth,
                  MatrixView<const float> start, MatrixView<float> output,
                  const float* next = nullptr) {
  // Rows times vectors is the number of running sums: as many as 16 registers hold beside the
  // operands.
  constexpr int kRows = 8 / Vectors;
  Ahead ahead(next == nullptr ? panel : next, kPanelWidth * static_cast<int>(sizeof(float)),
              next == nullptr ? 0 : input.rows / kRows);
  int i = 0;
  for (; i + kRows <= input.rows; i += kRows) {
    matmul_tile<Arch, Relaxed, kRows, Vectors>(input.row(i), input.stride, panel, depth,
                                               start.row(i), start.stride, output.row(i),
                                               output.stride, ahead);
    ahead.skip(depth);
  }
  for (; i < input.rows; ++i) {
    matmul_row<Arch, Relaxed, Vectors>(input.row(i), panel, depth, start.row(i), output.row(i));
  }
}

/// One row times a panel of which only the first `cols` columns exist outside.
template <class Arch, bool Relaxed>
void matmul_edge(const float* input, const float* panel, int depth, const float* start,
                 float* output, int cols) {
  constexpr int kVectors = kPanelWidth / simd::kWidth<Arch>;
  float edge[kPanelWidth];
  for (int c = 0; c < kPanelWidth; ++c) {
    edge[c] = start == nullptr || c >= cols ? 0 : start[c];
  }
  matmul_row<Arch, Relaxed, kVectors>(input, panel, depth, edge, edge);
  for (int c = 0; c < cols; ++c) {
    output[c] = edge[c];
  }
}

/// The last panel, of which output.cols < kPanelWidth columns exist: a vector at a time, or an
/// edge.
template <class Arch, bool Relaxed>
void matmul_part(MatrixView<const float> input, const float* panel, int depth,
                 MatrixView<const float> start, MatrixView<float> output) {
  constexpr int kWidth = simd::kWidth<Arch>;
  if (output.cols % kWidth != 0) {
    for (int i = 0; i < input.rows; ++i) {
      matmul_edge<Arch, Relaxed>(input.row(i), panel, depth, start.row(i), output.row(i),
                                 output.cols);
    }
    return;
  }
  for (int first = 0; first < output.cols; first += kWidth) {
    matmul_panel<Arch, Relaxed, 1>(input, panel + first, depth,
                                   start.data == nullptr ? start : start.slice_cols(first, kWidth),
                                   output.slice_cols(first, kWidth));
  }
}

/// output = start + input * weight; start: the output itself, one row for all (stride 0), or null
/// data for zero. Panels outside, rows inside: a panel stays in the first cache while all rows pass
/// by it.
template <class Arch, bool Relaxed = false>
void matmul(MatrixView<const float> input, const PackedView& weight, MatrixView<const float> start,
            MatrixView<float> output) {
  constexpr int kVectors = kPanelWidth / simd::kWidth<Arch>;
  // Where a build has both, the plain products are those of small tables.
  constexpr bool kHasStreams = Relaxed == simd::kRelaxed;
  const float* panel = weight.data;
  int first = 0;
  if (kHasStreams && input.rows == 1) {
    const int panels = weight.cols / kPanelWidth / kStreams;  // of each stream
    const int cols = panels * kPanelWidth;
    for (; first < cols; first += kPanelWidth, panel += weight.panel_stride) {
      matmul_tile<Arch, Relaxed, 1, kVectors, kStreams>(
          input.data, 0, panel, weight.depth, start.data == nullptr ? nullptr : start.data + first,
          0, output.data + first, 0, Ahead(panel), panels * weight.panel_stride, cols);
    }
    first = kStreams * cols;
    panel = weight.data + kStreams * panels * weight.panel_stride;
  }
  for (; first < weight.cols; first += kPanelWidth, panel += weight.panel_stride) {
    const int cols = weight.cols - first;
    const auto panel_start = start.data == nullptr ? start : start.slice_cols(first, cols);
    const auto target = output.slice_cols(first, cols);
    if (cols >= kPanelWidth) {
      matmul_panel<Arch, Relaxed, kVectors>(
          input, panel, weight.depth, panel_start, target,
          cols >= 2 * kPanelWidth ? panel + weight.panel_stride : nullptr);
    } else {
      matmul_part<Arch, Relaxed>(input, panel, weight.depth, panel_start, target);
    }
  }
}

}  // namespace relata::kernels
