// The kernels that work on rows of values, against double precision: softmax, norms, activations,
// sums.
#include <doctest/doctest.h>

#include <algorithm>
#include <limits>

#include "tests/core/kernels_arch.hpp"

#include "src/kernels/activation.hpp"
#include "src/kernels/elementwise.hpp"
#include "src/kernels/normalise.hpp"
#include "src/kernels/softmax.hpp"
#include "tests/core/support.hpp"

using namespace relata;
using namespace relata::test;
using kernels::Activation;

namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();

double largest_of(const float* values, int count) {
  return *std::max_element(values, values + count);
}

double exact_log_sum_exp(const float* values, int count) {
  const double largest = largest_of(values, count);
  double sum = 0;
  for (int i = 0; i < count; ++i) {
    sum += std::exp(values[i] - largest);
  }
  return largest + std::log(sum);
}

/// The exponent's rounding shows as a relative error of its size, the sum's as one rounding a term.
bool is_softmax(const float* before, const float* after, int count) {
  const double log_sum = exact_log_sum_exp(before, count);
  const double largest = largest_of(before, count);
  for (int i = 0; i < count; ++i) {
    const double exact = std::exp(before[i] - log_sum);
    const double depth = std::isinf(before[i]) ? 0 : largest - before[i];
    // Below e^-87 a weight may become 0.
    if (!(std::abs(after[i] - exact) <= exact * kEpsilon * (depth + count + 8) + 2e-38)) {
      return false;
    }
  }
  return true;
}

double exact_activation(Activation activation, double x) {
  switch (activation) {
    case Activation::relu:
      return std::max(x, 0.0);
    case Activation::gelu:
      return 0.5 * x * std::erfc(-x / std::sqrt(2.0));
    case Activation::gelu_tanh:
      return 0.5 * x * (1 + std::tanh(std::sqrt(2 / M_PI) * (x + 0.044715 * x * x * x)));
    case Activation::silu:
      return x / (1 + std::exp(-x));
  }
  return NAN;
}

}  // namespace

TEST_CASE_TEMPLATE("softmax equals the exact one", Width, RELATA_TEST_WIDTHS) {
  using Arch = typename Width::Arch;
  std::mt19937 random(1);
  for (int count = 0; count <= 70; ++count) {
    for (const float scale : {0.5F, 20.0F, 3000.0F}) {
      GuardedMatrix values(1, count, count);
      values.fill(random, scale);
      if (count > 2) {
        values.row(0)[random_int(random, count)] = -kInfinity;
      }
      const GuardedMatrix before = values;
      kernels::softmax<Arch>(values.row(0), count);
      CAPTURE(count);
      CAPTURE(scale);
      if (count > 0) {
        CHECK(is_softmax(before.view().row(0), values.row(0), count));
      }
      CHECK(values.guards_intact());
    }
  }
}

TEST_CASE_TEMPLATE("softmax at its edges", Width, RELATA_TEST_WIDTHS) {
  using Arch = typename Width::Arch;
  for (const int count : {1, 3, 8, 21}) {
    std::vector<float> masked(static_cast<std::size_t>(count), -kInfinity);
    kernels::softmax<Arch>(masked.data(), count);
    CHECK(masked == std::vector<float>(static_cast<std::size_t>(count), 0.0F));

    std::vector<float> largest(static_cast<std::size_t>(count), std::numeric_limits<float>::max());
    kernels::softmax<Arch>(largest.data(), count);
    for (const float weight : largest) {
      CHECK_EQ(weight, doctest::Approx(1.0 / count).epsilon(1e-6));
    }
    std::vector<float> apart(static_cast<std::size_t>(count), -3e38F);
    apart.back() = 3e38F;
    kernels::softmax<Arch>(apart.data(), count);
    CHECK_EQ(apart.back(), 1.0F);
    CHECK(std::count(apart.begin(), apart.end(), 0.0F) == count - 1);
  }
}

TEST_CASE_TEMPLATE("log_sum_exp equals the exact one", Width, RELATA_TEST_WIDTHS) {
  using Arch = typename Width::Arch;
  std::mt19937 random(2);
  for (int count = 1; count <= 70; ++count) {
    for (const float scale : {0.5F, 20.0F, 3000.0F}) {
      GuardedMatrix values(1, count, count);
      values.fill(random, scale);
      const double exact = exact_log_sum_exp(values.row(0), count);
      const double tolerance = kEpsilon * (2 * std::abs(exact) + 2 * scale + count + 8);
      CHECK(std::abs(kernels::log_sum_exp<Arch>(values.row(0), count) - exact) <= tolerance);
    }
  }
  const std::vector<float> masked(5, -kInfinity);
  CHECK_EQ(kernels::log_sum_exp<Arch>(masked.data(), 5), -kInfinity);
}

