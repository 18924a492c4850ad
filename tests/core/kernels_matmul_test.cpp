// Matrix products against plain double-precision loops: every tail, strides, views into larger
// matrices, and guard values around every output.
#include <doctest/doctest.h>

#include "tests/core/kernels_arch.hpp"

#include "src/kernels/matmul.hpp"
#include "tests/core/support.hpp"

using namespace relata;
using namespace relata::test;
using kernels::PackedMatrix;
using kernels::PackedView;

namespace {

PackedMatrix pack(MatrixView<const float> rows) {
  auto packed = PackedMatrix::pack(rows, "test");
  REQUIRE(packed.ok());
  return std::move(packed.value());
}

/// How far an f32 sum of products may be from the exact one: one rounding per term of the sum of
/// magnitudes.
bool near_sum(float actual, double exact, double magnitude, int terms) {
  return std::abs(actual - exact) <= (terms + 2) * kEpsilon * magnitude;
}

/// The first cell of output that is not start + input * weight^T, or "".
std::string wrong_cell(MatrixView<const float> input, MatrixView<const float> weight,
                       const float* bias, MatrixView<const float> before,
                       MatrixView<const float> output) {
  for (int i = 0; i < input.rows; ++i) {
    for (int c = 0; c < weight.rows; ++c) {
      double sum = bias != nullptr ? bias[c] : (before.data != nullptr ? before.row(i)[c] : 0);
      double magnitude = std::abs(sum);
      for (int k = 0; k < input.cols; ++k) {
        const double product = static_cast<double>(input.row(i)[k]) * weight.row(c)[k];
        sum += product;
        magnitude += std::abs(product);
      }
      if (!near_sum(output.row(i)[c], sum, magnitude, input.cols)) {
        return std::to_string(i) + ", " + std::to_string(c) + ": " +
               std::to_string(output.row(i)[c]) + " is not " + std::to_string(sum);
      }
    }
  }
  return "";
}

const std::vector<int> kCols = {1, 2, 3, 5, 7, 8, 9, 15, 16, 17, 31, 32, 33, 48, 63, 64, 65, 70};
const std::vector<int> kDepths = {1, 2, 3, 4, 7, 8, 17, 33, 64, 70};

}  // namespace

TEST_CASE_TEMPLATE("matmul equals double loops at every size", Width, RELATA_TEST_WIDTHS) {
  using Arch = typename Width::Arch;
  std::mt19937 random(1);
  for (const int cols : kCols) {
    for (const int depth : kDepths) {
      GuardedMatrix weight(cols, depth, depth + 3);
      weight.fill(random);
      const PackedMatrix packed = pack(weight.view());
      GuardedMatrix bias(1, cols, cols);
      bias.fill(random);
      for (int rows = 1; rows <= 9; ++rows) {
        GuardedMatrix input(rows, depth, depth + 2);
        GuardedMatrix plain(rows, cols, cols + 5), biased(rows, cols, cols),
            before(rows, cols, cols);
        input.fill(random);
        before.fill(random);
        GuardedMatrix added = before;
        plain.fill_constant(777);
        biased.fill_constant(777);
        kernels::matmul<Arch>(input.view(), packed.view(), {}, plain.view());
        kernels::matmul<Arch>(input.view(), packed.view(), {bias.row(0), rows, cols, 0},
                              biased.view());
        kernels::matmul<Arch>(input.view(), packed.view(), added.view(), added.view());
        CAPTURE(rows);
        CAPTURE(cols);
        CAPTURE(depth);
        const GuardedMatrix &in = input, &w = weight, &first = before;
        CHECK_EQ(wrong_cell(in.view(), w.view(), nullptr, {}, plain.view()), "");
        CHECK_EQ(wrong_cell(in.view(), w.view(), bias.row(0), {}, biased.view()), "");
        CHECK_EQ(wrong_cell(in.view(), w.view(), nullptr, first.view(), added.view()), "");
        CHECK(plain.guards_intact());
        CHECK(biased.guards_intact());
        CHECK(added.guards_intact());
      }
    }
  }
}

