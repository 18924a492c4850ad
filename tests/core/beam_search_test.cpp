// Beam search against worked scores and against every sequence there is.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <functional>

#include "src/generate/session.hpp"
#include "tests/core/random_model.hpp"
#include "tests/core/support.hpp"

using namespace relata;
using namespace relata::test;

namespace {

using Ids = std::vector<int>;

/// Log-probabilities [4] of what follows a sequence; any function will do.
std::vector<float> table(const Ids& before) {
  std::uint32_t state = 12345;
  for (const int id : before) {
    state = state * 1664525U + static_cast<std::uint32_t>(id) * 97U + 1013904223U;
  }
  std::vector<double> weights;
  double sum = 0;
  for (int i = 0; i < 4; ++i) {
    state = state * 1664525U + 1013904223U;
    weights.push_back(0.05 + (state >> 8) * 0x1p-24);
    sum += weights.back();
  }
  std::vector<float> result;
  for (const double weight : weights) {
    result.push_back(static_cast<float>(std::log(weight / sum)));
  }
  return result;
}

struct Scored {
  Ids ids;
  double score;
};

/// Every sequence over 0 .. 3 that ends with 0 or has four tokens, best first.
std::vector<Scored> every_sequence(const std::function<std::vector<float>(const Ids&)>& next,
                                   const std::function<double(double, int)>& normalise) {
  std::vector<Scored> all;
  const std::function<void(const Ids&, double)> extend = [&](const Ids& ids, double sum) {
    const std::vector<float> scores = next(ids);
    for (int id = 0; id < 4; ++id) {
      Ids longer = ids;
      longer.push_back(id);
      const double total = sum + scores[static_cast<std::size_t>(id)];
      if (id == 0 || longer.size() == 4) {
        all.push_back({longer, normalise(total, static_cast<int>(longer.size()))});
      } else {
        extend(longer, total);
      }
    }
  };
  extend({}, 0);
  std::sort(all.begin(), all.end(),
            [](const Scored& a, const Scored& b) { return a.score > b.score; });
  return all;
}

double normalised(const SearchOptions& search, double sum, int length) {
  return search.length_penalty_form == LengthPenaltyForm::power
             ? sum / std::pow(length, search.length_penalty)
             : sum / std::pow((5.0 + length) / 6.0, search.length_penalty);
}

SearchRules small_rules(int num_beams) {
  SearchRules rules;
  rules.vocab_size = 4;
  rules.max_new_tokens = 4;
  rules.eos_ids = {0};
  rules.search.num_beams = num_beams;
  rules.search.early_stopping = EarlyStopping::never;
  return rules;
}

std::vector<Hypothesis> run_beams(const SearchRules& rules) {
  BeamSearch search{Hypothesis{}};
  while (!search.done()) {
    BeamCandidates candidates(rules);
    for (std::size_t i = 0; i < search.running().size(); ++i) {
      const Hypothesis& beam = search.running()[i];
      const std::vector<float> scores = table(beam.token_ids);
      candidates.add(static_cast<int>(i), beam.score, scores, scores.data(), 0);
    }
    search.advance(rules, candidates);
  }
  return {search.finished().begin(), search.finished().end()};
}

}  // namespace

TEST_CASE("the length penalty counts a hypothesis's own tokens, the end counted") {
  // A: sum -1.2 over 3 tokens; B: sum -2.1 over 6.
  SearchOptions search;
  const auto score = [&](float exponent, float sum, int length) {
    search.length_penalty = exponent;
    return sum / length_penalty(search, length);
  };
  CHECK_GT(score(0, -1.2F, 3), score(0, -2.1F, 6));
  CHECK_EQ(score(0.6F, -1.2F, 3), doctest::Approx(-0.6207).epsilon(1e-4));
  CHECK_EQ(score(0.6F, -2.1F, 6), doctest::Approx(-0.7167).epsilon(1e-4));
  CHECK_EQ(score(1, -1.2F, 3), doctest::Approx(-0.40));
  CHECK_EQ(score(1, -2.1F, 6), doctest::Approx(-0.35));
  CHECK_LT(score(2, -1.2F, 3), score(2, -2.1F, 6));
  search.length_penalty_form = LengthPenaltyForm::gnmt;
  CHECK_GT(score(1, -1.2F, 3), score(1, -2.1F, 6));
  CHECK_EQ(score(2, -1.2F, 3), doctest::Approx(-0.6750).epsilon(1e-4));
  CHECK_EQ(score(2, -2.1F, 6), doctest::Approx(-0.6248).epsilon(1e-4));
}

TEST_CASE("enough beams find every sequence, in order") {
  for (const auto form : {LengthPenaltyForm::power, LengthPenaltyForm::gnmt}) {
    for (const float exponent : {0.0F, 0.6F, 1.0F, 2.0F}) {
      SearchRules rules = small_rules(256);
      rules.search.length_penalty_form = form;
      rules.search.length_penalty = exponent;
      const auto expected = every_sequence(
          table, [&](double sum, int length) { return normalised(rules.search, sum, length); });
      const auto found = run_beams(rules);
      REQUIRE_EQ(expected.size(), 1 + 3 + 9 + 27 * 4);
      REQUIRE_EQ(found.size(), expected.size());
      for (std::size_t i = 0; i < found.size(); ++i) {
        CHECK_EQ(found[i].token_ids, expected[i].ids);
        CHECK_EQ(found[i].score, doctest::Approx(expected[i].score).epsilon(1e-5));
        const bool ended = found[i].token_ids.back() == 0;
        CHECK(found[i].finish_reason == (ended ? FinishReason::eos : FinishReason::length));
      }
    }
  }
}

