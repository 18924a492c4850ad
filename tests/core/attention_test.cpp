// One attention between its projections, against double loops over every query, key and head;
// lengths of several tiles.
#include "src/model/attention.hpp"

#include <doctest/doctest.h>

#include "tests/core/support.hpp"

using namespace relata;
using namespace relata::test;

namespace {

constexpr int kHeads = 2;
constexpr int kHeadDim = 5;
constexpr int kWidth = kHeads * kHeadDim;

Config make_config() {
  Config config;
  config.d_model = kWidth;
  config.d_ff = 8;
  config.num_heads = kHeads;
  config.head_dim = kHeadDim;
  return config;
}

Relation make_relation(int clip, std::mt19937& random, GuardedMatrix& keys, GuardedMatrix& values) {
  RelationIndexConfig index_config;
  index_config.kind = IndexKind::clipped_distance;
  index_config.left = index_config.right = clip;
  auto index = RelationIndex::make(index_config);
  REQUIRE(index.ok());
  RelationTables tables;
  for (auto [golden, table] :
       {std::pair{&keys, &tables.keys}, std::pair{&values, &tables.values}}) {
    golden->fill(random);
    auto matrix = Matrix::allocate(2 * clip + 1, kHeadDim, "test");
    REQUIRE(matrix.ok());
    for (int r = 0; r < 2 * clip + 1; ++r) {
      std::copy_n(golden->row(r), kHeadDim, matrix.value().view().row(r));
    }
    *table = std::move(matrix.value());
  }
  auto relation = Relation::make(index.value(), {EffectKind::vectors, true, true, false}, kHeads,
                                 kHeadDim, std::move(tables));
  REQUIRE(relation.ok());
  return std::move(relation.value());
}

struct Expected {
  std::vector<double> weights;
  std::vector<double> context;
};

/// One query of one head, as the papers write it; keys 0 .. visible - 1. Null tables: no relation.
Expected attend_one(const float* query, const GuardedMatrix& keys, const GuardedMatrix& values,
                    int head, int position, int visible, const GuardedMatrix* relation_keys,
                    const GuardedMatrix* relation_values, int clip) {
  const auto table_row = [&](const GuardedMatrix* table, int key) {
    return table->view().row(std::max(-clip, std::min(clip, key - position)) + clip);
  };
  std::vector<double> scores;
  double largest = -INFINITY, sum = 0;
  for (int j = 0; j < visible; ++j) {
    double score = 0;
    for (int k = 0; k < kHeadDim; ++k) {
      double key = keys.view().row(j)[head * kHeadDim + k];
      key += relation_keys != nullptr ? table_row(relation_keys, j)[k] : 0;
      score += query[k] * key;
    }
    scores.push_back(score);
    largest = std::max(largest, score);
  }
  Expected expected{{}, std::vector<double>(kHeadDim, 0.0)};
  for (const double score : scores) {
    sum += std::exp(score - largest);
  }
  for (int j = 0; j < visible; ++j) {
    expected.weights.push_back(std::exp(scores[static_cast<std::size_t>(j)] - largest) / sum);
    for (int k = 0; k < kHeadDim; ++k) {
      double value = values.view().row(j)[head * kHeadDim + k];
      value += relation_values != nullptr ? table_row(relation_values, j)[k] : 0;
      expected.context[static_cast<std::size_t>(k)] += expected.weights.back() * value;
    }
  }
  return expected;
}

/// Attends with every query of a sequence of n and compares contexts, and the trace where `traced`.
void check_attention(int n, int clip, AttentionKind kind, bool traced,
                     kernels::WeightType type = kernels::WeightType::f32) {
  const Config config = make_config();
  std::mt19937 random(static_cast<unsigned>(n + clip));
  const int num_relations = 2 * clip + 1;
  GuardedMatrix relation_keys(num_relations, kHeadDim, kHeadDim),
      relation_values(num_relations, kHeadDim, kHeadDim);
  std::vector<Relation> relations;
  relations.push_back(make_relation(clip, random, relation_keys, relation_values));
  const bool related = kind != AttentionKind::cross;
  const bool causal = kind == AttentionKind::decoder_self;

  GuardedMatrix queries(n, kWidth, kWidth + 1), keys(n, kWidth, kWidth), values(n, kWidth, kWidth);
  GuardedMatrix context(n, kWidth, kWidth + 3);
  queries.fill(random, 2);
  keys.fill(random);
  values.fill(random);
  context.fill_constant(NAN);
  auto memory = KeyValues::allocate(config, type, n + 9);
  auto workspace = Workspace::allocate(config, relations, n, n, traced);
  REQUIRE(memory.ok());
  REQUIRE(workspace.ok());
  memory.value().append(keys.view(), values.view());

  AttentionTrace trace;
  if (traced) {
    Config shape = config;
    shape.num_encoder_layers = shape.num_decoder_layers = 1;
    shape.encoder_relation.effect.kind = shape.decoder_relation.effect.kind = EffectKind::vectors;
    auto allocated = AttentionTrace::allocate(shape, {{kind}, {}, {1}}, n, n);
    REQUIRE(allocated.ok());
    trace = std::move(allocated.value());
  }
  AttentionPlace place;
  place.kind = kind;
  place.relation = related ? &relations.front() : nullptr;
  attend(config, place, queries.view(), memory.value(), workspace.value(),
         traced ? &trace : nullptr, context.view());

  double worst_context = 0, worst_weight = 0;
  for (int i = 0; i < n; ++i) {
    const int visible = causal ? i + 1 : n;
    for (int head = 0; head < kHeads; ++head) {
      const auto expected = attend_one(queries.row(i) + head * kHeadDim, keys, values, head, i,
                                       visible, related ? &relation_keys : nullptr,
                                       related ? &relation_values : nullptr, clip);
      for (int k = 0; k < kHeadDim; ++k) {
        worst_context =
            std::max(worst_context, std::abs(context.row(i)[head * kHeadDim + k] -
                                             expected.context[static_cast<std::size_t>(k)]));
      }
      const HeadTrace* seen = traced ? trace.find(kind, 0, head) : nullptr;
      CHECK_EQ(seen != nullptr, traced && head == 1);
      for (int j = 0; seen != nullptr && j < n; ++j) {
        const double weight = j < visible ? expected.weights[static_cast<std::size_t>(j)] : 0;
        worst_weight = std::max(worst_weight, std::abs(seen->weights.view().row(i)[j] - weight));
      }
    }
  }
  // Values are below 2 and scores below 20: their rounding moves weights by that much, and sums by
  // one part a term.
  // Rounded to 12 bits, keys move a score by at most 20 / 2^13, which moves weights by twice that
  // and what they sum up, values below 2, by four times; the values themselves are rounded, too.
  const double rounding = type == kernels::WeightType::int8 ? 20.0 / 8192 : 0;
  CHECK_LE(worst_context, kEpsilon * (4 * 20 + n) + 4 * rounding);
  CHECK_LE(worst_weight, kEpsilon * (20 + n) + 2 * rounding);
  CHECK(context.guards_intact());
  if (traced) {
    CHECK_EQ(trace.heads().size(), 1);
    CHECK_EQ(trace.heads().front().num_queries, n);
  }
}

}  // namespace

TEST_CASE("attention equals double loops, from one token to many tiles") {
  for (const int n : {1, 2, 15, 16, 17, 33, 130}) {
    for (const auto kind :
         {AttentionKind::encoder_self, AttentionKind::decoder_self, AttentionKind::cross}) {
      for (const bool traced : {false, true}) {
        CAPTURE(n);
        CAPTURE(static_cast<int>(kind));
        check_attention(n, 3, kind, traced);
        check_attention(n, 3, kind, traced, kernels::WeightType::int8);
      }
    }
  }
}

TEST_CASE("attention over 600 tokens, clip inside and beyond the tile") {
  check_attention(600, 16, AttentionKind::encoder_self, false);
  check_attention(600, 16, AttentionKind::decoder_self, false);
  check_attention(600, 700, AttentionKind::encoder_self, false);
}
