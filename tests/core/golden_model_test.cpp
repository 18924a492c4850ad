// Whole models against oracles that are not ours: every attention of every golden folder; a cached
// step against a whole pass; and that watching changes nothing. Encoder output, logits and ids are
// judged in parity_test.cpp.
#include <doctest/doctest.h>

#include <algorithm>

#include "src/model/encoder.hpp"
#include "tests/core/model_checks.hpp"

using namespace relata;
using namespace relata::test;

namespace {

constexpr double kTolerance = 1e-4;

const std::vector<std::string> kFolders = {"t5-relu-tied",
                                           "t5-gated-untied",
                                           "t5-float16-overflow",
                                           "t5-bfloat16",
                                           "shaw",
                                           "shaw-keys",
                                           "shaw-values",
                                           "shaw-per-head",
                                           "shaw-shared-tables",
                                           "bucketed-bias",
                                           "bucketed-bias-per-layer",
                                           "bucketed-vectors",
                                           "labels-vectors",
                                           "labels-bias",
                                           "fixed-slope",
                                           "sinusoidal-interleaved",
                                           "sinusoidal-halves",
                                           "flan-t5",
                                           "mt5",
                                           "byt5",
                                           "umt5",
                                           "madlad-400",
                                           "codet5"};

}  // namespace

TEST_CASE("a target fed in pieces gives the bits of a target fed at once") {
  // Targets reach past every clip and, of 140 tokens in t5-relu-tied, past T5's maximal distance.
  for (const auto& folder : kFolders) {
    const auto golden = read_golden(folder);
    const auto model = load(golden->files);
    const auto& longest = golden->cases.back();
    CAPTURE(folder);
    REQUIRE_GE(longest.source_ids.size(), 40);
    REQUIRE_GE(longest.decoder_input_ids.size(), 14);
    const Matrix encoded = encode_case(*model, longest);
    const Matrix whole = decode_case(*model, longest, encoded);
    for (const std::vector<int>& pieces :
         {std::vector<int>{1}, {2}, {7, 1, 19, 3}, {16}, {17}, {39, 1}}) {
      CHECK(same_bits(decode_case(*model, longest, encoded, pieces).view(), whole.view()));
    }
  }
}

TEST_CASE("golden folders: every attention, and watching changes no bit") {
  for (const auto& folder : kFolders) {
    const auto golden = read_golden(folder);
    const auto model = load(golden->files);
    int compared = 0;
    for (const auto& example : golden->cases) {
      CAPTURE(folder);
      CAPTURE(example.name);
      auto trace = trace_of_all(*model, example);
      const Matrix encoded = encode_case(*model, example, &trace);
      const Matrix logits = decode_case(*model, example, encoded, {5, 1, 3}, &trace);
      CHECK(same_bits(encoded.view(), encode_case(*model, example).view()));
      CHECK(same_bits(logits.view(), decode_case(*model, example, encoded).view()));
      for (const HeadTrace& head : trace.heads()) {
        const bool self = head.kind != AttentionKind::cross;
        const auto& relation = head.kind == AttentionKind::encoder_self
                                   ? model->config.encoder_relation
                                   : model->config.decoder_relation;
        CHECK_EQ(head.relation_scores.rows() > 0, self && relation.effect.kind != EffectKind::none);
        for (int i = 0; i < head.weights.rows(); ++i) {
          const int visible =
              head.kind == AttentionKind::decoder_self ? i + 1 : head.weights.cols();
          double sum = 0, split = 0;
          for (int j = 0; j < visible; ++j) {
            const double added =
                head.relation_scores.rows() > 0 ? head.relation_scores.view().row(i)[j] : 0;
            split += std::exp(head.content_scores.view().row(i)[j] + added);
            sum += head.weights.view().row(i)[j];
          }
          const double added =
              head.relation_scores.rows() > 0 ? head.relation_scores.view().row(i)[0] : 0;
          const double first = std::exp(head.content_scores.view().row(i)[0] + added) / split;
          CHECK_EQ(sum, doctest::Approx(1).epsilon(1e-5));
          CHECK_EQ(head.weights.view().row(i)[0], doctest::Approx(first).epsilon(1e-4));
        }
        for (const auto& [part, seen] : {std::pair{"weights", &head.weights},
                                         {"content_scores", &head.content_scores},
                                         {"relation_scores", &head.relation_scores}}) {
          const std::string name = name_of(head) + part;
          if (example.has(name)) {
            CAPTURE(name);
            CHECK_LE(max_difference(seen->view(), example.at(name).matrix(head.head)), kTolerance);
            compared += 1;
          }
        }
      }
    }
    // Weights of every layer and head of three attentions at the least.
    CHECK_GE(compared, (model->config.num_encoder_layers + 2 * model->config.num_decoder_layers) *
                           model->config.num_heads);
  }
}

TEST_CASE("labels equal to clipped distances give the Shaw model's bits") {
  const auto golden = read_golden("shaw");
  const auto by_distance = load(golden->files);
  FolderFiles labelled = golden->files;
  labelled.edit_config([](nlohmann::json& config) {
    config["relation"]["encoder_self"]["index"] = {{"type", "labels"}, {"num_labels", 9}};
  });
  const auto by_label = load(labelled);
  for (const auto& example : golden->cases) {
    const int n = static_cast<int>(example.source_ids.size());
    std::vector<int> labels;
    for (int i = 0; i < n; ++i) {
      for (int j = 0; j < n; ++j) {
        labels.push_back(std::max(-4, std::min(4, j - i)) + 4);
      }
    }
    const auto encoded = encode(*by_label, example.source_ids, {labels.data(), n, n, n}, nullptr);
    REQUIRE(encoded.ok());
    CHECK(same_bits(encoded.value().view(), encode_case(*by_distance, example).view()));
  }
}

TEST_CASE("an activation beyond half precision stays finite") {
  const auto golden = read_golden("t5-float16-overflow");
  const auto model = load(golden->files);
  for (const auto& example : golden->cases) {
    const Matrix encoded = encode_case(*model, example);
    const Matrix logits = decode_case(*model, example, encoded, {1});
    const auto& expected = example.at("logits");
    double largest = 0;
    for (const float value : expected.values) {
      largest = std::max(largest, std::abs(static_cast<double>(value)));
    }
    CHECK_LE(max_difference(logits.view(), expected.matrix()), 1e-3 * largest);
  }
}
