// What a relation adds to scores and contexts, against double loops over all pairs, and the
// promises between schemes.
#include <doctest/doctest.h>

#include "src/relation/relation_effect.hpp"
#include "tests/core/relation_scores.hpp"
#include "tests/core/support.hpp"

using namespace relata;
using namespace relata::test;

namespace {

constexpr int kHeads = 3;

/// A relation, the tables it was made from, and how to ask it about one tile.
struct Setting {
  RelationIndexConfig index_config;
  RelationEffectConfig effect;
  int head_dim = 4;
  GuardedMatrix keys{1, 1, 1}, values{1, 1, 1}, bias{1, 1, 1};
  RelationIndex index;
  Relation relation;
};

Matrix copy_of(const GuardedMatrix& source) {
  const auto view = source.view();
  auto matrix = Matrix::allocate(view.rows, view.cols, "test");
  REQUIRE(matrix.ok());
  for (int i = 0; i < view.rows; ++i) {
    std::copy_n(view.row(i), view.cols, matrix.value().view().row(i));
  }
  return std::move(matrix.value());
}

Setting make(const RelationIndexConfig& index_config, const RelationEffectConfig& effect,
             int head_dim, unsigned seed = 1) {
  Setting setting;
  setting.index_config = index_config;
  setting.effect = effect;
  setting.head_dim = head_dim;
  auto index = RelationIndex::make(index_config);
  REQUIRE(index.ok());
  setting.index = index.value();
  const int num_relations = setting.index.num_relations();
  const int rows = (effect.per_head ? kHeads : 1) * num_relations;
  std::mt19937 random(seed);
  RelationTables tables;
  if (effect.kind == EffectKind::vectors) {
    setting.keys = GuardedMatrix(rows, head_dim, head_dim);
    setting.values = GuardedMatrix(rows, head_dim, head_dim);
    setting.keys.fill(random);
    setting.values.fill(random);
    if (effect.keys) {
      tables.keys = copy_of(setting.keys);
    }
    if (effect.values) {
      tables.values = copy_of(setting.values);
    }
  } else if (effect.kind == EffectKind::bias) {
    setting.bias = GuardedMatrix(kHeads, num_relations, num_relations);
    setting.bias.fill(random);
    tables.bias = copy_of(setting.bias);
  }
  auto relation = Relation::make(setting.index, effect, kHeads, head_dim, std::move(tables));
  REQUIRE(relation.ok());
  setting.relation = std::move(relation.value());
  return setting;
}

RelationIndexConfig distance_free() { return {}; }
RelationIndexConfig clipped(int left, int right) {
  RelationIndexConfig config;
  config.kind = IndexKind::clipped_distance;
  config.left = left;
  config.right = right;
  return config;
}
RelationIndexConfig bucketed(int num_buckets, int max_distance, bool bidirectional) {
  RelationIndexConfig config;
  config.kind = IndexKind::bucketed_distance;
  config.num_buckets = num_buckets;
  config.max_distance = max_distance;
  config.bidirectional = bidirectional;
  return config;
}
RelationIndexConfig labels(int num_labels) {
  RelationIndexConfig config;
  config.kind = IndexKind::labels;
  config.num_labels = num_labels;
  return config;
}
RelationEffectConfig vectors(bool keys, bool values, bool per_head = false) {
  return {EffectKind::vectors, keys, values, per_head};
}
RelationEffectConfig bias() { return {EffectKind::bias, false, false, false}; }
RelationEffectConfig fixed_slope() { return {EffectKind::fixed_slope, false, false, false}; }

struct Labels {
  std::vector<int> ids;
  int keys = 0;
  MatrixView<const int> view() const {
    return {ids.data(), static_cast<int>(ids.size()) / keys, keys, keys};
  }
};

Labels random_labels(int queries, int keys, int num_labels, std::mt19937& random) {
  Labels result{{}, keys};
  for (int i = 0; i < queries * keys; ++i) {
    result.ids.push_back(random_int(random, num_labels));
  }
  return result;
}

/// The id of a pair, by the definition: labels as given, else from the signed distance.
int pair_id(const Setting& setting, const RelationTile& tile, int row, int key) {
  const auto& config = setting.index_config;
  const int distance = key - (tile.first_query + row);
  switch (config.kind) {
    case IndexKind::clipped_distance:
      return std::max(-config.left, std::min(config.right, distance)) + config.left;
    case IndexKind::bucketed_distance:
      return t5_bucket(distance, config.num_buckets, config.max_distance, config.bidirectional);
    case IndexKind::labels:
      return tile.labels.row(row)[key];
    case IndexKind::none:
      break;
  }
  return 0;
}

bool sees(const RelationTile& tile, int row, int key) {
  return !tile.causal || key <= tile.first_query + row;
}

/// Runs scores and add_context of every head on one tile and compares every cell.
void check_tile(const Setting& setting, const RelationTile& tile, int rows, std::mt19937& random) {
  const int head_dim = setting.head_dim, num_relations = setting.index.num_relations();
  auto scratch = setting.relation.make_scratch(rows, tile.num_keys);
  REQUIRE(scratch.ok());
  const auto slopes = alibi_slopes(kHeads);
  for (int head = 0; head < kHeads; ++head) {
    GuardedMatrix queries(rows, head_dim, head_dim + 3);
    GuardedMatrix scores(rows, tile.num_keys, tile.num_keys + 2), weights = scores;
    GuardedMatrix context(rows, head_dim, head_dim + 5);
    queries.fill(random);
    scores.fill(random);
    context.fill(random);
    for (int i = 0; i < rows; ++i) {
      for (int j = 0; j < tile.num_keys; ++j) {
        weights.row(i)[j] = sees(tile, i, j)
                                ? std::abs(random_float(random)) / static_cast<float>(tile.num_keys)
                                : 0;
      }
    }
    const GuardedMatrix scores_before = scores, context_before = context;
    const bool sets = setting.relation.has_scores();
    CHECK_EQ(sets, setting.effect.kind != EffectKind::vectors || setting.effect.keys);
    if (sets) {
      test::set_scores(setting.relation, head, queries.view(), tile, scratch.value(),
                       scores.view());
    }
    setting.relation.add_context(head, weights.view(), tile, scratch.value(), context.view());
    CHECK(scores.guards_intact());
    CHECK(context.guards_intact());

    const int table = setting.effect.per_head ? head * num_relations : 0;
    double worst_score = 0, worst_context = 0;
    bool unseen_untouched = true;
    for (int i = 0; i < rows; ++i) {
      std::vector<double> sums(static_cast<std::size_t>(head_dim), 0.0);
      for (int j = 0; j < tile.num_keys; ++j) {
        const float before = scores_before.view().row(i)[j], after = scores.row(i)[j];
        if (!sees(tile, i, j)) {
          unseen_untouched = unseen_untouched && before == after;
          continue;
        }
        const int id = pair_id(setting, tile, i, j);
        double added = 0;
        if (setting.effect.kind == EffectKind::vectors) {
          for (int k = 0; k < head_dim; ++k) {
            if (setting.effect.keys) {
              added +=
                  static_cast<double>(queries.row(i)[k]) * setting.keys.view().row(table + id)[k];
            }
            if (setting.effect.values) {
              sums[static_cast<std::size_t>(k)] +=
                  static_cast<double>(weights.row(i)[j]) * setting.values.view().row(table + id)[k];
            }
          }
        } else if (setting.effect.kind == EffectKind::bias) {
          added = setting.bias.view().row(head)[id];
        } else {
          added = -static_cast<double>(slopes[static_cast<std::size_t>(head)]) *
                  std::abs(j - tile.first_query - i);
        }
        worst_score = std::max(worst_score,
                               std::abs(after - (sets ? added : before)) / (1 + std::abs(added)));
      }
      for (int k = 0; k < head_dim; ++k) {
        const double expected = context_before.view().row(i)[k] + sums[static_cast<std::size_t>(k)];
        worst_context = std::max(worst_context, std::abs(context.row(i)[k] - expected));
      }
    }
    CHECK(unseen_untouched);
    // Magnitudes are below head_dim + 1 for scores and 2 for contexts (the weights sum to at most
    // 1).
    CHECK_LE(worst_score, kEpsilon * (head_dim + 4) * (head_dim + 1));
    CHECK_LE(worst_context, kEpsilon * 2 * (tile.num_keys + num_relations + 4));
  }
}

}  // namespace