TEST_CASE("argmax takes the lower index of a tie and never a NaN") {
  const auto argmax = [](const std::vector<float>& values) {
    return kernels::argmax(values.data(), static_cast<int>(values.size()));
  };
  CHECK_EQ(argmax({1}), 0);
  CHECK_EQ(argmax({1, 3, 3, 2}), 1);
  CHECK_EQ(argmax({-kInfinity, -kInfinity}), 0);
  CHECK_EQ(argmax({-kInfinity, -2, -2}), 1);
  CHECK_EQ(argmax({NAN, -5, -4, NAN}), 2);
  CHECK_EQ(argmax({NAN, -kInfinity}), 1);
  CHECK_EQ(argmax({2, NAN, 2}), 0);
  CHECK_EQ(argmax({0.0F, -0.0F}), 0);
  CHECK_EQ(argmax({-0.0F, 0.0F}), 0);
  std::mt19937 random(3);
  for (int count = 1; count <= 70; ++count) {
    std::vector<float> values;
    for (int i = 0; i < count; ++i) {
      values.push_back(static_cast<float>(random_int(random, 6)));
    }
    CHECK_EQ(argmax(values), std::max_element(values.begin(), values.end()) - values.begin());
  }
}

TEST_CASE_TEMPLATE("sum_range has the bits of a sum scattered over lanes", Width,
                   RELATA_TEST_WIDTHS) {
  using Arch = typename Width::Arch;
  std::mt19937 random(4);
  GuardedMatrix values(1, 90, 90);
  values.fill(random);
  bool same = true;
  for (int first = 0; first <= 90; ++first) {
    for (int last = first; last <= 90; ++last) {
      float lanes[kernels::kLanes] = {};
      double exact = 0, magnitude = 0;
      for (int i = first; i < last; ++i) {
        lanes[i % kernels::kLanes] += values.row(0)[i];
        exact += values.row(0)[i];
        magnitude += std::abs(values.row(0)[i]);
      }
      const float sum = kernels::sum_range<Arch>(values.row(0), first, last);
      same = same && sum == kernels::sum_lanes(lanes);
      same = same && std::abs(sum - exact) <= (last - first) * kEpsilon * magnitude;
    }
  }
  CHECK(same);
}

TEST_CASE_TEMPLATE("layer_norm and rms_norm equal the exact ones", Width, RELATA_TEST_WIDTHS) {
  using Arch = typename Width::Arch;
  std::mt19937 random(5);
  for (int cols = 1; cols <= 70; ++cols) {
    for (const float scale : {1e-4F, 1.0F, 70000.0F}) {
      for (const float epsilon : {1e-6F, 1e-5F}) {
        GuardedMatrix input(3, cols, cols + 1), weight(1, cols, cols), bias(1, cols, cols);
        input.fill(random, scale);
        weight.fill(random);
        bias.fill(random);
        for (int j = 0; j < cols; ++j) {
          input.row(1)[j] += 10 * scale;  // a mean far from zero
        }
        GuardedMatrix layer(3, cols, cols + 2), rms(3, cols, cols), no_bias(3, cols, cols);
        kernels::layer_norm<Arch>(input.view(), weight.row(0), bias.row(0), epsilon, layer.view());
        kernels::layer_norm<Arch>(input.view(), weight.row(0), nullptr, epsilon, no_bias.view());
        kernels::rms_norm<Arch>(input.view(), weight.row(0), epsilon, rms.view());
        bool good = layer.guards_intact() && rms.guards_intact() && no_bias.guards_intact();
        for (int i = 0; i < 3; ++i) {
          double mean = 0, mean_square = 0, variance = 0, largest = 0;
          for (int j = 0; j < cols; ++j) {
            const double x = input.row(i)[j];
            mean += x / cols;
            mean_square += x * x / cols;
            largest = std::max(largest, std::abs(x));
          }
          for (int j = 0; j < cols; ++j) {
            variance += (input.row(i)[j] - mean) * (input.row(i)[j] - mean) / cols;
          }
          const double layer_factor = 1 / std::sqrt(variance + epsilon);
          const double rms_factor = 1 / std::sqrt(mean_square + epsilon);
          for (int j = 0; j < cols; ++j) {
            const double x = input.row(i)[j], w = weight.row(0)[j], b = bias.row(0)[j];
            const double layer_exact = (x - mean) * layer_factor * w;
            const double rms_exact = x * rms_factor * w;
            // The mean is wrong by a rounding a term, the factor relatively so; the rest are single
            // operations.
            const double layer_error =
                (cols + 4) * kEpsilon * layer_factor * std::abs(w) * (largest + std::abs(x - mean));
            const double rms_error = (cols + 4) * kEpsilon * std::abs(rms_exact);
            good = good && std::abs(no_bias.row(i)[j] - layer_exact) <= layer_error;
            good = good && std::abs(layer.row(i)[j] - (layer_exact + b)) <=
                               layer_error + kEpsilon * (std::abs(layer_exact) + 2 * std::abs(b));
            good = good && std::abs(rms.row(i)[j] - rms_exact) <= rms_error;
          }
        }
        CAPTURE(cols);
        CAPTURE(scale);
        CHECK(good);
      }
    }
  }
}

