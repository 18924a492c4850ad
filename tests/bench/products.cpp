// How fast the products are: each weight format at one row (decoding: GB/s of weights read) and at
// many rows (encoding: GMAC/s), the t5-small shapes, one JSON line each. Build the target
// relata_products; run it natively or in Node.

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <utility>
#include <vector>

#include "src/kernels/weight_matrix.hpp"

namespace {

using relata::Matrix;
using relata::kernels::WeightMatrix;
using relata::kernels::WeightType;

float random_value(std::uint32_t& seed) {
  seed = seed * 1664525U + 1013904223U;
  return static_cast<float>(seed >> 8) / static_cast<float>(1 << 24) - 0.5F;
}

WeightMatrix random_weight(WeightType type, int cols, int depth) {
  auto weight = std::move(WeightMatrix::allocate(type, cols, depth, "bench").value());
  std::vector<float> row(static_cast<std::size_t>(depth));
  for (const bool levelled : {false, true}) {
    std::uint32_t seed = 1;
    for (int col = 0; col < cols; ++col) {
      std::generate(row.begin(), row.end(), [&] { return random_value(seed); });
      levelled ? weight.set_row(col, row.data()) : weight.level(row.data());
    }
  }
  return weight;
}

void measure(const char* name, WeightType type, int rows, int depth, int cols, int copies) {
  std::vector<WeightMatrix>
      weights;  // several, so that one row streams them from memory as a decoding step does
  std::uint64_t bytes = 0;
  for (int i = 0; i < copies; ++i) {
    weights.push_back(random_weight(type, cols, depth));
    bytes += weights.back().bytes();
  }
  auto input = std::move(Matrix::allocate(rows, depth, "bench").value());
  auto output = std::move(Matrix::allocate(rows, cols, "bench").value());
  auto scratch = std::move(relata::kernels::RoundedRows::allocate(rows, depth, "bench").value());
  std::uint32_t seed = 7;
  std::generate_n(input.view().data, rows * depth, [&] { return random_value(seed); });
  std::vector<double> seconds;
  for (int round = -5; round < 15; ++round) {
    const auto start = std::chrono::steady_clock::now();
    for (const WeightMatrix& weight : weights) {
      relata::kernels::matmul(std::as_const(input).view(), weight, nullptr, scratch, output.view());
    }
    const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - start;
    if (round >= 0) {
      seconds.push_back(elapsed.count());
    }
  }
  std::sort(seconds.begin(), seconds.end());
  const double median = seconds[seconds.size() / 2];
  std::printf(
      R"({"case": "%s", "rows": %d, "depth": %d, "cols": %d, "ms": %.3f, "gmac_s": %.1f, "gb_s": %.1f})"
      "\n",
      name, rows, depth, cols, median * 1e3, 1e-9 * copies * rows * depth * cols / median,
      1e-9 * static_cast<double>(bytes) / median);
}

}  // namespace

int main() {
  for (const auto& [name, type] :
       {std::pair{"f32", WeightType::f32}, std::pair{"int8", WeightType::int8}}) {
    measure(name, type, 1, 512, 32128, 1);
    measure(name, type, 1, 512, 512, 48);
    measure(name, type, 128, 512, 2048, 1);
    measure(name, type, 128, 2048, 512, 1);
    measure(name, type, 16, 512, 512, 4);
  }
  return 0;
}
