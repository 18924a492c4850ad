// Sampling: which tokens are left, how often each is drawn, and that a seed decides all of it.
#include <doctest/doctest.h>

#include <cmath>
#include <map>

#include "src/generate/sampler.hpp"
#include "src/generate/session.hpp"
#include "tests/core/random_model.hpp"
#include "tests/core/support.hpp"

using namespace relata;
using namespace relata::test;

namespace {

using Ids = std::vector<int>;

std::vector<Ids> generate(const Model& model, const Ids& source, const GenerateOptions& options) {
  auto session = Session::start(model, source, {}, options);
  REQUIRE(session.ok());
  while (!session.value().done()) {
    REQUIRE(session.value().step().ok());
  }
  std::vector<Ids> ids;
  for (const Hypothesis& hypothesis : session.value().hypotheses()) {
    ids.push_back(hypothesis.token_ids);
  }
  return ids;
}

}  // namespace

TEST_CASE("the generator gives the bits computed elsewhere") {
  // By a few lines of Python from the published description.
  const auto first = [](std::uint32_t seed, std::uint32_t stream) {
    Random random(seed, stream);
    std::vector<std::uint32_t> bits;
    for (int i = 0; i < 4; ++i) {
      bits.push_back(random.next());
    }
    return bits;
  };
  using Bits = std::vector<std::uint32_t>;
  CHECK_EQ(first(0, 0), Bits{1179900579U, 1938959192U, 3089844957U, 3657088315U});
  CHECK_EQ(first(1, 0), Bits{2146930148U, 2585199205U, 3670091704U, 2556029204U});
  CHECK_EQ(first(42, 3), Bits{2804824464U, 1075637121U, 3646762222U, 3415941027U});
  Random random(7, 0);
  for (int i = 0; i < 1000; ++i) {
    const double value = random.uniform();
    CHECK_GE(value, 0);
    CHECK_LT(value, 1);
  }
}

TEST_CASE("temperature, top-k, top-p, min-p and typical-p leave what the reference leaves") {
  const auto golden = read_json(golden_path("generation/sampling.json"));
  CHECK_GE(golden.at("cases").size(), 50);
  for (const auto& example : golden.at("cases")) {
    const auto& given = example.at("options");
    CAPTURE(given.dump());
    SearchOptions search;
    search.do_sample = true;
    search.temperature = given.value("temperature", 1.0F);
    search.top_k = given.value("top_k", 0);
    search.top_p = given.value("top_p", 1.0F);
    search.min_p = given.value("min_p", 0.0F);
    search.typical_p = given.value("typical_p", 1.0F);
    const auto logits = example.at("logits").get<std::vector<float>>();
    const auto candidates = sampling_candidates(search, logits);
    std::map<int, double> kept;
    double sum = 0;
    for (const Candidate& candidate : candidates) {
      kept[candidate.token_id] = std::exp(static_cast<double>(candidate.score));
      sum += kept[candidate.token_id];
    }
    const Ids expected = example.at("kept");
    REQUIRE_EQ(kept.size(), expected.size());
    for (std::size_t i = 0; i < expected.size(); ++i) {
      REQUIRE(kept.contains(expected[i]));
      CHECK_LE(std::abs(kept[expected[i]] / sum - example.at("probabilities")[i].get<double>()),
               1e-6);
    }
  }
}

TEST_CASE("ten thousand draws are distributed as the softmax") {
  std::vector<float> scores;
  for (int i = 0; i < 12; ++i) {
    scores.push_back(std::sin(static_cast<float>(i)) * 1.5F);
  }
  SearchOptions search;
  search.do_sample = true;
  const auto candidates = sampling_candidates(search, scores);
  REQUIRE_EQ(candidates.size(), 12);
  double sum = 0;
  for (const float score : scores) {
    sum += std::exp(static_cast<double>(score));
  }
  constexpr int kDraws = 10000;
  std::vector<int> counts(12, 0);
  Random random(2018, 0);
  for (int i = 0; i < kDraws; ++i) {
    counts[static_cast<std::size_t>(draw(candidates, random))] += 1;
  }
  double chi_square = 0;
  for (std::size_t i = 0; i < 12; ++i) {
    const double expected = kDraws * std::exp(static_cast<double>(scores[i])) / sum;
    chi_square += (counts[i] - expected) * (counts[i] - expected) / expected;
  }
  // 11 degrees of freedom: above 24.7 in one of a hundred seeds, above 31.3 in one of a thousand.
  CHECK_LT(chi_square, 24.7);
  CHECK_GT(chi_square, 1);
}

TEST_CASE("a seed decides a sample; without one the search is greedy") {
  const auto model = RandomModel::make(tiny_config(30, 0, 12), 4, 0.5F);
  const Ids source = {3, 7, 9, 12};
  GenerateOptions greedy;
  greedy.decoder_start_token_id = 1;
  GenerateOptions options = greedy;
  options.search.do_sample = true;
  options.seed = 5;
  const auto first = generate(*model, source, options);
  CHECK_EQ(generate(*model, source, options), first);
  options.seed = 6;
  CHECK_NE(generate(*model, source, options), first);

  // Several samples: the first is what one sample would be, the others differ.
  options.seed = 5;
  options.search.num_return_sequences = 4;
  const auto several = generate(*model, source, options);
  REQUIRE_EQ(several.size(), 4);
  CHECK_EQ(several[0], first[0]);
  CHECK_NE(several[1], several[0]);
  CHECK_NE(several[2], several[1]);

  options.search.num_return_sequences = 1;
  options.search.top_k = 1;
  for (std::uint32_t seed = 0; seed < 20; ++seed) {
    options.seed = seed;
    CHECK_EQ(generate(*model, source, options), generate(*model, source, greedy));
  }
}
