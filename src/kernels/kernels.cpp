// The kernels for the vector width of this build. The variant of the build is the dispatch.
#include "src/kernels/kernels.hpp"

#include <algorithm>

#include "src/kernels/activation.hpp"
#include "src/kernels/elementwise.hpp"
#include "src/kernels/matmul.hpp"
#include "src/kernels/normalise.hpp"
#include "src/kernels/rounded_matmul.hpp"
#include "src/kernels/rounding.hpp"
#include "src/kernels/simd.hpp"
#include "src/kernels/softmax.hpp"
#include "src/kernels/weight_matrix.hpp"

namespace relata::kernels {

using Arch = simd::BuildArch;

constexpr RoundedKernels kWeightPairs = kRoundedKernels<Pairs<Arch, std::int8_t>>;
constexpr RoundedKernels kWeightQuads = kRoundedKernels<Quads<Arch>>;
// What attention keeps is near: nothing is gained by reading it in several places.
constexpr RoundedKernels kCachedPairs = [] {
  RoundedKernels kernels = kRoundedKernels<Pairs<Arch, std::int16_t>>;
  kernels.row = nullptr;
  return kernels;
}();

void find_offsets(const std::int8_t* panel, int depth, std::int32_t* offsets) {
  constexpr int kVectors = kPanelWidth / simd::kWidth<Arch>;
  const simd::Bytes<Arch> ones(std::int8_t{1});
  simd::Ints<Arch> sums[kVectors];
  for (int v = 0; v < kVectors; ++v) {
    sums[v] = simd::Ints<Arch>(0);
  }
  for (int k = 0; k < depth; k += together(Scheme::quads)) {
    for (int v = 0; v < kVectors; ++v) {
      const auto quads = simd::Bytes<Arch>::load_unaligned(panel);
      sums[v] = simd::add_quad_products<Arch>(quads, ones, sums[v]);
      panel += simd::Bytes<Arch>::size;
    }
  }
  for (int v = 0; v < kVectors; ++v) {
    (sums[v] << 13).store_unaligned(offsets + v * simd::kWidth<Arch>);
  }
}

int round_up_to_vector(int count) {
  constexpr int kWidth = simd::kWidth<Arch>;
  return (count + kWidth - 1) / kWidth * kWidth;
}

void matmul(MatrixView<const float> input, const PackedView& weight, const float* bias,
            MatrixView<float> output) {
  // One row of biases for all rows.
  matmul<Arch>(input, weight, {bias, output.rows, output.cols, 0}, output);
}

void matmul_add(MatrixView<const float> input, const PackedView& weight, MatrixView<float> output) {
  matmul<Arch>(input, weight, output, output);
}

void matmul(Parallel* parallel, MatrixView<const float> input, const WeightMatrix& weight,
            const float* bias, RoundedRows& scratch, MatrixView<float> output) {
  const double work = static_cast<double>(input.rows) * weight.cols() * weight.depth();
  const bool rounded = weight.type() == WeightType::int8;
  const RoundedView second = weight.int8();
  if (rounded) {
    const Scheme scheme = weight.scheme();
    split(parallel, input.rows, row_group(scheme), work / 64, [&](int first, int last, int) {
      round_rows<Arch>(scheme, input, second.reach, kLargestInput,
                       rounding_budget(127, second.depth), first, last, scratch);
    });
  }
  split(parallel, weight.cols(), kPanelWidth, work, [&](int first, int last, int) {
    const auto target = output.slice_rows(0, input.rows).slice_cols(first, last - first);
    // One row of biases for all rows.
    const MatrixView<const float> start{bias != nullptr ? bias + first : nullptr, target.rows,
                                        target.cols, 0};
    if (rounded) {
      rounded_matmul(scratch, second.slice_cols(first, last), start, target);
    } else {
      matmul<Arch, simd::kRelaxed>(input, weight.f32().view().slice_cols(first, last), start,
                                   target);
    }
  });
}

void add(float* target, const float* source, int count) {
  simd::combine<Arch>(target, source, count, [](auto a, auto b) { return a + b; });
}

void add_constant(float* target, float value, int count) {
  simd::transform<Arch>(target, count, [value](auto a) { return a + simd::Floats<Arch>(value); });
}

void scale(float* target, float factor, int count) {
  simd::transform<Arch>(target, count, [factor](auto a) { return a * simd::Floats<Arch>(factor); });
}

void multiply(float* target, const float* source, int count) {
  simd::combine<Arch>(target, source, count, [](auto a, auto b) { return a * b; });
}

void fill(float* target, float value, int count) { fill<Arch>(target, value, count); }

void copy(float* target, const float* source, int count) { copy<Arch>(target, source, count); }

void fill_slope(float* target, float slope, int first, int count) {
  fill_slope<Arch>(target, slope, first, count);
}

float sum_range(const float* values, int first, int last) {
  return sum_range<Arch>(values, first, last);
}

[[gnu::noinline]] float sum_lanes(const float* lanes) {
  float halves[kLanes];
  std::copy_n(lanes, kLanes, halves);
  for (int width = kLanes / 2; width > 0; width /= 2) {
    for (int i = 0; i < width; ++i) {
      halves[i] += halves[i + width];
    }
  }
  return halves[0];
}

void softmax(float* values, int count) { softmax<Arch>(values, count); }

float log_sum_exp(const float* values, int count) { return log_sum_exp<Arch>(values, count); }

bool all_finite(const float* values, int count) {
  // Zero times any number is zero; times infinity or NaN it is NaN.
  const simd::Floats<Arch> four(4.0F);
  const simd::Floats<Arch> zero(0.0F);
  return xsimd::reduce_add(simd::accumulate<Arch>(values, count, 0, 0, [&](auto sum, auto value) {
           return sum + value * four * zero;
         })) == 0;
}

int argmax(const float* values, int count) {
  // NaN is never the maximum.
  const float largest = maximum<Arch>(values, count);
  const float* found = std::find(values, values + count, largest);
  return found == values + count ? 0 : static_cast<int>(found - values);
}

void layer_norm(MatrixView<const float> input, const float* weight, const float* bias,
                float epsilon, MatrixView<float> output) {
  layer_norm<Arch>(input, weight, bias, epsilon, output);
}

void rms_norm(MatrixView<const float> input, const float* weight, float epsilon,
              MatrixView<float> output) {
  rms_norm<Arch>(input, weight, epsilon, output);
}

void activate(Activation activation, float* values, int count) {
  activate<Arch>(activation, values, count);
}

}  // namespace relata::kernels