TEST_CASE("norms of constant, zero and huge rows are finite") {
  const std::vector<float> weight(20, 1.0F), bias(20, 0.25F);
  for (const float value : {0.0F, 3.0F, 70000.0F, 1e15F, -1e17F}) {
    GuardedMatrix input(1, 20, 20), output(1, 20, 20);
    input.fill_constant(value);
    kernels::layer_norm(input.view(), weight.data(), bias.data(), 1e-5F, output.view());
    for (int j = 0; j < 20; ++j) {
      CHECK(std::isfinite(output.row(0)[j]));
    }
    kernels::rms_norm(input.view(), weight.data(), 1e-6F, output.view());
    const float expected = value == 0 ? 0.0F : std::copysign(1.0F, value);
    CHECK_EQ(output.row(0)[7], doctest::Approx(expected).epsilon(1e-5));
  }
  // One activation beyond the largest half-precision number, as in a feed-forward output of T5.
  GuardedMatrix input(1, 20, 20), output(1, 20, 20);
  input.fill_constant(1);
  input.row(0)[3] = 70000;
  kernels::rms_norm(input.view(), weight.data(), 1e-6F, output.view());
  CHECK_EQ(output.row(0)[3], doctest::Approx(std::sqrt(20.0)).epsilon(1e-6));
  CHECK_EQ(output.row(0)[4], doctest::Approx(std::sqrt(20.0) / 70000).epsilon(1e-6));
}

TEST_CASE_TEMPLATE("activations equal the exact ones", Width, RELATA_TEST_WIDTHS) {
  using Arch = typename Width::Arch;
  for (const auto activation :
       {Activation::relu, Activation::gelu, Activation::gelu_tanh, Activation::silu}) {
    std::vector<float> inputs;
    for (float x = -14; x <= 14; x += 0.0137F) {
      inputs.push_back(x);
    }
    std::vector<float> outputs = inputs;
    kernels::activate<Arch>(activation, outputs.data(), static_cast<int>(outputs.size()));
    double worst = 0;
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      const double error = std::abs(outputs[i] - exact_activation(activation, inputs[i]));
      worst = std::max(worst, error / (kEpsilon * std::max(1.0F, std::abs(inputs[i]))));
    }
    CAPTURE(static_cast<int>(activation));
    CHECK_LE(worst, 8);
  }
}

TEST_CASE_TEMPLATE("activations of extreme inputs", Width, RELATA_TEST_WIDTHS) {
  using Arch = typename Width::Arch;
  for (const auto activation :
       {Activation::relu, Activation::gelu, Activation::gelu_tanh, Activation::silu}) {
    std::vector<float> values = {0,    1e-30F, -1e-30F, 88,     -88,   89,    -89,
                                 1000, -1000,  70000,   -70000, 1e20F, -1e20F};
    const std::vector<float> inputs = values;
    kernels::activate<Arch>(activation, values.data(), static_cast<int>(values.size()));
    for (std::size_t i = 0; i < values.size(); ++i) {
      CAPTURE(static_cast<int>(activation));
      CAPTURE(inputs[i]);
      const double exact = inputs[i] < -80 ? 0 : exact_activation(activation, inputs[i]);
      CHECK(std::abs(values[i] - exact) <= 1e-6 * std::abs(exact) + 1e-15);
    }
  }
}

TEST_CASE("activations write nothing past the end") {
  std::mt19937 random(6);
  for (int count = 0; count <= 20; ++count) {
    GuardedMatrix values(1, count, count);
    values.fill(random);
    kernels::activate(Activation::gelu, values.row(0), count);
    CHECK(values.guards_intact());
  }
}

TEST_CASE("element by element") {
  std::mt19937 random(7);
  for (int count = 0; count <= 40; ++count) {
    GuardedMatrix source(1, count, count), before(1, count, count);
    source.fill(random);
    before.fill(random);
    GuardedMatrix added = before, shifted = before, scaled = before, multiplied = before,
                  sloped = before, filled = before, copied = before;
    kernels::add(added.row(0), source.row(0), count);
    kernels::add_constant(shifted.row(0), 0.75F, count);
    kernels::scale(scaled.row(0), -1.5F, count);
    kernels::multiply(multiplied.row(0), source.row(0), count);
    kernels::fill_slope(sloped.row(0), 0.0625F, -7, count);
    kernels::fill(filled.row(0), 2.5F, count);
    kernels::copy(copied.row(0), source.row(0), count);
    for (int i = 0; i < count; ++i) {
      const float a = before.row(0)[i], b = source.row(0)[i];
      CHECK_EQ(added.row(0)[i], a + b);
      CHECK_EQ(shifted.row(0)[i], a + 0.75F);
      CHECK_EQ(scaled.row(0)[i], a * -1.5F);
      CHECK_EQ(multiplied.row(0)[i], a * b);
      CHECK_EQ(sloped.row(0)[i], 0.0625F * static_cast<float>(i - 7));
      CHECK_EQ(filled.row(0)[i], 2.5F);
      CHECK_EQ(copied.row(0)[i], b);
    }
    for (const auto* values : {&added, &shifted, &scaled, &multiplied, &sloped, &filled, &copied}) {
      CHECK(values->guards_intact());
    }
  }
}
