#pragma once

#include <cmath>

#include "src/base/matrix_view.hpp"
#include "src/kernels/simd.hpp"

namespace relata::kernels {

/// output = (input - mean) * factor * weight (+ bias), one row; the common end of both norms.
template <class Arch>
[[gnu::noinline]] void scale_row(const float* input, float mean, float factor, const float* weight,
                                 const float* bias, int count, float* output) {
  const simd::Floats<Arch> means(mean);
  const simd::Floats<Arch> factors(factor);
  for (int i = 0; i < count; i += simd::kWidth<Arch>) {
    auto value = (simd::load_at<Arch>(input, i, count, 0) - means) * factors *
                 simd::load_at<Arch>(weight, i, count, 0);
    if (bias != nullptr) {
      value += simd::load_at<Arch>(bias, i, count, 0);
    }
    simd::store_at<Arch>(output, i, count, value);
  }
}

/// sum((input - mean)^2)
template <class Arch>
[[gnu::noinline]] float sum_of_squares(const float* input, float mean, int count) {
  const simd::Floats<Arch> means(mean);
  // Lanes past the end hold the mean, so that they add nothing.
  return xsimd::reduce_add(
      simd::accumulate<Arch>(input, count, 0, mean, [&means](auto sum, auto value) {
        const auto centred = value - means;
        return simd::multiply_add<Arch>(centred, centred, sum);
      }));
}

template <class Arch>
void layer_norm(MatrixView<const float> input, const float* weight, const float* bias,
                float epsilon, MatrixView<float> output) {
  const auto count = static_cast<float>(input.cols);
  for (int i = 0; i < input.rows; ++i) {
    const float* row = input.row(i);
    const float sum = xsimd::reduce_add(simd::accumulate<Arch>(
        row, input.cols, 0, 0, [](auto partial, auto value) { return partial + value; }));
    const float mean = sum / count;
    const float variance = sum_of_squares<Arch>(row, mean, input.cols) / count;
    scale_row<Arch>(row, mean, 1 / std::sqrt(variance + epsilon), weight, bias, input.cols,
                    output.row(i));
  }
}

template <class Arch>
void rms_norm(MatrixView<const float> input, const float* weight, float epsilon,
              MatrixView<float> output) {
  const auto count = static_cast<float>(input.cols);
  for (int i = 0; i < input.rows; ++i) {
    const float mean_square = sum_of_squares<Arch>(input.row(i), 0, input.cols) / count;
    scale_row<Arch>(input.row(i), 0, 1 / std::sqrt(mean_square + epsilon), weight, nullptr,
                    input.cols, output.row(i));
  }
}

}  // namespace relata::kernels