TEST_CASE("every pair of index and effect equals double loops") {
  std::mt19937 random(11);
  for (const int head_dim : {1, 4, 5, 16, 19}) {
    std::vector<std::pair<RelationIndexConfig, RelationEffectConfig>> pairs = {
        {distance_free(), fixed_slope()},
        {clipped(2, 2), bias()},
        {bucketed(8, 20, true), bias()},
        {bucketed(8, 20, false), bias()},
        {labels(5), bias()},
        {bucketed(8, 20, true), vectors(true, true)},
        {bucketed(6, 12, false), vectors(true, true, true)},
        {labels(5), vectors(true, true)},
        {labels(1), vectors(true, true, true)},
        {clipped(0, 0), vectors(true, true)},
        {clipped(60, 60), vectors(true, true)},
        {clipped(3, 2), vectors(true, true, true)},
        {clipped(4, 4), vectors(true, false)},
        {clipped(4, 4), vectors(false, true)},
        {clipped(5, 0), vectors(true, true)},
    };
    for (const auto& [index, effect] : pairs) {
      const Setting setting = make(index, effect, head_dim);
      for (const int num_keys : {1, 2, 7, 16, 17, 41}) {
        for (const bool causal : {false, true}) {
          for (const int first : {0, 3, num_keys - 1}) {
            if (first >= num_keys) {
              continue;
            }
            const int rows = std::min(16, num_keys - first);
            RelationTile tile{first, num_keys, causal, {}};
            const Labels ids = random_labels(rows, num_keys, std::max(1, index.num_labels), random);
            if (index.kind == IndexKind::labels) {
              tile.labels = ids.view();
            }
            CAPTURE(static_cast<int>(index.kind));
            CAPTURE(static_cast<int>(effect.kind));
            CAPTURE(num_keys);
            CAPTURE(first);
            check_tile(setting, tile, rows, random);
          }
        }
      }
    }
  }
}

