// Many sequences at once: each has the bits it has alone, whatever its neighbours are, and
// hypotheses that part ways keep what they had read.
#include <doctest/doctest.h>

#include <algorithm>

#include "src/model/decoder.hpp"
#include "src/model/encoder.hpp"
#include "tests/core/support.hpp"

using namespace relata;
using namespace relata::test;

namespace {

const std::vector<std::string> kFolders = {
    "t5-gated-untied", "shaw",        "shaw-per-head",         "bucketed-vectors",
    "labels-vectors",  "fixed-slope", "sinusoidal-interleaved"};

struct Text {
  std::vector<int> ids;
  std::vector<int> labels;

  MatrixView<const int> label_matrix() const {
    const int n = static_cast<int>(ids.size());
    return labels.empty() ? MatrixView<const int>{} : MatrixView<const int>{labels.data(), n, n, n};
  }
};

std::vector<Text> random_texts(const Model& model, std::mt19937& random,
                               const std::vector<int>& lengths) {
  std::vector<Text> texts;
  const auto& index = model.config.encoder_relation.index;
  for (const int length : lengths) {
    Text text;
    for (int i = 0; i < length; ++i) {
      text.ids.push_back(random_int(random, model.config.vocab_size));
    }
    if (index.kind == IndexKind::labels) {
      for (int i = 0; i < length * length; ++i) {
        text.labels.push_back(random_int(random, index.num_labels));
      }
    }
    texts.push_back(std::move(text));
  }
  return texts;
}

/// The logits of each token of one target, fed one by one to a decoder of its own.
Matrix alone(const Model& model, MatrixView<const float> encoded, const std::vector<int>& ids) {
  const int length = static_cast<int>(ids.size());
  auto decoder = Decoder::start(model, encoded, length, 1, false);
  auto logits = Matrix::allocate(length, model.config.vocab_size, "test");
  REQUIRE(decoder.ok());
  REQUIRE(logits.ok());
  for (int i = 0; i < length; ++i) {
    REQUIRE(decoder.value()
                .forward({&ids[static_cast<std::size_t>(i)], 1},
                         logits.value().view().slice_rows(i, 1), nullptr)
                .ok());
  }
  return std::move(logits.value());
}

}  // namespace

TEST_CASE("sources encoded together have the bits they have alone") {
  for (const std::string& folder : kFolders) {
    CAPTURE(folder);
    const auto model = load(read_folder(folder));
    std::mt19937 random(3);
    const auto texts = random_texts(*model, random, {3, 11, 1, 40, 16, 17, 33});
    std::vector<Source> sources;
    for (const Text& text : texts) {
      sources.push_back({text.ids, text.label_matrix(), nullptr});
    }
    const auto together = encode(*model, sources);
    REQUIRE(together.ok());
    int first = 0;
    for (const Text& text : texts) {
      const auto single = encode(*model, text.ids, text.label_matrix(), nullptr);
      REQUIRE(single.ok());
      const int length = static_cast<int>(text.ids.size());
      CHECK(same_bits(together.value().view().slice_rows(first, length), single.value().view()));
      first += length;
    }
    CHECK_EQ(first, together.value().rows());
  }
}

