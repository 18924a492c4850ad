// Many texts in one session: each as alone, whatever its neighbours, its failures its own.
#include <doctest/doctest.h>

#include <algorithm>
#include <numeric>

#include "src/generate/session.hpp"
#include "tests/core/random_model.hpp"
#include "tests/core/support.hpp"

using namespace relata;
using namespace relata::test;

namespace {

using Ids = std::vector<int>;

std::vector<Ids> random_sources(std::mt19937& random, int count, int vocab_size) {
  std::vector<Ids> sources(static_cast<std::size_t>(count));
  for (Ids& source : sources) {
    const int length = 1 + random_int(random, 40);
    for (int i = 0; i < length; ++i) {
      source.push_back(random_int(random, vocab_size));
    }
  }
  return sources;
}

std::vector<SessionInput> inputs_of(const std::vector<Ids>& sources) {
  std::vector<SessionInput> inputs;
  for (const Ids& source : sources) {
    inputs.push_back({source});
  }
  return inputs;
}

/// Runs to the end; the tokens streamed for each text.
std::vector<Ids> drain(Session& session) {
  std::vector<Ids> streamed(static_cast<std::size_t>(session.num_items()));
  while (!session.done()) {
    const auto tokens = session.step();
    REQUIRE(tokens.ok());
    for (const GeneratedToken& token : tokens.value()) {
      streamed[static_cast<std::size_t>(token.item)].push_back(token.token_id);
    }
  }
  return streamed;
}

Session start(const Model& model, const std::vector<SessionInput>& inputs,
              const GenerateOptions& options) {
  auto session = Session::start(model, inputs, options);
  REQUIRE(session.ok());
  return std::move(session.value());
}

void check_same(std::span<const Hypothesis> a, std::span<const Hypothesis> b) {
  REQUIRE_EQ(a.size(), b.size());
  for (std::size_t i = 0; i < a.size(); ++i) {
    CHECK_EQ(a[i].token_ids, b[i].token_ids);
    CHECK_EQ(a[i].log_probabilities, b[i].log_probabilities);
    CHECK_EQ(a[i].score, b[i].score);
    CHECK(a[i].finish_reason == b[i].finish_reason);
  }
}

std::vector<std::pair<std::string, GenerateOptions>> searches() {
  GenerateOptions greedy, beams, sampling, penalised;
  beams.search.num_beams = 4;
  beams.search.num_return_sequences = 3;
  sampling.search.do_sample = true;
  sampling.search.num_return_sequences = 2;
  sampling.search.top_p = 0.9F;
  sampling.seed = 9;
  penalised.search.num_beams = 3;
  penalised.search.no_repeat_ngram_size = 2;
  penalised.search.repetition_penalty = 1.2F;
  penalised.search.length_penalty = 2;
  return {{"greedy", greedy}, {"beams", beams}, {"sampling", sampling}, {"penalised", penalised}};
}

const Model& tiny() {
  static const auto model = RandomModel::make(tiny_config(30, 1, 14), 21, 0.6F);
  return *model;
}

}  // namespace

TEST_CASE("every text of a batch is generated as it is alone") {
  std::mt19937 random(8);
  const auto sources = random_sources(random, 23, 30);
  for (auto& [name, options] : searches()) {
    CAPTURE(name);
    std::vector<Session> alone;
    for (const Ids& source : sources) {
      alone.push_back(start(tiny(), {{source}}, options));
      drain(alone.back());
    }
    std::vector<std::size_t> order(sources.size());
    std::iota(order.begin(), order.end(), 0);
    for (const int batch_size : {0, 1, 5, 64}) {
      options.batch_size = batch_size;
      std::vector<SessionInput> inputs;
      for (const std::size_t at : order) {
        inputs.push_back({sources[at]});
      }
      Session together = start(tiny(), inputs, options);
      const auto streamed = drain(together);
      for (std::size_t i = 0; i < order.size(); ++i) {
        const int item = static_cast<int>(i);
        check_same(together.hypotheses(item), alone[order[i]].hypotheses());
        CHECK_EQ(streamed[i], together.hypotheses(item)[0].token_ids);
        CHECK_EQ(together.encoder_runs(item), 1);
      }
      std::shuffle(order.begin(), order.end(), random);
    }
  }
}

