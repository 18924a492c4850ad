// Whole models against oracles that are not ours: encoder output, logits, greedy ids and every
// attention of every golden folder; a cached step against a whole pass; and that watching changes
// nothing.
#include <doctest/doctest.h>

#include <algorithm>

#include "src/model/decoder.hpp"
#include "src/model/encoder.hpp"
#include "tests/core/support.hpp"

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
                                           "sinusoidal-halves"};

Matrix encode_case(const Model& model, const GoldenCase& golden, AttentionTrace* trace = nullptr) {
  auto encoded = encode(model, golden.source_ids, golden.labels(), trace);
  REQUIRE(encoded.ok());
  return std::move(encoded.value());
}

/// Logits of the case's decoder input, fed in pieces of the given lengths (the last repeats).
Matrix decode_case(const Model& model, const GoldenCase& golden, const Matrix& encoded,
                   const std::vector<int>& pieces, AttentionTrace* trace = nullptr) {
  const int length = static_cast<int>(golden.decoder_input_ids.size());
  auto decoder = Decoder::start(model, encoded.view(), length, length, trace != nullptr);
  auto logits = Matrix::allocate(length, model.config.vocab_size, "test");
  REQUIRE(decoder.ok());
  REQUIRE(logits.ok());
  std::size_t piece = 0;
  for (int fed = 0; fed < length;) {
    const int count = std::min(pieces[std::min(piece, pieces.size() - 1)], length - fed);
    const auto ids = std::span(golden.decoder_input_ids)
                         .subspan(static_cast<std::size_t>(fed), static_cast<std::size_t>(count));
    REQUIRE(decoder.value().forward(ids, logits.value().view().slice_rows(fed, count), trace).ok());
    fed += count;
    piece += 1;
    CHECK_EQ(decoder.value().length(), fed);
  }
  return std::move(logits.value());
}

AttentionTrace trace_of_all(const Model& model, const GoldenCase& golden) {
  const TraceRequest everything{
      {AttentionKind::encoder_self, AttentionKind::decoder_self, AttentionKind::cross}, {}, {}};
  auto trace =
      AttentionTrace::allocate(model.config, everything, static_cast<int>(golden.source_ids.size()),
                               static_cast<int>(golden.decoder_input_ids.size()));
  REQUIRE(trace.ok());
  return std::move(trace.value());
}

std::string name_of(const HeadTrace& head) {
  const char* kinds[] = {"encoder_self", "decoder_self", "cross"};
  return std::string(kinds[static_cast<int>(head.kind)]) + "." + std::to_string(head.layer) + ".";
}

}  // namespace

TEST_CASE("golden folders: encoder output and logits") {
  for (const auto& folder : kFolders) {
    const auto golden = read_golden(folder);
    const auto model = load(golden->files);
    for (const auto& example : golden->cases) {
      CAPTURE(folder);
      CAPTURE(example.name);
      const Matrix encoded = encode_case(*model, example);
      CHECK_LE(max_difference(encoded.view(), example.at("encoder").matrix()), kTolerance);
      const Matrix logits = decode_case(*model, example, encoded, {1000});
      CHECK_LE(max_difference(logits.view(), example.at("logits").matrix()), kTolerance);
    }
  }
}

TEST_CASE("golden folders: forty greedy steps, id by id") {
  for (const auto& folder : kFolders) {
    const auto golden = read_golden(folder);
    const auto model = load(golden->files);
    for (const auto& example : golden->cases) {
      CAPTURE(folder);
      CAPTURE(example.name);
      const Matrix encoded = encode_case(*model, example);
      const int steps = static_cast<int>(example.greedy_ids.size());
      REQUIRE_EQ(steps, 40);
      auto decoder = Decoder::start(*model, encoded.view(), steps, 1, false);
      auto logits = Matrix::allocate(1, model->config.vocab_size, "test");
      REQUIRE(decoder.ok());
      REQUIRE(logits.ok());
      std::vector<int> ids;
      int next = model->config.decoder_start_token_id;
      for (int i = 0; i < steps; ++i) {
        REQUIRE(decoder.value().forward({&next, 1}, logits.value().view(), nullptr).ok());
        const float* row = logits.value().view().row(0);
        next = static_cast<int>(std::max_element(row, row + model->config.vocab_size) - row);
        ids.push_back(next);
      }
      CHECK_EQ(ids, example.greedy_ids);
    }
  }
}

TEST_CASE("a target fed in pieces gives the bits of a target fed at once") {
  // Targets reach past every clip and every maximal distance: 140 tokens in the T5 folders, 40 in
  // the others.
  for (const auto& folder : kFolders) {
    const auto golden = read_golden(folder);
    const auto model = load(golden->files);
    const auto& longest = golden->cases.back();
    CAPTURE(folder);
    REQUIRE_GE(longest.decoder_input_ids.size(), 40);
    const Matrix encoded = encode_case(*model, longest);
    const Matrix whole = decode_case(*model, longest, encoded, {1000});
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
      CHECK(same_bits(logits.view(), decode_case(*model, example, encoded, {1000}).view()));
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