TEST_CASE("hypotheses decoded together have the bits they have alone") {
  for (const std::string& folder : kFolders) {
    CAPTURE(folder);
    const auto model = load(read_folder(folder));
    const int vocab = model->config.vocab_size;
    std::mt19937 random(5);
    const auto texts = random_texts(*model, random, {3, 11, 26});
    std::vector<Matrix> encoded;
    for (const Text& text : texts) {
      auto one = encode(*model, text.ids, text.label_matrix(), nullptr);
      REQUIRE(one.ok());
      encoded.push_back(std::move(one.value()));
    }
    constexpr int kRows = 40;
    auto decoder = Decoder::start(*model, {26, 90, kRows, false});
    auto logits = Matrix::allocate(kRows, vocab, "test");
    REQUIRE(decoder.ok());
    REQUIRE(logits.ok());
    // What each hypothesis has been fed, over which source.
    struct Expected {
      std::size_t source;
      std::vector<int> ids;
    };
    std::vector<Expected> expected;
    for (int round = 0; round < 14; ++round) {
      if (round == 0 || round == 4) {  // a source that comes late stands beside others half done
        for (std::size_t i = round == 0 ? 0 : 2; i < (round == 0 ? 2U : 3U); ++i) {
          REQUIRE(decoder.value().add_source(std::as_const(encoded[i]).view()).ok());
          expected.push_back({i, {}});
        }
      }
      std::vector<std::vector<int>> tokens(expected.size());
      std::vector<DecoderRun> runs;
      for (std::size_t i = 0; i < expected.size(); ++i) {
        // None, one or several at once; beyond 32 tokens caches have to grow.
        const int count = round == 0 ? 1 : random_int(random, 6);
        for (int j = 0; j < count; ++j) {
          tokens[i].push_back(random_int(random, vocab));
          expected[i].ids.push_back(tokens[i].back());
        }
        runs.push_back({tokens[i], nullptr});
      }
      REQUIRE(decoder.value().forward(runs, logits.value().view()).ok());
      int row = 0;
      for (std::size_t i = 0; i < expected.size(); ++i) {
        const int count = static_cast<int>(tokens[i].size());
        const int length = static_cast<int>(expected[i].ids.size());
        CHECK_EQ(decoder.value().length(static_cast<int>(i)), length);
        const Matrix single = alone(*model, encoded[expected[i].source].view(), expected[i].ids);
        CHECK(same_bits(std::as_const(logits.value()).view().slice_rows(row, count),
                        single.view().slice_rows(length - count, count)));
        row += count;
      }
      // Some die, some have several children, the order changes.
      std::vector<int> parents;
      for (int child = 0; child < 6; ++child) {
        parents.push_back(random_int(random, static_cast<int>(expected.size())));
      }
      REQUIRE(decoder.value().reorder(parents).ok());
      std::vector<Expected> children;
      for (const int parent : parents) {
        children.push_back(expected[static_cast<std::size_t>(parent)]);
      }
      expected = std::move(children);
    }
  }
}

TEST_CASE("a pass that does not fit feeds nothing") {
  const auto model = load(read_folder("shaw"));
  const std::vector<int> ids = {5, 6, 7};
  const auto encoded = encode(*model, ids, {}, nullptr);
  REQUIRE(encoded.ok());
  auto decoder = Decoder::start(*model, {3, 4, 5, false});
  auto logits = Matrix::allocate(8, model->config.vocab_size, "test");
  REQUIRE(decoder.ok());
  REQUIRE(logits.ok());
  Decoder& two = decoder.value();
  REQUIRE(two.add_source(encoded.value().view()).ok());
  REQUIRE(two.add_source(encoded.value().view()).ok());
  const std::vector<int> bad = {5, model->config.vocab_size};
  const std::vector<int> five = {1, 2, 3, 4, 5};
  const auto refused = [&](std::span<const int> a, std::span<const int> b) {
    const std::vector<DecoderRun> runs = {{a, nullptr}, {b, nullptr}};
    const auto result = two.forward(runs, logits.value().view());
    return !result.ok() && result.error().code == ErrorCode::input_invalid && two.length(0) == 0 &&
           two.length(1) == 0;
  };
  CHECK(refused({}, {}));
  CHECK(refused(ids, ids));  // more rows than there is room for
  CHECK(refused(five, {}));  // more tokens than a target may have
  CHECK(refused({}, bad));   // outside the vocabulary
  const DecoderRun one{ids, nullptr};
  CHECK_FALSE(two.forward({&one, 1}, logits.value().view()).ok());  // a run for one of two
  const std::vector<DecoderRun> fitting = {{ids, nullptr}, {std::span(ids).first(2), nullptr}};
  CHECK(two.forward(fitting, logits.value().view()).ok());
}
