// Activations of numbers far out.
#include <doctest/doctest.h>

#include <cmath>
#include <limits>
#include <vector>

#include "src/kernels/kernels.hpp"

using namespace relata;

TEST_CASE("silu of large negative numbers is zero, and NaN stays NaN") {
  std::vector<float> values = {-80,    -88,   -89,   -100,  -1e20F, -1e31F,
                               -3e38F, 1e31F, 3e38F, -0.5F, 0,      std::nanf("")};
  values.push_back(-std::numeric_limits<float>::infinity());
  const std::vector<float> given = values;
  kernels::activate(kernels::Activation::silu, values.data(), static_cast<int>(values.size()));
  for (std::size_t i = 0; i < given.size(); ++i) {
    CAPTURE(given[i]);
    if (std::isnan(given[i])) {
      CHECK(std::isnan(values[i]));
      continue;
    }
    const double x = given[i];
    const double expected = std::isinf(x) ? 0 : x / (1 + std::exp(-x));
    CHECK_LE(std::abs(values[i] - expected), 1e-6 * std::abs(expected) + 1e-35);
  }
}
