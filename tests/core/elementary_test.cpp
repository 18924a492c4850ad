// Elementary functions against the C library's long double ones.
#include <doctest/doctest.h>

#include <cmath>
#include <limits>
#include <utility>
#include <vector>

#include "src/base/elementary.hpp"
#include "src/base/sort.hpp"

using namespace relata;

TEST_CASE("exponential and logarithm, over all of their range") {
  for (double x = -690; x < 709; x += 0.37) {
    const auto exact = static_cast<double>(std::exp(static_cast<long double>(x)));
    CHECK_LE(std::abs(natural_exp(x) - exact), 4e-15 * exact);
    CHECK_LE(std::abs(natural_log(exact) - x), 4e-15 * std::abs(x) + 1e-15);
  }
  CHECK_EQ(natural_exp(0), 1);
  CHECK_EQ(natural_log(1), 0);
  CHECK_EQ(natural_exp(-std::numeric_limits<double>::infinity()), 0);
  CHECK_EQ(natural_exp(1000), std::numeric_limits<double>::infinity());
  CHECK(std::isnan(natural_exp(std::numeric_limits<double>::quiet_NaN())));
  for (const double x : {5e-324, 1e-310, 1e-300, 0.99999999, 1.00000001, 1.7e308}) {
    const auto exact = static_cast<double>(std::log(static_cast<long double>(x)));
    CHECK_LE(std::abs(natural_log(x) - exact), 4e-15 * std::abs(exact));
  }
}

TEST_CASE("sine and cosine, far out too") {
  for (const double scale : {1e-9, 1e-3, 1.0, 37.0, 1.4e4}) {
    for (int i = -500; i <= 500; ++i) {
      const double angle = scale * i / 7;
      const auto [sine, cosine] = sine_cosine(angle);
      const double error = 1e-15 + 1e-16 * std::abs(angle);
      CHECK_LE(std::abs(sine - static_cast<double>(std::sin(static_cast<long double>(angle)))),
               error);
      CHECK_LE(std::abs(cosine - static_cast<double>(std::cos(static_cast<long double>(angle)))),
               error);
    }
  }
}

TEST_CASE("sorting keeps equal items as they were") {
  for (std::size_t size = 0; size < 70; ++size) {
    std::vector<std::pair<int, std::size_t>> items;
    for (std::size_t i = 0; i < size; ++i) {
      items.emplace_back(static_cast<int>(i * 7919 % 11), i);
    }
    sort_stably(items, [](const auto& a, const auto& b) { return a.first < b.first; });
    REQUIRE_EQ(items.size(), size);
    for (std::size_t i = 1; i < size; ++i) {
      CHECK(items[i - 1] < items[i]);
    }
  }
}
