// Products with int8 weights: against double-precision loops over the weights as they are kept, at
// every tail, number of rows and vector width; and the same bits however many rows there are, in
// either scheme.
#include <doctest/doctest.h>

#include "tests/core/kernels_arch.hpp"

#include "src/kernels/rounded_matmul.hpp"
#include "src/kernels/rounding.hpp"
#include "src/kernels/weight_matrix.hpp"
#include "tests/core/support.hpp"

using namespace relata;
using namespace relata::test;
using kernels::RoundedRows;
using kernels::Scheme;
using kernels::WeightMatrix;
using kernels::WeightType;

namespace {

WeightMatrix round_to_int8(const GuardedMatrix& rows, Scheme scheme) {
  const auto view = rows.view();
  auto weight = WeightMatrix::allocate(WeightType::int8, view.rows, view.cols, "test", scheme);
  REQUIRE(weight.ok());
  for (int i = 0; i < view.rows; ++i) {
    weight.value().level(view.row(i));
  }
  for (int i = 0; i < view.rows; ++i) {
    weight.value().set_row(i, view.row(i));
  }
  return std::move(weight.value());
}

RoundedRows scratch_for(int rows, int depth) {
  auto scratch = RoundedRows::allocate(rows, depth, "test");
  REQUIRE(scratch.ok());
  return std::move(scratch.value());
}

template <class Arch>
void product(MatrixView<const float> input, const WeightMatrix& weight, const float* bias,
             RoundedRows& scratch, MatrixView<float> output) {
  auto second = weight.int8();
  second.kernels = weight.scheme() == Scheme::quads
                       ? &kernels::kRoundedKernels<kernels::Quads<Arch>>
                       : &kernels::kRoundedKernels<kernels::Pairs<Arch, std::int8_t>>;
  kernels::round_rows<Arch>(weight.scheme(), input, second.reach, kernels::kLargestInput,
                            kernels::rounding_budget(127, weight.depth()), 0, input.rows, scratch);
  kernels::rounded_matmul(scratch, second, {bias, output.rows, output.cols, 0}, output);
}

/// The first cell that is further from the exact product than rounding the activations explains.
std::string wrong_cell(MatrixView<const float> input, const WeightMatrix& weight, const float* bias,
                       MatrixView<const float> output) {
  const float* reach = weight.int8().reach;
  std::vector<float> row(static_cast<std::size_t>(weight.depth()));
  for (int c = 0; c < weight.cols(); ++c) {
    weight.copy_row(c, row.data());
    for (int i = 0; i < input.rows; ++i) {
      double sum = bias != nullptr ? bias[c] : 0;
      double top = 0, total = 0, weights = 0, magnitude = std::abs(sum);
      for (int k = 0; k < weight.depth(); ++k) {
        const auto at = static_cast<std::size_t>(k);
        const double product = static_cast<double>(input.row(i)[k]) * row[at];
        sum += product;
        magnitude += std::abs(product);
        const double value = std::abs(static_cast<double>(input.row(i)[k]) * reach[k]);
        top = std::max(top, value);
        total += value;
        weights += reach[k] > 0 ? std::abs(row[at]) / reach[k] : 0;
      }
      // 14 bits each, and 32 bits for the sum of products with as much as 127.
      const double most = (2147483647.0 - 127.0 / 2 * (weight.depth() + 1)) / 127;
      const double step = std::max(top / 8191, total / most);
      const double allowed = 0.501 * step * weights + 8 * kEpsilon * magnitude;
      if (!(std::abs(output.row(i)[c] - sum) <= allowed)) {
        return std::to_string(i) + ", " + std::to_string(c) + ": " +
               std::to_string(output.row(i)[c]) + " is not " + std::to_string(sum);
      }
    }
  }
  return "";
}

}  // namespace

