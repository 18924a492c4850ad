// Searches against Hugging Face's `generate`: ids, scores of beams, and the model's own scores.
#include <doctest/doctest.h>

#include <algorithm>
#include <cstdio>
#include <numeric>

#include "src/generate/session.hpp"
#include "tests/core/support.hpp"

using namespace relata;
using namespace relata::test;

namespace {

using Ids = std::vector<int>;

GenerateOptions read_options(const nlohmann::json& given) {
  GenerateOptions options;
  SearchOptions& search = options.search;
  for (const auto& [name, value] : given.items()) {
    if (name == "num_beams") {
      search.num_beams = value;
    } else if (name == "max_new_tokens") {
      options.max_new_tokens = value;
    } else if (name == "num_return_sequences") {
      search.num_return_sequences = value;
    } else if (name == "length_penalty") {
      search.length_penalty = value;
    } else if (name == "early_stopping") {
      search.early_stopping = value == true    ? EarlyStopping::yes
                              : value == false ? EarlyStopping::no
                                               : EarlyStopping::never;
    } else if (name == "repetition_penalty") {
      search.repetition_penalty = value;
    } else if (name == "no_repeat_ngram_size") {
      search.no_repeat_ngram_size = value;
    } else if (name == "min_new_tokens") {
      search.min_new_tokens = value;
    } else if (name == "bad_words_ids") {
      search.bad_words_ids = value.get<std::vector<Ids>>();
    } else if (name == "suppress_tokens") {
      search.suppress_tokens = value.get<Ids>();
    } else if (name == "begin_suppress_tokens") {
      search.begin_suppress_tokens = value.get<Ids>();
    } else if (name == "forced_bos_token_id") {
      search.forced_bos_token_id = value;
    } else if (name == "forced_eos_token_id") {
      search.forced_eos_token_ids = value.is_array() ? value.get<Ids>() : Ids{value.get<int>()};
    } else if (name == "eos") {
      options.stop_token_ids = value.get<Ids>();
    } else if (name == "allowed_sequences") {
      options.allowed_sequences = value.get<std::vector<Ids>>();
    } else {
      FAIL("unknown option " << name);
    }
  }
  return options;
}

}  // namespace

TEST_CASE("searches find what the reference finds" * doctest::test_suite("parity")) {
  const auto golden = read_json(golden_path("generation/search.json"));
  CHECK_GE(golden.at("cases").size(), 200);
  CHECK_GE(golden.at("beams_differ_from_greedy").get<int>(), 20);
  std::map<std::string, std::unique_ptr<const Model>> models;
  std::map<bool, std::pair<int, int>> same;  // with beams or not: texts whose ids are the same, all
  for (const auto& example : golden.at("cases")) {
    CAPTURE(example.dump());
    const std::string folder = example.at("folder");
    if (!models.contains(folder)) {
      models[folder] = load(read_folder(folder));
    }
    const auto sources = example.at("sources").get<std::vector<Ids>>();
    const Ids prefix = example.at("prefix");
    const GenerateOptions options = read_options(example.at("options"));
    std::vector<SessionInput> inputs;
    for (const Ids& source : sources) {
      inputs.push_back({source, {}, prefix});
    }
    auto session = Session::start(*models[folder], inputs, options);
    REQUIRE(session.ok());
    std::vector<Ids> streamed(sources.size());
    while (!session.value().done()) {
      const auto tokens = session.value().step();
      REQUIRE(tokens.ok());
      for (const GeneratedToken& token : tokens.value()) {
        Ids& stream = streamed[static_cast<std::size_t>(token.item)];
        CHECK_EQ(token.index, static_cast<int>(stream.size()));
        stream.push_back(token.token_id);
      }
    }
    for (std::size_t i = 0; i < sources.size(); ++i) {
      const int item = static_cast<int>(i);
      REQUIRE(session.value().error(item) == nullptr);
      const auto found = session.value().hypotheses(item);
      const auto& expected = example.at("results")[i];
      REQUIRE_EQ(found.size(), expected.size());
      CHECK_EQ(streamed[i], found[0].token_ids);
      auto& [identical, all] = same[options.search.num_beams > 1];
      identical += std::equal(found.begin(), found.end(), expected.begin(),
                              [](const Hypothesis& hypothesis, const nlohmann::json& oracle) {
                                return hypothesis.token_ids == oracle[0].get<Ids>();
                              });
      all += 1;
      for (std::size_t j = 0; j < found.size(); ++j) {
        CHECK_EQ(found[j].token_ids, expected[j][0].get<Ids>());
        REQUIRE_EQ(found[j].log_probabilities.size(), found[j].token_ids.size());
        const double own = std::accumulate(
            found[j].log_probabilities.begin() + static_cast<std::ptrdiff_t>(prefix.size()),
            found[j].log_probabilities.end(), 0.0);
        const auto close = [](double a, double b) {
          return std::abs(a - b) <= 1e-4 * std::max(1.0, std::abs(b));
        };
        CHECK(close(own, expected[j][2]));
        CHECK(close(found[j].score, expected[j][1].is_null() ? expected[j][2] : expected[j][1]));
        CHECK(found[j].finish_reason != FinishReason::none);
      }
    }
  }
  std::printf("generation: %d of %d texts have the reference's ids greedily, %d of %d by beams\n",
              same[false].first, same[false].second, same[true].first, same[true].second);
}
