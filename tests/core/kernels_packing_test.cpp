// Rows put into panels and rounded to 8 bits: against plain loops written from the definitions, at
// every tail and vector width.
#include <doctest/doctest.h>

#include "tests/core/kernels_arch.hpp"

#include "src/kernels/packing.hpp"
#include "src/kernels/weight_matrix.hpp"
#include "tests/core/support.hpp"

using namespace relata;
using namespace relata::test;
using kernels::kPanelWidth;
using kernels::Scheme;
using kernels::WeightMatrix;
using kernels::WeightType;

namespace {

/// Rows with what rounding has to bear: inputs of very different sizes, one that is all zeros, a
/// row of zeros, ties.
void fill_unevenly(GuardedMatrix& rows, std::mt19937& random) {
  const auto view = rows.view();
  for (int i = 0; i < view.rows; ++i) {
    for (int k = 0; k < view.cols; ++k) {
      view.row(i)[k] = k % 11 == 5 || i % 9 == 7 ? 0 : std::ldexp(random_float(random), k % 7 - 3);
    }
  }
  if (view.rows > 2 && view.cols > 2) {
    view.row(0)[0] = 127;
    view.row(1)[0] = 0.5F;
    view.row(2)[0] = -126.5F;
  }
}

struct Reference {
  std::vector<float> reach;
  std::vector<float> scales;
  std::vector<int> values;  // [rows, depth]
};

/// The definition: levelled by the largest weight of each input, then by that of each row, in
/// floats.
Reference round_plainly(MatrixView<const float> rows) {
  Reference made;
  for (int k = 0; k < rows.cols; ++k) {
    float reach = 0;
    for (int i = 0; i < rows.rows; ++i) {
      float row = 0;
      for (int j = 0; j < rows.cols; ++j) {
        row = std::max(row, std::abs(rows.row(i)[j]));
      }
      reach = std::max(reach, row > 0 ? std::abs(rows.row(i)[k]) / row : 0);
    }
    made.reach.push_back(reach);
  }
  for (int i = 0; i < rows.rows; ++i) {
    const auto levelled = [&](int k) {
      const float reach = made.reach[static_cast<std::size_t>(k)];
      return reach > 0 ? rows.row(i)[k] / reach : 0;
    };
    float largest = 0;
    for (int k = 0; k < rows.cols; ++k) {
      largest = std::max(largest, std::abs(levelled(k)));
    }
    const float scale = largest / 127;
    made.scales.push_back(scale);
    for (int k = 0; k < rows.cols; ++k) {
      const float value = scale > 0 ? levelled(k) / scale : 0;
      made.values.push_back(
          static_cast<int>(std::nearbyint(std::min(127.0F, std::max(-127.0F, value)))));
    }
  }
  return made;
}

/// How many integers, scales, reaches and offsets differ.
int differences(const WeightMatrix& matrix, const Reference& expected) {
  int wrong = 0;
  std::vector<std::int8_t> row(static_cast<std::size_t>(matrix.depth()));
  const auto depth = static_cast<std::size_t>(matrix.depth());
  for (int col = 0; col < matrix.cols(); ++col) {
    const auto at = static_cast<std::size_t>(col);
    matrix.copy_integers(col, row.data());
    wrong += matrix.int8().column_scales[col] == expected.scales[at] ? 0 : 1;
    int sum = 0;
    for (std::size_t k = 0; k < depth; ++k) {
      wrong += row[k] == expected.values[at * depth + k] ? 0 : 1;
      sum += expected.values[at * depth + k];
    }
    if (matrix.scheme() == Scheme::quads) {
      wrong += matrix.int8().offsets[col] == 8192 * sum ? 0 : 1;
    }
  }
  for (int k = 0; k < matrix.depth(); ++k) {
    wrong += matrix.int8().reach[k] == expected.reach[static_cast<std::size_t>(k)] ? 0 : 1;
  }
  return wrong;
}

}  // namespace

TEST_CASE_TEMPLATE("rows interleave into panels at every width", Width, RELATA_TEST_WIDTHS) {
  using Arch = typename Width::Arch;
  std::mt19937 random(1);
  for (const int depth : {1, 2, 3, 7, 8, 15, 16, 17, 33, 64, 301}) {
    CAPTURE(depth);
    GuardedMatrix rows(kPanelWidth, depth, depth + 3), panel(depth, kPanelWidth, kPanelWidth);
    rows.fill(random);
    kernels::interleave<simd::Floats<Arch>>(
        rows.row(0), (depth + 3) * static_cast<std::ptrdiff_t>(sizeof(float)), depth, panel.row(0));
    int wrong = 0;
    for (int k = 0; k < depth; ++k) {
      for (int col = 0; col < kPanelWidth; ++col) {
        wrong += panel.row(k)[col] == rows.row(col)[k] ? 0 : 1;
      }
    }
    CHECK_EQ(wrong, 0);
    CHECK(panel.guards_intact());
  }
}