TEST_CASE_TEMPLATE("int8 matmul equals double loops at every size", Width, RELATA_TEST_WIDTHS) {
  using Arch = typename Width::Arch;
  std::mt19937 random(1);
  for (const int cols : {1, 3, 4, 8, 9, 15, 16, 17, 31, 32, 48, 49, 64, 103}) {
    for (const int depth : {1, 2, 3, 8, 17, 64, 301}) {
      GuardedMatrix weight(cols, depth, depth + 3), bias(1, cols, cols);
      weight.fill(random);
      bias.fill(random);
      const WeightMatrix pairs = round_to_int8(weight, Scheme::pairs);
      const WeightMatrix quads = round_to_int8(weight, Scheme::quads);
      for (int rows = 1; rows <= 9; ++rows) {
        CAPTURE(cols);
        CAPTURE(depth);
        CAPTURE(rows);
        GuardedMatrix input(rows, depth, depth + 2), plain(rows, cols, cols + 5),
            biased(rows, cols, cols), by_quads(rows, cols, cols + 1);
        input.fill(random, 3);
        plain.fill_constant(777);
        biased.fill_constant(777);
        RoundedRows scratch = scratch_for(rows, depth);
        product<Arch>(input.view(), pairs, nullptr, scratch, plain.view());
        product<Arch>(input.view(), pairs, bias.row(0), scratch, biased.view());
        product<Arch>(input.view(), quads, bias.row(0), scratch, by_quads.view());
        const GuardedMatrix& in = input;
        CHECK_EQ(wrong_cell(in.view(), pairs, nullptr, plain.view()), "");
        CHECK_EQ(wrong_cell(in.view(), pairs, bias.row(0), biased.view()), "");
        CHECK(same_bits(by_quads.view(), biased.view()));
        CHECK(plain.guards_intact());
        CHECK(biased.guards_intact());
        CHECK(by_quads.guards_intact());
      }
    }
  }
}

TEST_CASE("int8: one row and many rows, narrow and wide vectors give the same bits") {
  std::mt19937 random(2);
  for (const int cols : {5, 16, 40, 67, 160}) {
    GuardedMatrix weight(cols, 37, 37), input(13, 37, 40), together(13, cols, cols),
        emulated(13, cols, cols), alone(1, cols, cols);
    weight.fill(random);
    input.fill(random);
    const WeightMatrix rounded = round_to_int8(weight, Scheme::pairs);
    RoundedRows scratch = scratch_for(13, 37);
    kernels::matmul(nullptr, input.view(), rounded, nullptr, scratch, together.view());
    product<Emulated128::Arch>(input.view(), rounded, nullptr, scratch, emulated.view());
    CHECK(same_bits(emulated.view(), together.view()));
    for (int i = 0; i < 13; ++i) {
      kernels::matmul(nullptr, input.view().slice_rows(i, 1), rounded, nullptr, scratch,
                      alone.view());
      CHECK(same_bits(alone.view(), together.view().slice_rows(i, 1)));
    }
  }
}

TEST_CASE("int8: sums of the largest values stay inside 32 bits") {
  for (const auto scheme : {Scheme::pairs, Scheme::quads}) {
    for (const int depth : {512, 2048, 8192}) {
      for (const float value : {-3.0F, 3.0F}) {
        GuardedMatrix weight(16, depth, depth), input(1, depth, depth), output(1, 16, 16);
        weight.fill_constant(2);
        input.fill_constant(value);
        const WeightMatrix rounded = round_to_int8(weight, scheme);
        RoundedRows scratch = scratch_for(1, depth);
        product<Emulated128::Arch>(input.view(), rounded, nullptr, scratch, output.view());
        // Every activation is rounded alike: half a step each is half a step together.
        const double steps = std::min(8191.0, 2147483647.0 / 127 / depth);
        CHECK_LE(std::abs(output.row(0)[7] - 2.0 * value * depth), 6.0 * depth * 0.51 / steps);
      }
    }
  }
}
