// From distances to relation ids: worked numbers, every bucket against Hugging Face's own function,
// every index.
#include <doctest/doctest.h>

#include <climits>

#include "src/relation/relation_index.hpp"
#include "tests/core/support.hpp"

using namespace relata;
using namespace relata::test;

namespace {

RelationIndex make(const RelationIndexConfig& config) {
  auto index = RelationIndex::make(config);
  REQUIRE(index.ok());
  return index.value();
}

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

void check_matrix(const RelationIndex& index, const std::vector<std::vector<int>>& ids) {
  for (std::size_t i = 0; i < ids.size(); ++i) {
    for (std::size_t j = 0; j < ids.size(); ++j) {
      CHECK_EQ(index.id(static_cast<int>(j) - static_cast<int>(i)), ids[i][j]);
    }
  }
}

}  // namespace

TEST_CASE("clipped distances of five tokens, clip 2") {
  const auto index = make(clipped(2, 2));
  CHECK_EQ(index.num_relations(), 5);
  check_matrix(
      index, {{2, 3, 4, 4, 4}, {1, 2, 3, 4, 4}, {0, 1, 2, 3, 4}, {0, 0, 1, 2, 3}, {0, 0, 0, 1, 2}});
}

TEST_CASE("clipped distances equal the golden matrices") {
  const auto golden = read_json(golden_path("tables/shaw_indices.json"));
  CHECK_EQ(golden.at("tables").size(), 4);
  for (const auto& table : golden.at("tables")) {
    const auto index = make(clipped(table.at("left"), table.at("right")));
    check_matrix(index, table.at("ids"));
  }
}

TEST_CASE("T5 buckets, worked numbers") {
  const std::vector<std::pair<int, int>> two_sided = {
      {7, 7},   {8, 8},   {11, 8},  {12, 9},  {16, 10}, {22, 10},  {23, 11},
      {32, 12}, {46, 13}, {64, 14}, {90, 14}, {91, 15}, {1000, 15}};
  for (const auto& [apart, id] : two_sided) {
    CHECK_EQ(t5_bucket(-apart, 32, 128, true), id);
    CHECK_EQ(t5_bucket(apart, 32, 128, true), id + 16);
  }
  CHECK_EQ(t5_bucket(0, 32, 128, true), 0);
  const std::vector<std::pair<int, int>> one_sided = {{0, 0},    {15, 15},  {16, 16}, {18, 16},
                                                      {19, 17},  {31, 21},  {64, 26}, {112, 30},
                                                      {113, 31}, {1000, 31}};
  for (const auto& [apart, id] : one_sided) {
    CHECK_EQ(t5_bucket(-apart, 32, 128, false), id);
    CHECK_EQ(t5_bucket(apart, 32, 128, false), 0);
  }
}

TEST_CASE("every T5 bucket from -1000 to 1000 equals the golden tables") {
  const auto golden = read_json(golden_path("tables/t5_buckets.json"));
  CHECK_EQ(golden.at("tables").size(), 6);
  const int farthest = golden.at("farthest");
  CHECK_EQ(farthest, 1000);
  for (const auto& table : golden.at("tables")) {
    const int num_buckets = table.at("num_buckets"), max_distance = table.at("max_distance");
    const bool bidirectional = table.at("bidirectional");
    const std::vector<std::pair<int, int>> runs = table.at("runs");
    const auto index = make(bucketed(num_buckets, max_distance, bidirectional));
    CHECK_EQ(index.num_relations(), num_buckets);
    REQUIRE_EQ(runs.front().first, -farthest);
    for (std::size_t run = 0; run < runs.size(); ++run) {
      const auto [first, id] = runs[run];
      const int end = run + 1 < runs.size() ? runs[run + 1].first : farthest + 1;
      REQUIRE_LT(first, end);
      for (int distance = first; distance < end; ++distance) {
        CAPTURE(num_buckets);
        CAPTURE(distance);
        CHECK_EQ(t5_bucket(distance, num_buckets, max_distance, bidirectional), id);
        CHECK_EQ(index.id(distance), id);
      }
    }
  }
}

TEST_CASE("runs, table and id say the same of every distance, and the ends hold for all beyond") {
  for (const auto& config :
       {clipped(2, 2), clipped(0, 0), clipped(3, 0), clipped(0, 4), bucketed(32, 128, true),
        bucketed(32, 128, false), bucketed(7, 50, true), bucketed(4, 2, true)}) {
    const auto index = make(config);
    std::size_t run = 0;
    for (int distance = -300; distance <= 300; ++distance) {
      while (distance > index.runs()[run].last_distance) {
        run += 1;
      }
      CHECK_EQ(index.runs()[run].id, index.id(distance));
      CHECK_LT(index.id(distance), index.num_relations());
      CHECK_GE(index.id(distance), 0);
    }
    CHECK_EQ(index.id(INT_MIN), index.ids().front());
    CHECK_EQ(index.id(-1000000), index.ids().front());
    CHECK_EQ(index.id(INT_MAX), index.ids().back());
    CHECK_EQ(index.runs().back().last_distance, INT_MAX);
    CHECK_EQ(index.id(index.first_distance()), index.ids().front());
    CHECK_EQ(index.id(index.last_distance()), index.ids().back());
  }
}

TEST_CASE("an index out of its limits is refused with the field's name") {
  for (const auto& config :
       {clipped(-1, 2), clipped(2, -1), clipped(2000000000, 2000000000), bucketed(0, 128, true),
        bucketed(3, 128, true), bucketed(1, 128, false), bucketed(32, 8, true),
        bucketed(32, 16, false), bucketed(-32, 128, true), bucketed(2000000000, 2100000000, false),
        bucketed(32, 2000000000, true), labels(0), labels(-1), labels(2000000000)}) {
    const auto index = RelationIndex::make(config);
    REQUIRE_FALSE(index.ok());
    CHECK(index.error().code == ErrorCode::config_invalid);
    CHECK(index.error().where.rfind("relation.index.", 0) == 0);
  }
}