TEST_CASE_TEMPLATE("panels of 8 bits hold the rounded rows at every width and tail", Width,
                   RELATA_TEST_WIDTHS) {
  using Arch = typename Width::Arch;
  std::mt19937 random(2);
  for (const int depth : {1, 2, 3, 8, 17, 64, 127, 128, 129, 301}) {
    for (const int num_rows : {1, 3, kPanelWidth}) {
      for (const int col : {0, 5, kPanelWidth - num_rows}) {
        if (col + num_rows > kPanelWidth) {
          continue;
        }
        CAPTURE(depth);
        CAPTURE(num_rows);
        GuardedMatrix rows(num_rows, depth, depth + 2);
        fill_unevenly(rows, random);
        const Reference expected = round_plainly(std::as_const(rows).view());
        std::vector<float> reach(static_cast<std::size_t>(depth), 0);
        for (int i = 0; i < num_rows; ++i) {
          kernels::widen_reach<Arch>(rows.row(i), depth, reach.data());
        }
        CHECK_EQ(reach, expected.reach);
        for (int i = 0; i < num_rows; ++i) {
          CHECK_EQ(kernels::column_scale<Arch>(rows.row(i), reach.data(), depth),
                   expected.scales[static_cast<std::size_t>(i)]);
        }
        for (const int together : {2, 4}) {
          constexpr std::int8_t kGuard = 99;
          const auto size =
              static_cast<std::size_t>((depth + together - 1) / together * together) * kPanelWidth;
          std::vector<std::int8_t> panel(size + 1, kGuard);
          kernels::round_rows_into<Arch>(static_cast<Scheme>(together), std::as_const(rows).view(),
                                         reach.data(), expected.scales.data(), col, panel.data());
          std::vector<std::int8_t> plain(size + 1, kGuard);
          for (int i = 0; i < num_rows; ++i) {
            for (int k = 0; k < depth; ++k) {
              const auto at = static_cast<std::size_t>(
                  (k / together * kPanelWidth + col + i) * together + k % together);
              plain[at] = static_cast<std::int8_t>(
                  expected.values[static_cast<std::size_t>(i * depth + k)]);
            }
          }
          CHECK(panel == plain);
        }
      }
    }
  }
}

TEST_CASE("a matrix set in panels, row by row or from its integers is the same") {
  std::mt19937 random(3);
  for (const int cols : {1, 15, 16, 17, 40}) {
    for (const int depth : {1, 8, 37, 130}) {
      for (const auto scheme : {Scheme::pairs, Scheme::quads}) {
        CAPTURE(cols);
        CAPTURE(depth);
        GuardedMatrix rows(cols, depth, depth + 1);
        fill_unevenly(rows, random);
        const auto view = std::as_const(rows).view();
        const Reference expected = round_plainly(view);
        const auto make = [&](WeightType type) {
          auto matrix = WeightMatrix::allocate(type, cols, depth, "test", scheme);
          REQUIRE(matrix.ok());
          for (int i = 0; i < cols; ++i) {
            matrix.value().level(view.row(i));
          }
          return std::move(matrix.value());
        };
        WeightMatrix whole = make(WeightType::int8);
        whole.set_rows(0, view);
        CHECK_EQ(differences(whole, expected), 0);
        WeightMatrix single = make(WeightType::int8);
        for (int i = cols - 1; i >= 0; --i) {
          single.set_row(i, view.row(i));
        }
        CHECK_EQ(differences(single, expected), 0);

        auto kept = WeightMatrix::allocate(WeightType::int8, cols, depth, "test", scheme);
        REQUIRE(kept.ok());
        kept.value().set_factors(expected.scales, expected.reach);
        const std::vector<std::int8_t> integers(expected.values.begin(), expected.values.end());
        kept.value().set_integers(0, {integers.data(), cols, depth, depth});
        CHECK_EQ(differences(kept.value(), expected), 0);

        WeightMatrix floats = make(WeightType::f32);
        floats.set_rows(0, view);
        std::vector<float> row(static_cast<std::size_t>(depth));
        for (int i = 0; i < cols; ++i) {
          CHECK(whole.holds_row(i, view.row(i)));
          CHECK(floats.holds_row(i, view.row(i)));
          // As it is kept, not as it was.
          kept.value().copy_row(i, row.data());
          CHECK(kept.value().holds_row(i, row.data()));
          row[0] += std::max(expected.reach[0], 1.0F);
          CHECK_FALSE(kept.value().holds_row(i, row.data()));
          CHECK_FALSE(whole.holds_row(i, row.data()));
          floats.copy_row(i, row.data());
          CHECK(std::equal(row.begin(), row.end(), view.row(i)));
        }
      }
    }
  }
}
