// Generation and scoring against the golden ids and logits, finish reasons, and every refusal.
#include "src/generate/session.hpp"

#include <doctest/doctest.h>

#include <algorithm>

#include "src/model/encoder.hpp"
#include "tests/core/support.hpp"

using namespace relata;
using namespace relata::test;

namespace {

/// Natural logarithms of the softmax of one row, in double precision.
double log_softmax(const float* logits, int count, int id) {
  double largest = logits[0], sum = 0;
  for (int i = 0; i < count; ++i) {
    largest = std::max(largest, static_cast<double>(logits[i]));
  }
  for (int i = 0; i < count; ++i) {
    sum += std::exp(logits[i] - largest);
  }
  return logits[id] - largest - std::log(sum);
}

std::vector<int> up_to_end(const std::vector<int>& ids, const std::vector<int>& ends) {
  const auto end = std::find_first_of(ids.begin(), ids.end(), ends.begin(), ends.end());
  return {ids.begin(), end == ids.end() ? end : end + 1};
}

GenerateOptions options_for(int max_new_tokens, const TraceRequest& trace = {}) {
  GenerateOptions options;
  options.max_new_tokens = max_new_tokens;
  options.trace = trace;
  return options;
}

template <class T>
std::string code_of(const Result<T>& result) {
  return result.ok() ? "ok" : to_string(result.error().code);
}

}  // namespace

TEST_CASE("sessions generate the golden ids up to the end token") {
  int ended = 0, ran_out = 0;
  for (const std::string folder :
       {"t5-gated-untied", "t5-bfloat16", "shaw", "labels-vectors", "fixed-slope"}) {
    const auto golden = read_golden(folder);
    const auto model = load(golden->files);
    CHECK_EQ(model->config.max_new_tokens, 40);
    for (const auto& example : golden->cases) {
      CAPTURE(folder);
      CAPTURE(example.name);
      auto session = Session::start(*model, example.source_ids, example.labels(), {});
      REQUIRE(session.ok());
      std::vector<int> ids;
      double score = 0;
      while (session.value().finish_reason() == FinishReason::none) {
        const auto token = session.value().step();
        REQUIRE(token.ok());
        REQUIRE_EQ(token.value().size(), 1);
        ids.push_back(token.value()[0].token_id);
        score += token.value()[0].log_probability;
        REQUIRE_LE(ids.size(), 40);
      }
      const auto expected = up_to_end(example.greedy_ids, model->config.eos_token_ids);
      CHECK_EQ(ids, expected);
      const bool stopped =
          expected.size() < 40 || expected.back() == model->config.eos_token_ids.front();
      CHECK(session.value().finish_reason() ==
            (stopped ? FinishReason::eos : FinishReason::length));
      (stopped ? ended : ran_out) += 1;
      CHECK_EQ(session.value().encoder_runs(), 1);
      CHECK(session.value().trace().empty());
      CHECK_EQ(code_of(session.value().step()), "option_invalid");

      const auto forced = teacher_force(*model, example.source_ids, ids, example.labels(), {});
      REQUIRE(forced.ok());
      double forced_score = 0;
      for (const float value : forced.value().log_probabilities) {
        forced_score += value;
      }
      CHECK_EQ(forced_score, doctest::Approx(score).epsilon(1e-6));
    }
  }
  CHECK_GE(ended, 1);
  CHECK_GE(ran_out, 1);
}

TEST_CASE("scores are the logarithms of the golden logits' softmax") {
  for (const std::string folder :
       {"t5-relu-tied", "t5-gated-untied", "shaw", "bucketed-bias", "labels-bias"}) {
    const auto golden = read_golden(folder);
    const auto model = load(golden->files);
    for (const auto& example : golden->cases) {
      // The target is the decoder's input without its start token; what follows the last token is
      // free.
      std::vector<int> target(example.decoder_input_ids.begin() + 1,
                              example.decoder_input_ids.end());
      target.push_back(model->config.eos_token_ids.front());
      const auto forced = teacher_force(*model, example.source_ids, target, example.labels(), {});
      REQUIRE(forced.ok());
      REQUIRE_EQ(forced.value().log_probabilities.size(), target.size());
      const auto logits = example.at("logits").matrix();
      double worst = 0;
      for (std::size_t i = 0; i < target.size(); ++i) {
        const double expected =
            log_softmax(logits.row(static_cast<int>(i)), logits.cols, target[i]);
        worst = std::max(worst, std::abs(forced.value().log_probabilities[i] - expected));
      }
      CAPTURE(folder);
      CHECK_LE(worst, 2e-4);
    }
  }
}

