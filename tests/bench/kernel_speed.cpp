// How fast the products are, beside what one thread of this machine can do at all, measured in the
// same rounds: one row (decoding: GB/s of weights read), 16 rows (a batch) and many rows (encoding:
// GMAC/s) over the matrices of t5-small, in f32 and int8; one JSON line each. Build the target
// relata_kernel_speed and run it, natively or in Node.

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <functional>
#include <utility>
#include <vector>

#include "src/kernels/simd.hpp"
#include "src/kernels/weight_matrix.hpp"

namespace {

using relata::AlignedBuffer;
using relata::Matrix;
using relata::kernels::WeightMatrix;
using relata::kernels::WeightType;
namespace simd = relata::simd;
using Arch = simd::BuildArch;

constexpr int kWidth = simd::kWidth<Arch>;
constexpr int kRounds = 9;
constexpr int kWarmUpRounds = 3;  // lets the engine optimise

// What the probes work out goes here, or they would be left out.
volatile float float_sink;
volatile std::int32_t int_sink;

/// The sum of `count` floats, a multiple of 16 vectors.
[[gnu::noinline]] void probe_read(const float* values, std::size_t count) {
  simd::Floats<Arch> sums[4] = {0.0F, 0.0F, 0.0F, 0.0F};
  for (std::size_t i = 0; i < count; i += 4 * kWidth) {
    for (std::size_t v = 0; v < 4; ++v) {
      sums[v] += simd::load<Arch>(values + i + v * kWidth);
    }
  }
  float_sink = xsimd::reduce_add(sums[0] + sums[1] + sums[2] + sums[3]);
}

/// steps * 12 vector multiply-adds on independent sums.
[[gnu::noinline]] void probe_f32(int steps, float x) {
  simd::Floats<Arch> sums[12];
  for (int i = 0; i < 12; ++i) {
    sums[i] = simd::Floats<Arch>(static_cast<float>(i) * x);
  }
  const simd::Floats<Arch> factor(x);
  const simd::Floats<Arch> term(1 - x);
  for (int k = 0; k < steps; ++k) {
    for (int i = 0; i < 12; ++i) {
      sums[i] = simd::multiply_add<Arch>(sums[i], factor, term);
    }
  }
  for (int i = 0; i < 12; ++i) {
    float_sink = xsimd::reduce_add(sums[i]);
  }
}

/// Products of int8 weights from the first cache with Rows rows of 16-bit activations that share
/// them: steps * Rows * 4 * kWidth products.
template <int Rows>
[[gnu::noinline]] void probe_int8(int steps, const std::int8_t* weights, const std::int16_t* x) {
  simd::Ints<Arch> sums[Rows][2];
  simd::Pairs<Arch> inputs[Rows];
  for (int r = 0; r < Rows; ++r) {
    inputs[r] = simd::Pairs<Arch>::load_unaligned(x + r * 2 * kWidth);
    sums[r][0] = sums[r][1] = simd::Ints<Arch>(0);
  }
  for (int k = 0; k < steps; ++k) {
    const std::int8_t* at = weights + k % 256 * 4 * kWidth;
    for (int v = 0; v < 2; ++v) {
      const auto pairs = simd::load_pairs<Arch>(at + v * 2 * kWidth);
      for (int r = 0; r < Rows; ++r) {
        sums[r][v] = simd::add_pair_products<Arch>(pairs, inputs[r], sums[r][v]);
      }
    }
  }
  for (int r = 0; r < Rows; ++r) {
    int_sink = xsimd::reduce_add(sums[r][0] + sums[r][1]);
  }
}

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

/// The matrices that one decoding step of t5-small reads: 38.5 million weights.
std::vector<WeightMatrix> decoder_weights(WeightType type) {
  std::vector<WeightMatrix> weights;
  for (int layer = 0; layer < 6; ++layer) {
    for (int i = 0; i < 6; ++i) {
      weights.push_back(random_weight(type, 512, 512));
    }
    weights.push_back(random_weight(type, 2048, 512));
    weights.push_back(random_weight(type, 512, 2048));
  }
  weights.push_back(random_weight(type, 32128, 512));
  return weights;
}

struct Case {
  const char* name;
  const char* type;
  double work;   // multiply-adds, or 0
  double bytes;  // of weights read, or 0
  std::function<void()> run;
  std::vector<double> seconds;
};

class Products {
 public:
  Products(WeightType type, int rows) {
    input_ = std::move(Matrix::allocate(rows, 2048, "bench").value());
    output_ = std::move(Matrix::allocate(rows, 32128, "bench").value());
    scratch_ = std::move(relata::kernels::RoundedRows::allocate(rows, 2048, "bench").value());
    weights_ = decoder_weights(type);
    std::uint32_t seed = 7;
    std::generate_n(input_.view().data, rows * 2048, [&] { return random_value(seed); });
  }