TEST_CASE("labels equal to distances' ids give the same bits") {
  constexpr int kKeys = 45, kHeadDim = 7;
  std::mt19937 random(12);
  const std::vector<std::pair<RelationIndexConfig, RelationEffectConfig>> schemes = {
      {clipped(4, 4), vectors(true, true)},
      {clipped(3, 2), vectors(true, true, true)},
      {clipped(0, 9), vectors(true, true)},
      {bucketed(8, 20, true), vectors(true, true)},
      {bucketed(8, 20, true), bias()}};
  for (const auto& [index, effect] : schemes) {
    const Setting by_distance = make(index, effect, kHeadDim, 5);
    const Setting by_label = make(labels(by_distance.index.num_relations()), effect, kHeadDim, 5);
    for (const int first : {0, 8, 29}) {
      constexpr int kRows = 16;
      RelationTile tile{first, kKeys, false, {}};
      Labels ids{{}, kKeys};
      for (int i = 0; i < kRows; ++i) {
        for (int j = 0; j < kKeys; ++j) {
          ids.ids.push_back(by_distance.index.id(j - first - i));
        }
      }
      RelationTile labelled = tile;
      labelled.labels = ids.view();
      auto scratch = by_distance.relation.make_scratch(kRows, kKeys);
      auto label_scratch = by_label.relation.make_scratch(kRows, kKeys);
      REQUIRE(scratch.ok());
      REQUIRE(label_scratch.ok());
      for (int head = 0; head < kHeads; ++head) {
        GuardedMatrix queries(kRows, kHeadDim, kHeadDim), scores(kRows, kKeys, kKeys),
            weights(kRows, kKeys, kKeys);
        GuardedMatrix context(kRows, kHeadDim, kHeadDim);
        queries.fill(random);
        scores.fill(random);
        weights.fill(random);
        context.fill(random);
        GuardedMatrix label_scores = scores, label_context = context;
        test::set_scores(by_distance.relation, head, queries.view(), tile, scratch.value(),
                         scores.view());
        test::set_scores(by_label.relation, head, queries.view(), labelled, label_scratch.value(),
                         label_scores.view());
        CHECK(same_bits(scores.view(), label_scores.view()));
        by_distance.relation.add_context(head, weights.view(), tile, scratch.value(),
                                         context.view());
        by_label.relation.add_context(head, weights.view(), labelled, label_scratch.value(),
                                      label_context.view());
        CHECK(same_bits(context.view(), label_context.view()));
      }
    }
  }
}