TEST_CASE("a session records what it attends to, and generates the same") {
  const auto golden = read_golden("shaw");
  const auto model = load(golden->files);
  const auto& example = golden->cases.at(1);
  const TraceRequest request{{AttentionKind::encoder_self, AttentionKind::cross}, {1}, {0, 2}};
  auto plain = Session::start(*model, example.source_ids, {}, options_for(6));
  auto traced = Session::start(*model, example.source_ids, {}, options_for(6, request));
  REQUIRE(plain.ok());
  REQUIRE(traced.ok());
  std::vector<int> ids;
  while (plain.value().finish_reason() == FinishReason::none) {
    const auto a = plain.value().step(), b = traced.value().step();
    REQUIRE(a.ok());
    REQUIRE(b.ok());
    CHECK_EQ(a.value().at(0).token_id, b.value().at(0).token_id);
    CHECK_EQ(a.value()[0].log_probability, b.value()[0].log_probability);
    ids.push_back(a.value()[0].token_id);
  }
  CHECK(plain.value().finish_reason() == FinishReason::length);
  CHECK(traced.value().finish_reason() == FinishReason::length);
  const auto heads = traced.value().trace().heads();
  REQUIRE_EQ(heads.size(), 4);
  CHECK_EQ(heads[0].num_queries, 7);
  CHECK_EQ(heads[3].num_queries, 6);
  CHECK_EQ(heads[3].head, 2);

  // Stitched from steps, the attention equals that of one teacher-forced pass over the same ids.
  const auto forced = teacher_force(*model, example.source_ids, ids, {}, request);
  REQUIRE(forced.ok());
  REQUIRE_EQ(forced.value().trace.heads().size(), 4);
  for (std::size_t i = 0; i < 4; ++i) {
    CHECK(same_bits(forced.value().trace.heads()[i].weights.view(), heads[i].weights.view()));
    CHECK(same_bits(forced.value().trace.heads()[i].content_scores.view(),
                    heads[i].content_scores.view()));
  }
}

TEST_CASE("ids, labels and options outside their range are refused") {
  const auto shaw = load(read_folder("shaw"));
  const auto labelled = load(read_folder("labels-vectors"));
  const std::vector<int> good = {5, 6, 2};
  const auto start = [](const Model& model, const std::vector<int>& ids,
                        MatrixView<const int> labels, GenerateOptions options = {}) {
    const auto session = Session::start(model, ids, labels, options);
    return code_of(session);
  };
  CHECK_EQ(start(*shaw, good, {}), "ok");
  CHECK_EQ(start(*shaw, {}, {}), "input_invalid");
  CHECK_EQ(start(*shaw, {5, 40}, {}), "input_invalid");
  CHECK_EQ(start(*shaw, {-1}, {}), "input_invalid");
  CHECK_EQ(start(*shaw, {2147483647}, {}), "input_invalid");

  std::vector<int> labels(9, 4);
  CHECK_EQ(start(*shaw, good, {labels.data(), 3, 3, 3}), "input_invalid");
  CHECK_EQ(start(*labelled, good, {labels.data(), 3, 3, 3}), "ok");
  CHECK_EQ(start(*labelled, good, {}), "input_invalid");
  CHECK_EQ(start(*labelled, good, {labels.data(), 2, 3, 3}), "input_invalid");
  CHECK_EQ(start(*labelled, good, {labels.data(), 3, 2, 3}), "input_invalid");
  labels[7] = 5;
  CHECK_EQ(start(*labelled, good, {labels.data(), 3, 3, 3}), "input_invalid");
  labels[7] = -1;
  CHECK_EQ(start(*labelled, good, {labels.data(), 3, 3, 3}), "input_invalid");

  CHECK_EQ(start(*shaw, good, {}, options_for(-1)), "option_invalid");
  CHECK_EQ(start(*shaw, good, {}, options_for(2147483647)), "option_invalid");
  using enum AttentionKind;
  CHECK_EQ(start(*shaw, good, {}, options_for(4, {{cross}, {1}, {2}})), "ok");
  CHECK_EQ(start(*shaw, good, {}, options_for(4, {{cross}, {2}, {}})), "option_invalid");
  CHECK_EQ(start(*shaw, good, {}, options_for(4, {{cross}, {-1}, {}})), "option_invalid");
  CHECK_EQ(start(*shaw, good, {}, options_for(4, {{encoder_self}, {}, {3}})), "option_invalid");

  const auto force = [&](const std::vector<int>& target) {
    return code_of(teacher_force(*shaw, good, target, {}, {}));
  };
  CHECK_EQ(force({7, 2}), "ok");
  CHECK_EQ(force({}), "input_invalid");
  CHECK_EQ(force({7, 40}), "input_invalid");
  CHECK_EQ(force({40, 7}), "input_invalid");
  CHECK_EQ(force({7, -1}), "input_invalid");
}

TEST_CASE("the decoder takes no more tokens than it made room for") {
  const auto model = load(read_folder("shaw"));
  const std::vector<int> ids = {1, 5, 6};
  const auto encoded = encode(*model, ids, {}, nullptr);
  REQUIRE(encoded.ok());
  auto decoder = Decoder::start(*model, encoded.value().view(), 3, 2, false);
  auto logits = Matrix::allocate(3, model->config.vocab_size, "test");
  REQUIRE(decoder.ok());
  REQUIRE(logits.ok());
  CHECK_EQ(code_of(decoder.value().forward(ids, logits.value().view(), nullptr)), "input_invalid");
  CHECK_EQ(code_of(decoder.value().forward({}, logits.value().view(), nullptr)), "input_invalid");
  CHECK_EQ(decoder.value().length(), 0);
  CHECK_EQ(
      code_of(decoder.value().forward(std::span(ids).first(2), logits.value().view(), nullptr)),
      "ok");
  CHECK_EQ(
      code_of(decoder.value().forward(std::span(ids).first(2), logits.value().view(), nullptr)),
      "input_invalid");
  CHECK_EQ(
      code_of(decoder.value().forward(std::span(ids).first(1), logits.value().view(), nullptr)),
      "ok");
  CHECK_EQ(decoder.value().length(), 3);
}