TEST_CASE("beams over a model of four tokens find the best of all sequences") {
  const auto model = RandomModel::make(tiny_config(4, 0, 4), 11, 1.2F);
  const Ids source = {1, 2, 3, 3, 1};
  const auto next = [&](const Ids& ids) {
    std::vector<float> scores;
    for (int id = 0; id < 4; ++id) {
      Ids target = ids;
      target.push_back(id);
      const auto forced = teacher_force(*model, source, target, {}, {});
      REQUIRE(forced.ok());
      scores.push_back(forced.value().log_probabilities.back());
    }
    return scores;
  };
  GenerateOptions options;
  options.decoder_start_token_id = 0;
  options.search.num_beams = 128;
  options.search.num_return_sequences = 128;
  options.search.early_stopping = EarlyStopping::never;
  for (const float exponent : {0.0F, 1.0F}) {
    options.search.length_penalty = exponent;
    const auto expected = every_sequence(
        next, [&](double sum, int length) { return normalised(options.search, sum, length); });
    auto session = Session::start(*model, source, {}, options);
    REQUIRE(session.ok());
    Ids streamed;
    while (!session.value().done()) {
      const auto tokens = session.value().step();
      REQUIRE(tokens.ok());
      for (const GeneratedToken& token : tokens.value()) {
        streamed.push_back(token.token_id);
      }
    }
    const auto found = session.value().hypotheses();
    REQUIRE_EQ(found.size(), expected.size());
    CHECK_EQ(streamed, found[0].token_ids);
    for (std::size_t i = 0; i < found.size(); ++i) {
      CHECK_EQ(found[i].score, doctest::Approx(expected[i].score).epsilon(1e-5));
      const double margin = i == 0 ? 1 : expected[i - 1].score - expected[i].score;
      if (margin > 1e-4 &&
          (i + 1 == found.size() || expected[i].score - expected[i + 1].score > 1e-4)) {
        CHECK_EQ(found[i].token_ids, expected[i].ids);
      }
    }
  }
}

TEST_CASE("early stopping decides whether a better late sequence is waited for") {
  // Two beams. 0 ends. Ending at once has probability 0.5 and, after a first 1, 0.35; the third
  // way, 2 then 2 then 2 ..., is less likely but long, which a length penalty of 2 rewards.
  const auto score = [](const Ids& ids) {
    const bool long_way = std::all_of(ids.begin(), ids.end(), [](int id) { return id == 2; });
    if (ids.empty()) {
      return std::vector<float>{std::log(0.5F), std::log(0.25F), std::log(0.2F), std::log(0.05F)};
    }
    return long_way
               ? std::vector<float>{std::log(0.02F), std::log(0.02F), std::log(0.94F),
                                    std::log(0.02F)}
               : std::vector<float>{std::log(0.7F), std::log(0.1F), std::log(0.1F), std::log(0.1F)};
  };
  const auto best = [&](EarlyStopping stopping, float penalty) {
    SearchRules rules = small_rules(2);
    rules.max_new_tokens = 12;
    rules.search.early_stopping = stopping;
    rules.search.length_penalty = penalty;
    BeamSearch search{Hypothesis{}};
    int steps = 0;
    while (!search.done()) {
      BeamCandidates candidates(rules);
      for (std::size_t i = 0; i < search.running().size(); ++i) {
        const auto scores = score(search.running()[i].token_ids);
        candidates.add(static_cast<int>(i), search.running()[i].score, scores, scores.data(), 0);
      }
      search.advance(rules, candidates);
      ++steps;
    }
    return std::make_pair(search.finished().front().token_ids, steps);
  };
  // Two have ended after two steps: yes stops there.
  CHECK_EQ(best(EarlyStopping::yes, 2), std::make_pair(Ids{1, 0}, 2));
  // no: at length 2 the running beam has ln(0.2 * 0.94) / 4 = -0.418 against the worst finished,
  // ln 0.5 / 1 = -0.693: it goes on, and the long way wins.
  CHECK_EQ(best(EarlyStopping::no, 2), std::make_pair(Ids(12, 2), 12));
  CHECK_EQ(best(EarlyStopping::never, 2), std::make_pair(Ids(12, 2), 12));
  // Without a length penalty neither waits: ln 0.188 = -1.67 is below ln 0.175 = -1.74? It is not,
  // so one more step is made: ln 0.177 = -1.73 still above, then ln 0.166 = -1.80 below.
  CHECK_EQ(best(EarlyStopping::no, 0), std::make_pair(Ids{0}, 4));
  CHECK_EQ(best(EarlyStopping::never, 0), std::make_pair(Ids{0}, 4));
}