TEST_CASE("a text that cannot be taken fails alone") {
  const Ids good = {3, 4, 5}, bad = {3, 30}, empty;
  const auto session_of = [&](const std::vector<SessionInput>& inputs) {
    return start(tiny(), inputs, {});
  };
  Session alone = session_of({{good}});
  drain(alone);
  const std::vector<int> labels(9, 0);
  Session mixed = session_of(
      {{good}, {bad}, {empty}, {good, {labels.data(), 3, 3, 3}}, {good, {}, bad}, {good}});
  drain(mixed);
  for (const int item : {0, 5}) {
    CHECK(mixed.error(item) == nullptr);
    check_same(mixed.hypotheses(item), alone.hypotheses());
  }
  for (const int item : {1, 2, 3, 4}) {
    REQUIRE(mixed.error(item) != nullptr);
    CHECK(mixed.error(item)->code == ErrorCode::input_invalid);
    CHECK(mixed.hypotheses(item).empty());
    CHECK(mixed.finish_reason(item) == FinishReason::none);
    CHECK_EQ(mixed.encoder_runs(item), 0);
  }
  Session none = session_of({});
  CHECK(none.done());
  CHECK(session_of({{bad}}).done());
}

TEST_CASE("a target prefix read at once is a target prefix read token by token") {
  // Greedy continues its own beginning as before, wherever the beginning is cut.
  Session whole = start(tiny(), {{Ids{5, 6, 7, 8}}}, {});
  drain(whole);
  const Ids ids = whole.hypotheses()[0].token_ids;
  REQUIRE_GE(ids.size(), 4);
  for (std::size_t cut = 0; cut + 1 < ids.size(); ++cut) {
    const Ids source = {5, 6, 7, 8};
    const Ids prefix(ids.begin(), ids.begin() + static_cast<std::ptrdiff_t>(cut));
    GenerateOptions options;
    options.max_new_tokens = static_cast<int>(ids.size() - cut);
    Session session = start(tiny(), {{source, {}, prefix}}, options);
    const auto streamed = drain(session);
    CHECK_EQ(streamed[0], ids);
    CHECK_EQ(session.hypotheses()[0].token_ids, ids);
    CHECK_EQ(session.hypotheses()[0].log_probabilities, whole.hypotheses()[0].log_probabilities);
  }
  // Long ones in a batch, with beams.
  std::mt19937 random(2);
  const auto sources = random_sources(random, 5, 30);
  const auto prefixes = random_sources(random, 5, 30);
  GenerateOptions options;
  options.search.num_beams = 3;
  std::vector<SessionInput> inputs;
  for (std::size_t i = 0; i < 5; ++i) {
    inputs.push_back({sources[i], {}, prefixes[i]});
  }
  Session together = start(tiny(), inputs, options);
  drain(together);
  for (std::size_t i = 0; i < 5; ++i) {
    Session alone = start(tiny(), {inputs[i]}, options);
    drain(alone);
    check_same(together.hypotheses(static_cast<int>(i)), alone.hypotheses());
    const auto forced = teacher_force(tiny(), sources[i], alone.hypotheses()[0].token_ids, {}, {});
    REQUIRE(forced.ok());
    CHECK_EQ(forced.value().log_probabilities, alone.hypotheses()[0].log_probabilities);
  }
}

TEST_CASE("the trace of a finished search is that of a pass over its first result") {
  const Ids source = {3, 9, 2, 7, 7, 4, 1};
  for (auto& [name, options] : searches()) {
    CAPTURE(name);
    options.max_new_tokens = 5;
    options.trace.kinds = {AttentionKind::encoder_self, AttentionKind::decoder_self,
                           AttentionKind::cross};
    Session session = start(tiny(), {{Ids{2, 2}}, {source}}, options);
    drain(session);
    GenerateOptions untraced = options;
    untraced.trace = {};
    Session plain = start(tiny(), {{source}}, untraced);
    drain(plain);
    check_same(session.hypotheses(1), plain.hypotheses());
    CHECK(plain.trace().empty());
    const Ids& ids = session.hypotheses(1)[0].token_ids;
    const auto forced = teacher_force(tiny(), source, ids, {}, options.trace);
    REQUIRE(forced.ok());
    const auto expected = forced.value().trace.heads();
    const auto heads = session.trace(1).heads();
    REQUIRE_EQ(heads.size(), expected.size());
    REQUIRE_EQ(heads.size(), 18);
    for (std::size_t i = 0; i < heads.size(); ++i) {
      const bool encodes = heads[i].kind == AttentionKind::encoder_self;
      const int queries = encodes ? 7 : static_cast<int>(ids.size());
      const int keys = heads[i].kind == AttentionKind::decoder_self ? queries : 7;
      CHECK_EQ(heads[i].num_queries, queries);
      for (int query = 0; query < queries; ++query) {
        double sum = 0;
        for (int key = 0; key < keys; ++key) {
          const float weight = heads[i].weights.view().row(query)[key];
          CHECK_EQ(weight, expected[i].weights.view().row(query)[key]);
          sum += weight;
        }
        CHECK_EQ(sum, doctest::Approx(1).epsilon(1e-5));
      }
    }
  }
}