TEST_CASE("one row and many rows give the same bits") {
  std::mt19937 random(2);
  for (const int cols : {5, 16, 40, 67}) {
    GuardedMatrix weight(cols, 37, 37), input(13, 37, 40), together(13, cols, cols),
        alone(1, cols, cols);
    weight.fill(random);
    input.fill(random);
    const PackedMatrix packed = pack(weight.view());
    kernels::matmul(input.view(), packed.view(), nullptr, together.view());
    for (int i = 0; i < 13; ++i) {
      kernels::matmul(input.view().slice_rows(i, 1), packed.view(), nullptr, alone.view());
      CHECK(same_bits(alone.view(), together.view().slice_rows(i, 1)));
    }
  }
}

TEST_CASE("a view reads nothing outside itself") {
  // As a KV cache grows: room for 50, of which 21 are in use and the rest is not a number.
  constexpr int kRoom = 50, kUsed = 21, kWidth = 6;
  std::mt19937 random(3);
  GuardedMatrix keys(kRoom, kWidth, kWidth);
  keys.fill_constant(NAN);
  GuardedMatrix used(kUsed, kWidth, kWidth), queries(3, kWidth, kWidth), weights(3, kUsed, kRoom);
  used.fill(random);
  queries.fill(random);
  weights.fill(random);

  PackedMatrix by_column = pack(keys.view());
  auto room = PackedMatrix::allocate(kWidth, kRoom, "test");
  REQUIRE(room.ok());
  PackedMatrix& by_depth = room.value();
  GuardedMatrix unused(1, kWidth, kWidth);
  unused.fill_constant(NAN);
  for (int i = 0; i < kRoom; ++i) {
    by_depth.set_depth_row(i, i < kUsed ? used.row(i) : unused.row(0));
    if (i < kUsed) {
      by_column.set_column(i, used.row(i));
    }
  }
  GuardedMatrix scores(3, kUsed, kUsed + 1), context(3, kWidth, kWidth + 4);
  kernels::matmul(queries.view(), by_column.view(kUsed, kWidth), nullptr, scores.view());
  kernels::matmul(weights.view(), by_depth.view(kWidth, kUsed), nullptr, context.view());
  const GuardedMatrix &q = queries, &u = used;
  CHECK_EQ(wrong_cell(q.view(), u.view(), nullptr, {}, scores.view()), "");
  GuardedMatrix transposed(kWidth, kUsed, kUsed);
  for (int i = 0; i < kUsed; ++i) {
    for (int k = 0; k < kWidth; ++k) {
      transposed.row(k)[i] = used.row(i)[k];
    }
  }
  const GuardedMatrix &w = weights, &t = transposed;
  CHECK_EQ(wrong_cell(w.view(), t.view(), nullptr, {}, context.view()), "");
  CHECK(scores.guards_intact());
  CHECK(context.guards_intact());
}

TEST_CASE("a packed matrix gives back what was put in") {
  std::mt19937 random(4);
  for (const int cols : {1, 15, 16, 17, 33}) {
    for (const int depth : {1, 4, 19}) {
      GuardedMatrix rows(cols, depth, depth + 1);
      rows.fill(random);
      const PackedMatrix packed = pack(rows.view());
      CHECK_EQ(packed.cols(), cols);
      CHECK_EQ(packed.depth(), depth);
      auto by_depth = PackedMatrix::allocate(cols, depth, "test");
      REQUIRE(by_depth.ok());
      for (int k = 0; k < depth; ++k) {
        std::vector<float> values;
        for (int c = 0; c < cols; ++c) {
          values.push_back(rows.row(c)[k]);
        }
        by_depth.value().set_depth_row(k, values.data());
      }
      for (int c = 0; c < cols; ++c) {
        GuardedMatrix out(1, depth, depth);
        packed.copy_column(c, out.row(0));
        CHECK(same_bits(out.view(), rows.view().slice_rows(c, 1)));
        by_depth.value().copy_column(c, out.row(0));
        CHECK(same_bits(out.view(), rows.view().slice_rows(c, 1)));
        CHECK(out.guards_intact());
      }
    }
  }
}

TEST_CASE("a packed matrix too large for the machine is refused") {
  const auto refused = PackedMatrix::allocate(2147483647, 2147483647, "somewhere");
  REQUIRE_FALSE(refused.ok());
  CHECK(refused.error().code == ErrorCode::out_of_memory);
  CHECK_EQ(refused.error().where, "somewhere");
}
