// What is done to scores before a token is chosen: worked cases.
#include <doctest/doctest.h>

#include <limits>

#include "src/generate/logits_processors.hpp"
#include "tests/core/support.hpp"

using namespace relata;

namespace {

constexpr float kBanned = -std::numeric_limits<float>::infinity();

/// The ids that are banned of `count` scores that all were 1.
template <class Process>
std::vector<int> banned(int count, Process process) {
  std::vector<float> scores(static_cast<std::size_t>(count), 1.0F);
  process(std::span<float>(scores));
  std::vector<int> ids;
  for (int id = 0; id < count; ++id) {
    if (scores[static_cast<std::size_t>(id)] == kBanned) {
      ids.push_back(id);
    }
  }
  return ids;
}

using Ids = std::vector<int>;

}  // namespace

TEST_CASE("a repetition penalty acts once per token and by the sign") {
  std::vector<float> scores = {2.0F, -1.0F, 0.5F};
  const Ids history = {0, 1, 1};
  penalise_repetition(history, 1.5F, scores);
  CHECK_EQ(scores[0], doctest::Approx(1.333333).epsilon(1e-6));
  CHECK_EQ(scores[1], -1.5F);
  CHECK_EQ(scores[2], 0.5F);
}

TEST_CASE("an n-gram that is there is not completed again") {
  const auto of = [](const Ids& history, int size) {
    return banned(8, [&](auto scores) { ban_repeated_ngrams(history, size, scores); });
  };
  CHECK_EQ(of({1, 2, 3, 1, 2}, 3), Ids{3});
  CHECK_EQ(of({1, 2, 3, 1, 2, 4, 1, 2}, 3), Ids{3, 4});
  CHECK_EQ(of({1, 2, 3, 2}, 3), Ids{});
  CHECK_EQ(of({1, 2, 3, 2}, 2), Ids{3});
  CHECK_EQ(of({5, 5, 5}, 2), Ids{5});
  CHECK_EQ(of({4, 6, 4}, 1), Ids{4, 6});
  CHECK_EQ(of({1}, 3), Ids{});
  CHECK_EQ(of({1, 2}, 3), Ids{});
}

TEST_CASE("words are banned by their last token, where the rest stands already") {
  const auto of = [](const Ids& history, const std::vector<Ids>& words) {
    return banned(8, [&](auto scores) { ban_words(history, words, scores); });
  };
  CHECK_EQ(of({0, 1, 2}, {{5}, {1, 2, 6}, {1, 3}, {2, 2, 7}, {2, 4}}), Ids{4, 5, 6});
  CHECK_EQ(of({2}, {{1, 2, 6}}), Ids{});
}

TEST_CASE("a trie allows what continues its sequences, and the end where one is complete") {
  SearchRules rules;
  rules.vocab_size = 8;
  rules.max_new_tokens = 9;
  rules.eos_ids = {1};
  for (const Ids& sequence : {Ids{3, 4}, Ids{3, 5, 6}, Ids{3}, Ids{7, 7}}) {
    rules.trie.add(sequence);
  }
  const auto free = [&](const Ids& history, int num_new) {
    const Ids out =
        banned(8, [&](auto scores) { process_scores(rules, {history, num_new}, scores); });
    Ids left;
    for (int id = 0; id < 8; ++id) {
      if (std::find(out.begin(), out.end(), id) == out.end()) {
        left.push_back(id);
      }
    }
    return left;
  };
  CHECK_EQ(free({0}, 0), Ids{3, 7});
  CHECK_EQ(free({0, 3}, 1), Ids{1, 4, 5});
  CHECK_EQ(free({0, 3, 5}, 2), Ids{6});
  CHECK_EQ(free({0, 3, 5, 6}, 3), Ids{1});
  CHECK_EQ(free({0, 6}, 1), Ids{});
  CHECK_EQ(free({0, 6, 7}, 1), Ids{7});  // behind a target prefix
  rules.search.forced_bos_token_id = 2;
  CHECK_EQ(free({0}, 0), Ids{2});
  CHECK_EQ(free({0, 2}, 1), Ids{3, 7});  // behind the forced first token
  CHECK_EQ(free({0, 6, 7}, 1), Ids{7});  // a prefix leaves no room for it
}

TEST_CASE("ends wait for the minimum, and come at full length where forced") {
  SearchRules rules;
  rules.vocab_size = 6;
  rules.max_new_tokens = 4;
  rules.eos_ids = {1};
  rules.stop_ids = {4};
  rules.search.min_new_tokens = 2;
  rules.search.forced_eos_token_ids = {1, 3};
  rules.search.begin_suppress_tokens = {5};
  const auto of = [&](const Ids& history, int num_new) {
    return banned(6, [&](auto scores) { process_scores(rules, {history, num_new}, scores); });
  };
  CHECK_EQ(of({0}, 0), Ids{1, 4, 5});
  CHECK_EQ(of({0, 2, 2}, 0), Ids{1, 4, 5});
  CHECK_EQ(of({0, 2}, 1), Ids{1, 4});
  CHECK_EQ(of({0, 2, 2}, 2), Ids{});
  CHECK_EQ(of({0, 2, 2, 2}, 3), Ids{0, 2, 4, 5});
}