TEST_CASE("one query alone gets what it gets among others") {
  constexpr int kKeys = 23, kHeadDim = 4;
  std::mt19937 random(13);
  for (const auto& setting : {make(clipped(2, 2), vectors(true, true), kHeadDim),
                              make(bucketed(6, 9, false), vectors(true, true), kHeadDim),
                              make(bucketed(6, 9, false), bias(), kHeadDim),
                              make(distance_free(), fixed_slope(), kHeadDim)}) {
    GuardedMatrix queries(kKeys, kHeadDim, kHeadDim), scores(kKeys, kKeys, kKeys),
        weights(kKeys, kKeys, kKeys);
    GuardedMatrix context(kKeys, kHeadDim, kHeadDim);
    queries.fill(random);
    scores.fill(random);
    context.fill(random);
    for (int i = 0; i < kKeys; ++i) {
      for (int j = 0; j < kKeys; ++j) {
        weights.row(i)[j] = j <= i ? std::abs(random_float(random)) : 0;
      }
    }
    GuardedMatrix step_scores = scores, step_context = context;
    auto scratch = setting.relation.make_scratch(kKeys, kKeys);
    REQUIRE(scratch.ok());
    const RelationTile whole{0, kKeys, true, {}};
    test::set_scores(setting.relation, 1, queries.view(), whole, scratch.value(), scores.view());
    setting.relation.add_context(1, weights.view(), whole, scratch.value(), context.view());
    for (int i = 0; i < kKeys; ++i) {
      const RelationTile step{i, i + 1, true, {}};
      test::set_scores(setting.relation, 1, queries.view().slice_rows(i, 1), step, scratch.value(),
                       step_scores.view().slice_rows(i, 1));
      setting.relation.add_context(1, weights.view().slice_rows(i, 1), step, scratch.value(),
                                   step_context.view().slice_rows(i, 1));
    }
    CHECK(same_bits(scores.view(), step_scores.view()));
    CHECK(same_bits(context.view(), step_context.view()));
  }
}

TEST_CASE("slopes of ALiBi") {
  CHECK(alibi_slopes(1) == std::vector<float>{0x1p-8F});
  CHECK(alibi_slopes(2) == std::vector<float>{0x1p-4F, 0x1p-8F});
  CHECK(alibi_slopes(3) == std::vector<float>{0x1p-4F, 0x1p-8F, 0x1p-2F});
  CHECK(alibi_slopes(8) ==
        std::vector<float>{0x1p-1F, 0x1p-2F, 0x1p-3F, 0x1p-4F, 0x1p-5F, 0x1p-6F, 0x1p-7F, 0x1p-8F});
  const auto twelve = alibi_slopes(12);
  REQUIRE_EQ(twelve.size(), 12);
  CHECK_EQ(twelve[7], 0x1p-8F);
  for (int extra = 0; extra < 4; ++extra) {
    CHECK_EQ(twelve[static_cast<std::size_t>(8 + extra)],
             doctest::Approx(std::exp2(-0.5 - extra)).epsilon(1e-6));
  }
}

TEST_CASE("relations without meaning and tables of the wrong shape are refused") {
  const auto code_of = [](const RelationIndexConfig& index_config,
                          const RelationEffectConfig& effect, int key_rows, int key_cols,
                          int value_rows, int bias_rows, int bias_cols) {
    auto index = RelationIndex::make(index_config);
    REQUIRE(index.ok());
    const auto of = [](int rows, int cols) {
      auto matrix = Matrix::allocate(rows, cols, "test");
      REQUIRE(matrix.ok());
      return std::move(matrix.value());
    };
    RelationTables tables{of(key_rows, key_cols), of(value_rows, 4), of(bias_rows, bias_cols)};
    const auto relation = Relation::make(index.value(), effect, kHeads, 4, std::move(tables));
    return relation.ok() ? std::string("ok") : std::string(to_string(relation.error().code));
  };
  CHECK_EQ(code_of(clipped(2, 2), vectors(true, true), 5, 4, 5, 0, 0), "ok");
  CHECK_EQ(code_of(clipped(2, 2), vectors(true, true), 6, 4, 5, 0, 0), "tensor_invalid");
  CHECK_EQ(code_of(clipped(2, 2), vectors(true, true), 5, 3, 5, 0, 0), "tensor_invalid");
  CHECK_EQ(code_of(clipped(2, 2), vectors(true, true), 5, 4, 0, 0, 0), "tensor_invalid");
  CHECK_EQ(code_of(clipped(2, 2), vectors(true, true, true), 5, 4, 15, 0, 0), "tensor_invalid");
  CHECK_EQ(code_of(clipped(2, 2), vectors(false, false), 5, 4, 5, 0, 0), "config_invalid");
  CHECK_EQ(code_of(bucketed(8, 20, true), bias(), 0, 0, 0, 3, 8), "ok");
  CHECK_EQ(code_of(bucketed(8, 20, true), bias(), 0, 0, 0, 3, 7), "tensor_invalid");
  CHECK_EQ(code_of(bucketed(8, 20, true), bias(), 0, 0, 0, 8, 3), "tensor_invalid");
  CHECK_EQ(code_of(distance_free(), vectors(true, true), 0, 0, 0, 0, 0), "config_invalid");
  CHECK_EQ(code_of(distance_free(), bias(), 0, 0, 0, 3, 0), "config_invalid");
  CHECK_EQ(code_of(labels(4), fixed_slope(), 0, 0, 0, 0, 0), "config_invalid");
}
