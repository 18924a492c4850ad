// What a relation costs: scores, softmax and context of one attention (no projections) with a
// relation and without, alternating in one run, one JSON line per relation. Build the target
// relata_relation_cost and run it, natively or in Node.

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <utility>
#include <vector>

#include "src/model/attention.hpp"

namespace {

using relata::Config;
using relata::EffectKind;
using relata::IndexKind;
using relata::Matrix;
using relata::Relation;

constexpr int kLength = 512;
constexpr int kHeads = 8;
constexpr int kHeadDim = 64;
constexpr int kClip = 16;
constexpr int kRounds = 15;

void fill_random(Matrix& matrix, std::uint32_t seed) {
  for (int i = 0; i < matrix.rows(); ++i) {
    for (int j = 0; j < matrix.cols(); ++j) {
      seed = seed * 1664525U + 1013904223U;
      matrix.view().row(i)[j] = static_cast<float>(seed >> 8) / static_cast<float>(1 << 24) - 0.5F;
    }
  }
}

Matrix random_matrix(int rows, int cols, std::uint32_t seed) {
  auto matrix = std::move(Matrix::allocate(rows, cols, "bench").value());
  fill_random(matrix, seed);
  return matrix;
}

struct Case {
  const char* name;
  Relation relation;
};

Relation shaw(bool keys, bool values) {
  const auto index = relata::RelationIndex::make(
      {.kind = IndexKind::clipped_distance, .left = kClip, .right = kClip});
  relata::RelationTables tables;
  if (keys) {
    tables.keys = random_matrix(2 * kClip + 1, kHeadDim, 1);
  }
  if (values) {
    tables.values = random_matrix(2 * kClip + 1, kHeadDim, 2);
  }
  return std::move(Relation::make(index.value(),
                                  {.kind = EffectKind::vectors, .keys = keys, .values = values},
                                  kHeads, kHeadDim, std::move(tables))
                       .value());
}

Relation t5_bias() {
  const auto index = relata::RelationIndex::make({.kind = IndexKind::bucketed_distance,
                                                  .num_buckets = 32,
                                                  .max_distance = 128,
                                                  .bidirectional = true});
  relata::RelationTables tables;
  tables.bias = random_matrix(kHeads, 32, 3);
  return std::move(
      Relation::make(index.value(), {.kind = EffectKind::bias}, kHeads, kHeadDim, std::move(tables))
          .value());
}

double milliseconds(const Config& config, const Relation* relation, const Matrix& queries,
                    const relata::KeyValues& memory, relata::Workspace& workspace,
                    Matrix& context) {
  relata::AttentionPlace place;
  place.relation = relation;
  const auto start = std::chrono::steady_clock::now();
  relata::attend(config, place, queries.view(), memory, workspace, nullptr, context.view());
  const std::chrono::duration<double, std::milli> elapsed =
      std::chrono::steady_clock::now() - start;
  return elapsed.count();
}

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

}  // namespace

int main() {
  Config config;
  config.num_heads = kHeads;
  config.head_dim = kHeadDim;
  config.d_model = kHeads * kHeadDim;
  config.d_ff = 1;
  const int width = kHeads * kHeadDim;
  const Matrix queries = random_matrix(kLength, width, 4);
  auto memory = std::move(
      relata::KeyValues::allocate(config, relata::kernels::WeightType::f32, kLength).value());
  memory.append(std::as_const(queries).view(), random_matrix(kLength, width, 5).view());
  Matrix context = random_matrix(kLength, width, 6);

  std::vector<Case> cases;
  cases.push_back({"shaw keys and values, k = 16", shaw(true, true)});
  cases.push_back({"shaw keys, k = 16", shaw(true, false)});
  cases.push_back({"t5 bias, 32 buckets", t5_bias()});
  for (auto& [name, relation] : cases) {
    std::vector<Relation> relations;
    relations.push_back(std::move(relation));
    auto workspace =
        std::move(relata::Workspace::allocate(config, relations, kLength, kLength, false).value());
    std::vector<double> with;
    std::vector<double> without;
    std::vector<double> ratios;
    for (int round = -10; round < kRounds; ++round) {  // the first ten let the engine optimise
      const double plain = milliseconds(config, nullptr, queries, memory, workspace, context);
      const double related =
          milliseconds(config, &relations[0], queries, memory, workspace, context);
      if (round >= 0) {
        with.push_back(related);
        without.push_back(plain);
        ratios.push_back(related / plain);
      }
    }
    std::printf(
        R"({"case": "%s", "n": %d, "heads": %d, "head_dim": %d, "ms_with": %.3f, "ms_without": %.3f, )"
        R"("median_ratio": %.4f, "gflops_without": %.2f})"
        "\n",
        name, kLength, kHeads, kHeadDim, median(with), median(without), median(ratios),
        4e-6 * kLength * kLength * width / median(without));
  }
  return 0;
}