TEST_CASE("a loop is a group of tokens more often in a row than allowed") {
  const auto loops = [](const Ids& ids, int length, int repeats) {
    return ends_in_loop(ids, length, repeats);
  };
  CHECK(loops({9, 4, 4, 4}, 1, 2));
  CHECK_FALSE(loops({9, 4, 4, 4}, 1, 3));
  CHECK_FALSE(loops({4, 4, 4, 9}, 1, 2));
  CHECK(loops({1, 2, 1, 2, 1, 2}, 2, 2));
  CHECK_FALSE(loops({1, 2, 1, 2, 1, 2}, 1, 2));
  CHECK_FALSE(loops({3, 2, 1, 2, 1, 2}, 2, 2));
  CHECK(loops({7, 1, 2, 3, 1, 2, 3}, 8, 1));
  CHECK_FALSE(loops({}, 8, 1));
}

TEST_CASE("what the model's own configuration forbids is found in the options") {
  Config config;
  config.vocab_size = 10;
  config.eos_token_ids = {1};
  config.max_new_tokens = 20;
  const auto where = [&](auto change) {
    GenerateOptions options;
    change(options);
    const auto checked = check(config, options);
    return checked.ok() ? std::string("ok") : checked.error().where;
  };
  CHECK_EQ(where([](auto&) {}), "ok");
  CHECK_EQ(where([](auto& o) { o.search.num_beams = 0; }), "num_beams");
  CHECK_EQ(where([](auto& o) { o.search.num_beams = 257; }), "num_beams");
  CHECK_EQ(where([](auto& o) {
             o.search.num_beams = 2;
             o.search.do_sample = true;
           }),
           "num_beams");
  CHECK_EQ(where([](auto& o) { o.search.num_return_sequences = 2; }), "num_return_sequences");
  CHECK_EQ(where([](auto& o) {
             o.search.num_return_sequences = 2;
             o.search.do_sample = true;
           }),
           "ok");
  CHECK_EQ(where([](auto& o) { o.search.length_penalty = std::nanf(""); }), "length_penalty");
  CHECK_EQ(where([](auto& o) { o.search.repetition_penalty = 0; }), "repetition_penalty");
  CHECK_EQ(where([](auto& o) { o.search.no_repeat_ngram_size = -1; }), "no_repeat_ngram_size");
  CHECK_EQ(where([](auto& o) { o.search.min_new_tokens = 20; }), "ok");
  CHECK_EQ(where([](auto& o) { o.search.min_new_tokens = 21; }), "min_new_tokens");
  CHECK_EQ(where([](auto& o) {
             o.max_new_tokens = 3;
             o.search.min_new_tokens = 4;
           }),
           "min_new_tokens");
  CHECK_EQ(where([](auto& o) { o.search.bad_words_ids = {{2}, {}}; }), "bad_words_ids");
  CHECK_EQ(where([](auto& o) { o.search.bad_words_ids = {{2, 10}}; }), "bad_words_ids");
  CHECK_EQ(where([](auto& o) { o.search.suppress_tokens = {-1}; }), "suppress_tokens");
  CHECK_EQ(where([](auto& o) { o.search.begin_suppress_tokens = {10}; }), "begin_suppress_tokens");
  CHECK_EQ(where([](auto& o) { o.search.forced_bos_token_id = 10; }), "forced_bos_token_id");
  CHECK_EQ(where([](auto& o) { o.search.forced_eos_token_ids = {1, 10}; }), "forced_eos_token_id");
  CHECK_EQ(where([](auto& o) { o.search.temperature = 0; }), "temperature");
  CHECK_EQ(where([](auto& o) { o.search.top_k = -1; }), "top_k");
  CHECK_EQ(where([](auto& o) { o.search.top_p = 0; }), "top_p");
  CHECK_EQ(where([](auto& o) { o.search.min_p = 1.5F; }), "min_p");
  CHECK_EQ(where([](auto& o) { o.search.min_p = 0; }), "ok");
  CHECK_EQ(where([](auto& o) { o.search.typical_p = 2; }), "typical_p");
  CHECK_EQ(where([](auto& o) { o.decoder_start_token_id = 10; }), "decoder_start_token_id");
  CHECK_EQ(where([](auto& o) { o.stop_token_ids = {10}; }), "stop_token_ids");
  CHECK_EQ(where([](auto& o) { o.max_repeats = -1; }), "max_repeats");
  CHECK_EQ(where([](auto& o) { o.max_repeat_ngram = 0; }), "max_repeat_ngram");
  CHECK_EQ(where([](auto& o) { o.allowed_sequences = {{}}; }), "allowed_sequences");
  CHECK_EQ(where([](auto& o) { o.batch_size = -1; }), "batch_size");
  CHECK_EQ(where([](auto& o) { o.max_new_tokens = -1; }), "max_new_tokens");
}
