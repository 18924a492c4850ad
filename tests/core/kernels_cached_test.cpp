// Products with the keys and values that attention keeps, against double-precision loops; the same
// bits however many rows and positions there are.
#include "src/kernels/cached_matrix.hpp"

#include <doctest/doctest.h>

#include "tests/core/support.hpp"

using namespace relata;
using namespace relata::test;
using kernels::CachedMatrix;
using kernels::CachedRole;
using kernels::RoundedRows;
using kernels::WeightType;

namespace {

CachedMatrix make(CachedRole role, WeightType type, int capacity, const GuardedMatrix& positions) {
  const auto view = positions.view();
  auto cached = CachedMatrix::allocate(role, type, capacity, view.cols, "test");
  REQUIRE(cached.ok());
  for (int i = 0; i < view.rows; ++i) {
    cached.value().set(i, view.row(i));
  }
  return std::move(cached.value());
}

/// The product of the first `length` positions, rows [first, first + rows) of the input.
std::vector<float> product(const CachedMatrix& cached, int length, const GuardedMatrix& input,
                           int first, int rows) {
  const bool keys = cached.role() == CachedRole::keys;
  const int cols = keys ? kernels::round_up_to_vector(length) : cached.head_dim();
  auto scratch = RoundedRows::allocate(rows, std::max(length, cached.head_dim()), "test");
  REQUIRE(scratch.ok());
  GuardedMatrix output(rows, cols, cols + 3);
  kernels::matmul(input.view().slice_rows(first, rows), cached, length, {}, scratch.value(),
                  output.view());
  CHECK(output.guards_intact());
  std::vector<float> values;
  for (int i = 0; i < rows; ++i) {
    values.insert(values.end(), output.row(i), output.row(i) + (keys ? length : cols));
  }
  return values;
}

/// The largest error, and the largest sum of magnitudes, over all cells.
std::pair<double, double> error_of(CachedRole role, const std::vector<float>& found,
                                   const GuardedMatrix& input, const GuardedMatrix& positions,
                                   int length) {
  const int cols = role == CachedRole::keys ? length : positions.view().cols;
  double error = 0, most = 0;
  for (int i = 0; i < input.view().rows; ++i) {
    for (int c = 0; c < cols; ++c) {
      double sum = 0, magnitude = 0;
      const int depth = role == CachedRole::keys ? positions.view().cols : length;
      for (int k = 0; k < depth; ++k) {
        const double term =
            static_cast<double>(input.view().row(i)[k]) *
            (role == CachedRole::keys ? positions.view().row(c)[k] : positions.view().row(k)[c]);
        sum += term;
        magnitude += std::abs(term);
      }
      error = std::max(error, std::abs(found[static_cast<std::size_t>(i * cols + c)] - sum));
      most = std::max(most, magnitude);
    }
  }
  return {error, most};
}

}  // namespace

TEST_CASE("keys and values, at every size") {
  std::mt19937 random(3);
  for (const auto role : {CachedRole::keys, CachedRole::values}) {
    for (const auto type : {WeightType::f32, WeightType::int8}) {
      for (const int head_dim : {1, 3, 4, 16, 37, 64}) {
        for (const int length : {1, 2, 5, 15, 16, 17, 33, 70}) {
          CAPTURE(head_dim);
          CAPTURE(length);
          const bool keys = role == CachedRole::keys;
          GuardedMatrix positions(length, head_dim, head_dim);
          positions.fill(random, 3);
          const CachedMatrix cached = make(role, type, length + 6, positions);
          for (const int rows : {1, 3, 4, 9}) {
            GuardedMatrix input(rows, keys ? head_dim : length, (keys ? head_dim : length) + 2);
            input.fill(random);
            const auto found = product(cached, length, input, 0, rows);
            const auto [error, most] = error_of(role, found, input, positions, length);
            // A key or value is rounded to 2047 steps or more, its partner to at least as many.
            const double allowed = type == WeightType::f32 ? 4 * kEpsilon : 1.1 / 2047;
            CHECK_LE(error, allowed * std::max(most, 3.0));
          }
        }
      }
    }
  }
}

TEST_CASE("rounded keys and values: alone as together, copied as set") {
  std::mt19937 random(4);
  for (const auto role : {CachedRole::keys, CachedRole::values}) {
    const bool keys = role == CachedRole::keys;
    GuardedMatrix positions(41, 24, 24), input(7, keys ? 24 : 41, 50);
    positions.fill(random);
    input.fill(random);
    const CachedMatrix cached = make(role, WeightType::int8, 41, positions);
    const auto together = product(cached, 41, input, 0, 7);
    const std::size_t width = together.size() / 7;
    auto larger = CachedMatrix::allocate(role, WeightType::int8, 90, 24, "test");
    REQUIRE(larger.ok());
    larger.value().copy_from(cached, 41);
    CHECK(product(larger.value(), 41, input, 0, 7) == together);
    for (int i = 0; i < 7; ++i) {
      const auto begin = together.begin() + static_cast<std::ptrdiff_t>(width) * i;
      CHECK(product(cached, 41, input, i, 1) ==
            std::vector<float>(begin, begin + static_cast<std::ptrdiff_t>(width)));
    }
  }
}

TEST_CASE("rounded weights, even or on one position of very many, keep to 32 bits") {
  constexpr int kLength = 20000;
  GuardedMatrix positions(kLength, 2, 2), input(2, kLength, kLength);
  positions.fill_constant(1);
  for (int j = 0; j < kLength; ++j) {
    positions.row(j)[1] = -3;
    input.row(0)[j] = 1.0F / kLength;
    input.row(1)[j] = j == 777 ? 1.0F : 0.0F;
  }
  const auto found =
      product(make(CachedRole::values, WeightType::int8, kLength, positions), kLength, input, 0, 2);
  for (const std::size_t i : {0, 2}) {
    CHECK_EQ(found[i], doctest::Approx(1).epsilon(0.03));
    CHECK_EQ(found[i + 1], doctest::Approx(-3).epsilon(0.03));
  }
}

TEST_CASE("what is no number stays none") {
  for (const auto role : {CachedRole::keys, CachedRole::values}) {
    GuardedMatrix positions(3, 4, 4), input(1, role == CachedRole::keys ? 4 : 3, 4);
    positions.fill_constant(1);
    positions.row(1)[2] = NAN;
    input.fill_constant(1);
    const auto found = product(make(role, WeightType::int8, 3, positions), 3, input, 0, 1);
    CHECK(std::any_of(found.begin(), found.end(), [](float value) { return std::isnan(value); }));
  }
}