  /// All matrices of a decoding step, or those of the encoder, which are the same but for the
  /// logits and two of each layer.
  Case product(const char* name, const char* type, int rows, bool decode) {
    std::vector<const WeightMatrix*> used;
    double work = 0;
    double bytes = 0;
    for (std::size_t i = 0; i < weights_.size(); ++i) {
      if (decode || (i + 1 < weights_.size() && i % 8 >= 2)) {
        used.push_back(&weights_[i]);
        work += static_cast<double>(rows) * weights_[i].cols() * weights_[i].depth();
        bytes += static_cast<double>(weights_[i].bytes());
      }
    }
    return {name,
            type,
            work,
            bytes,
            [this, rows, used] {
              for (const WeightMatrix* weight : used) {
                relata::kernels::matmul(
                    nullptr,
                    std::as_const(input_).view().slice_rows(0, rows).slice_cols(0, weight->depth()),
                    *weight, nullptr, scratch_,
                    output_.view().slice_rows(0, rows).slice_cols(0, weight->cols()));
              }
            },
            {}};
  }

 private:
  Matrix input_;
  Matrix output_;
  relata::kernels::RoundedRows scratch_;
  std::vector<WeightMatrix> weights_;
};

/// The products with weights of one type beside the probes: other weights would only push these out
/// of the caches.
void measure(const char* type_name, WeightType type) {
  constexpr int kSteps = 1 << 20;
  Products products(type, 128);
  std::vector<Case> cases;
  cases.push_back(products.product("decode, one row", type_name, 1, true));
  cases.push_back(products.product("decode, 16 rows", type_name, 16, true));
  cases.push_back(products.product("encode, 128 rows", type_name, 128, false));
  const auto floats = static_cast<std::uint64_t>(cases[0].bytes) / sizeof(float) / 256 * 256;
  auto memory = std::move(AlignedBuffer<float>::allocate(floats, "bench").value());
  auto small = std::move(AlignedBuffer<std::int8_t>::allocate(256 * 4 * kWidth, "bench").value());
  auto rows = std::move(AlignedBuffer<std::int16_t>::allocate(8 * kWidth, "bench").value());
  std::fill_n(memory.data(), memory.size(), 1.0F);
  std::fill_n(small.data(), small.size(), std::int8_t{3});
  std::fill_n(rows.data(), rows.size(), std::int16_t{5});
  volatile float x = 0.5F;
  cases.push_back({"probe: memory read as large",
                   type_name,
                   0,
                   4.0 * static_cast<double>(floats),
                   [&] { probe_read(memory.data(), memory.size()); },
                   {}});
  cases.push_back({"probe: multiply-adds",
                   "f32",
                   12.0 * kWidth * kSteps,
                   0,
                   [&] { probe_f32(kSteps, x); },
                   {}});
  cases.push_back({"probe: products, one row",
                   "int8",
                   4.0 * kWidth * kSteps,
                   0,
                   [&] { probe_int8<1>(kSteps, small.data(), rows.data()); },
                   {}});
  cases.push_back({"probe: products, four rows",
                   "int8",
                   16.0 * kWidth * kSteps,
                   0,
                   [&] { probe_int8<4>(kSteps, small.data(), rows.data()); },
                   {}});
  for (int round = -kWarmUpRounds; round < kRounds; ++round) {
    for (Case& one : cases) {
      // Brings its data as near as decoding, step after step, has them.
      for (int i = 0; i < (one.bytes > 0 ? 3 : 1); ++i) {
        one.run();
      }
      const auto start = std::chrono::steady_clock::now();
      one.run();
      const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - start;
      if (round >= 0) {
        one.seconds.push_back(elapsed.count());
      }
    }
  }
  for (Case& one : cases) {
    std::sort(one.seconds.begin(), one.seconds.end());
    const double median = one.seconds[one.seconds.size() / 2];
    std::printf(
        R"({"case": "%s", "type": "%s", "ms": %.3f, "least_ms": %.3f, "gmac_s": %.1f, "gb_s": %.1f})"
        "\n",
        one.name, one.type, median * 1e3, one.seconds.front() * 1e3, 1e-9 * one.work / median,
        1e-9 * one.bytes / median);
  }
}

}  // namespace

int main() {
  measure("f32", WeightType::f32);
  measure("int8", WeightType::int8);
  return 0;
}