TEST_CASE("the caller's allowed tokens hold for every hypothesis") {
  const std::vector<Ids> sources = {{3, 4}, {5, 6, 7}, {8}};
  const std::vector<Ids> strings = {{4, 7, 9}, {4, 8}, {12, 4, 4, 4}, {20}};
  for (const int num_beams : {1, 4}) {
    GenerateOptions by_hand;
    by_hand.search.num_beams = num_beams;
    by_hand.search.num_return_sequences = num_beams;
    GenerateOptions by_trie = by_hand;
    by_hand.constrained = true;
    by_trie.allowed_sequences = strings;
    Session expected = start(tiny(), inputs_of(sources), by_trie);
    drain(expected);
    Session session = start(tiny(), inputs_of(sources), by_hand);
    CHECK_FALSE(session.step().ok());  // nothing has been allowed yet
    while (!session.done()) {
      int open = 0;
      for (const OpenPrefix& prefix : session.open_prefixes()) {
        Ids allowed;
        for (const Ids& string : strings) {
          const Ids path(prefix.token_ids.begin(), prefix.token_ids.end());
          if (string == path) {
            allowed.push_back(1);
          } else if (string.size() > path.size() &&
                     std::equal(path.begin(), path.end(), string.begin())) {
            allowed.push_back(string[path.size()]);
          }
        }
        REQUIRE(session.allow(open++, allowed).ok());
      }
      CHECK_FALSE(session.allow(open, Ids{1}).ok());
      CHECK_FALSE(session.allow(0, Ids{30}).ok());
      REQUIRE(session.step().ok());
    }
    for (int item = 0; item < 3; ++item) {
      REQUIRE(expected.error(item) == nullptr);
      check_same(session.hypotheses(item), expected.hypotheses(item));
      for (const Hypothesis& hypothesis : session.hypotheses(item)) {
        Ids ids = hypothesis.token_ids;
        CHECK_EQ(ids.back(), 1);
        ids.pop_back();
        CHECK(std::find(strings.begin(), strings.end(), ids) != strings.end());
      }
    }
  }
  // Nothing allowed: that text fails, the other goes on.
  GenerateOptions options;
  options.constrained = true;
  options.max_new_tokens = 2;
  Session session = start(tiny(), {{sources[0]}, {sources[1]}}, options);
  REQUIRE(session.allow(0, {}).ok());
  REQUIRE(session.allow(1, Ids{6}).ok());
  REQUIRE(session.step().ok());
  REQUIRE(session.error(0) != nullptr);
  CHECK(session.error(0)->code == ErrorCode::option_invalid);
  REQUIRE_EQ(session.open_prefixes().size(), 1);
  CHECK_EQ(session.open_prefixes()[0].item, 1);
}

TEST_CASE("a result says why it ended") {
  const Ids source = {5, 6, 7, 8};
  Session free = start(tiny(), {{source}}, {});
  drain(free);
  const Ids ids = free.hypotheses()[0].token_ids;
  REQUIRE_GE(ids.size(), 3);

  GenerateOptions options;
  options.stop_token_ids = {ids[2]};
  Session by_token = start(tiny(), {{source}}, options);
  drain(by_token);
  const auto place = std::find(ids.begin(), ids.end(), ids[2]);
  CHECK_EQ(by_token.hypotheses()[0].token_ids, Ids(ids.begin(), place + 1));
  CHECK(by_token.finish_reason() == FinishReason::stop_token);

  options = {};
  options.max_new_tokens = 2;
  Session by_length = start(tiny(), {{source}}, options);
  drain(by_length);
  CHECK(by_length.finish_reason() == FinishReason::length);

  // Nothing but 9 9 9 ... is allowed.
  options = {};
  options.max_repeats = 3;
  options.allowed_sequences = {Ids(20, 9)};
  for (const int num_beams : {1, 2}) {
    options.search.num_beams = num_beams;
    Session looping = start(tiny(), {{source}}, options);
    drain(looping);
    CHECK_EQ(looping.hypotheses()[0].token_ids, Ids(4, 9));
    CHECK(looping.finish_reason() == FinishReason::loop);
  }

  Session stopped = start(tiny(), {{source}, {source}}, {});
  REQUIRE(stopped.step().ok());
  REQUIRE(stopped.step().ok());
  REQUIRE(stopped.stop(0).ok());
  CHECK(stopped.finish_reason(0) == FinishReason::stopped);
  CHECK_EQ(stopped.hypotheses(0)[0].token_ids, Ids(ids.begin(), ids.begin() + 2));
  CHECK_FALSE(stopped.stop(0).ok());
  drain(stopped);
  CHECK_EQ(stopped.hypotheses(1)[0].token_ids, ids);
}
