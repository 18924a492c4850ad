// The options of a search as generation_config.json and config.json give them.
#include <doctest/doctest.h>

#include "tests/core/support.hpp"

using namespace relata;
using namespace relata::test;

namespace {

/// Loads the tiny T5 with fields added to its generation_config.json, or to config.json.
Result<std::unique_ptr<const Model>> load_with(const char* generation, const char* config = "{}") {
  FolderFiles files = read_folder("t5-gated-untied");
  auto fields = nlohmann::json::parse(files.generation_config);
  fields.update(nlohmann::json::parse(generation));
  files.generation_config = fields.dump();
  files.edit_config([&](nlohmann::json& all) { all.update(nlohmann::json::parse(config)); });
  return try_load(files);
}

std::string refusal(const char* generation) {
  const auto model = load_with(generation);
  return model.ok() ? "ok" : std::string(to_string(model.error().code)) + " " + model.error().where;
}

}  // namespace

TEST_CASE("a model brings its own options of the search") {
  const auto model = load_with(R"({
      "num_beams": 4, "num_return_sequences": 2, "length_penalty": 0.6, "early_stopping": "never",
      "min_new_tokens": 3, "max_new_tokens": 11, "repetition_penalty": 1.25,
      "no_repeat_ngram_size": 3, "bad_words_ids": [[5], [6, 7]], "suppress_tokens": [8, 9],
      "begin_suppress_tokens": [10], "forced_bos_token_id": 11, "forced_eos_token_id": 2,
      "do_sample": true, "temperature": 0.5, "top_k": 7, "top_p": 0.75, "min_p": 0.125,
      "typical_p": 0.5})");
  REQUIRE(model.ok());
  const Config& config = model.value()->config;
  const SearchOptions& search = config.search;
  CHECK_EQ(config.max_new_tokens, 11);
  CHECK_EQ(search.num_beams, 4);
  CHECK_EQ(search.num_return_sequences, 2);
  CHECK_EQ(search.length_penalty, 0.6F);
  CHECK(search.early_stopping == EarlyStopping::never);
  CHECK_EQ(search.min_new_tokens, 3);
  CHECK_EQ(search.repetition_penalty, 1.25F);
  CHECK_EQ(search.no_repeat_ngram_size, 3);
  CHECK_EQ(search.bad_words_ids, std::vector<std::vector<int>>{{5}, {6, 7}});
  CHECK_EQ(search.suppress_tokens, std::vector<int>{8, 9});
  CHECK_EQ(search.begin_suppress_tokens, std::vector<int>{10});
  CHECK_EQ(search.forced_bos_token_id, 11);
  CHECK_EQ(search.forced_eos_token_ids, std::vector<int>{2});
  CHECK(search.do_sample);
  CHECK_EQ(search.temperature, 0.5F);
  CHECK_EQ(search.top_k, 7);
  CHECK_EQ(search.top_p, 0.75F);
  CHECK_EQ(search.min_p, 0.125F);
  CHECK_EQ(search.typical_p, 0.5F);
}

TEST_CASE("the generation config goes before the config; lengths with the start token give way") {
  const auto both =
      load_with(R"({"num_beams": 3})", R"({"num_beams": 5, "forced_bos_token_id": 7})");
  REQUIRE(both.ok());
  CHECK_EQ(both.value()->config.search.num_beams, 3);
  CHECK_EQ(both.value()->config.search.forced_bos_token_id, 7);

  const auto newer = load_with(R"({"max_length": 9, "min_length": 4})");  // max_new_tokens is 40
  REQUIRE(newer.ok());
  CHECK_EQ(newer.value()->config.max_new_tokens, 40);
  CHECK_EQ(newer.value()->config.search.min_new_tokens, 3);
  const auto older = load_with(R"({"max_length": 9, "max_new_tokens": null})");
  REQUIRE(older.ok());
  CHECK_EQ(older.value()->config.max_new_tokens, 8);
}

TEST_CASE("an option that is not there is refused, unless it changes nothing") {
  CHECK_EQ(refusal(R"({"num_beam_groups": 1, "diversity_penalty": 0.0, "guidance_scale": null})"),
           "ok");
  CHECK_EQ(refusal(R"({"num_beam_groups": 2})"),
           "unsupported generation_config.json: num_beam_groups");
  CHECK_EQ(refusal(R"({"encoder_no_repeat_ngram_size": 3})"),
           "unsupported generation_config.json: encoder_no_repeat_ngram_size");
  CHECK_EQ(refusal(R"({"force_words_ids": [[4]]})"),
           "unsupported generation_config.json: force_words_ids");
  CHECK_EQ(refusal(R"({"num_beams": 0})"), "config_invalid generation_config.json: num_beams");
  CHECK_EQ(refusal(R"({"early_stopping": "often"})"),
           "config_invalid generation_config.json: early_stopping");
  CHECK_EQ(refusal(R"({"bad_words_ids": [[40]]})"),
           "config_invalid generation_config.json: bad_words_ids");
  CHECK_EQ(refusal(R"({"bad_words_ids": [4]})"),
           "config_invalid generation_config.json: bad_words_ids");
  CHECK_EQ(refusal(R"({"suppress_tokens": [-1]})"),
           "config_invalid generation_config.json: suppress_tokens");
  CHECK_EQ(refusal(R"({"top_p": 1.5})"), "config_invalid generation_config.json: top_p");
}
