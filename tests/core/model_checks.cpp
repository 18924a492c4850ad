#include "tests/core/model_checks.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "src/model/decoder.hpp"
#include "src/model/encoder.hpp"

namespace relata::test {
namespace {

Matrix matrix(int rows, int cols) {
  auto allocated = Matrix::allocate(rows, cols, "test");
  REQUIRE(allocated.ok());
  return std::move(allocated.value());
}

}  // namespace

Matrix encode_case(const Model& model, const GoldenCase& golden, AttentionTrace* trace) {
  auto encoded = encode(model, golden.source_ids, golden.labels(), trace);
  REQUIRE(encoded.ok());
  return std::move(encoded.value());
}

Matrix decode_case(const Model& model, const GoldenCase& golden, const Matrix& encoded,
                   const std::vector<int>& pieces, AttentionTrace* trace) {
  const int length = static_cast<int>(golden.decoder_input_ids.size());
  auto decoder = Decoder::start(model, encoded.view(), length, length, trace != nullptr);
  REQUIRE(decoder.ok());
  Matrix logits = matrix(length, model.config.vocab_size);
  std::size_t piece = 0;
  for (int fed = 0; fed < length;) {
    const int count = std::min(pieces[std::min(piece, pieces.size() - 1)], length - fed);
    const auto ids = std::span(golden.decoder_input_ids)
                         .subspan(static_cast<std::size_t>(fed), static_cast<std::size_t>(count));
    REQUIRE(decoder.value().forward(ids, logits.view().slice_rows(fed, count), trace).ok());
    fed += count;
    piece += 1;
    CHECK_EQ(decoder.value().length(), fed);
  }
  return logits;
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

std::vector<int> greedy(const Model& model, const GoldenCase& golden,
                        const std::vector<int>& banned) {
  const Matrix encoded = encode_case(model, golden);
  const int steps = static_cast<int>(golden.greedy_ids.size());
  auto decoder = Decoder::start(model, encoded.view(), steps, 1, false);
  REQUIRE(decoder.ok());
  Matrix logits = matrix(1, model.config.vocab_size);
  float* row = logits.view().row(0);
  std::vector<int> ids;
  int next = model.config.decoder_start_token_id;
  for (int i = 0; i < steps; ++i) {
    REQUIRE(decoder.value().forward({&next, 1}, logits.view(), nullptr).ok());
    for (const int id : banned) {
      row[id] = -INFINITY;
    }
    next = static_cast<int>(std::max_element(row, row + model.config.vocab_size) - row);
    ids.push_back(next);
  }
  return ids;
}

Differences differences(const Model& model, const GoldenCase& golden) {
  const Matrix encoded = encode_case(model, golden);
  Differences found;
  found.encoder = max_difference(encoded.view(), golden.at("encoder").matrix());
  if (golden.has("logits") && model.config.num_decoder_layers > 0) {
    found.logits =
        max_difference(decode_case(model, golden, encoded).view(), golden.at("logits").matrix());
  }
  return found;
}

Differences differences(const Model& model, const Golden& golden) {
  Differences largest;
  for (const GoldenCase& example : golden.cases) {
    const Differences found = differences(model, example);
    largest.encoder = std::max(largest.encoder, found.encoder);
    largest.logits = std::max(largest.logits, found.logits);
  }
  return largest;
}

Matrix CutModel::encoder(int num_layers, const GoldenCase& golden) {
  model_.config.num_encoder_layers = num_layers;
  Matrix states = encode_case(model_, golden);
  model_.config = whole_;
  return states;
}

Matrix CutModel::decoder(int num_layers, const GoldenCase& golden, int rows) {
  const Matrix encoded = encode_case(model_, golden);
  const int d_model = whole_.d_model;
  const int vocab_size = whole_.vocab_size;
  GoldenCase start = golden;
  start.decoder_input_ids.resize(static_cast<std::size_t>(rows));
  auto units =
      kernels::WeightMatrix::allocate(kernels::WeightType::f32, vocab_size, d_model, "test");
  REQUIRE(units.ok());
  Weights& weights = model_.weights;
  auto lm_head = std::exchange(weights.lm_head, std::move(units.value()));
  auto bias = std::exchange(weights.logits_bias, {});
  model_.config.num_decoder_layers = num_layers;
  model_.config.logits_scale = 1;
  Matrix states = matrix(rows, d_model);
  for (int first = 0; first < d_model; first += vocab_size) {
    const int count = std::min(vocab_size, d_model - first);
    for (int i = 0; i < vocab_size; ++i) {
      std::vector<float> unit(static_cast<std::size_t>(d_model));
      if (i < count) {
        unit[static_cast<std::size_t>(first + i)] = 1;
      }
      weights.lm_head.set_row(i, unit.data());
    }
    const Matrix part = decode_case(model_, start, encoded);
    for (int row = 0; row < rows; ++row) {
      std::copy_n(part.view().row(row), count, states.view().row(row) + first);
    }
  }
  weights.lm_head = std::move(lm_head);
  weights.logits_bias = std::move(bias);
  model_.config = whole_;
  return states;
}

}  // namespace relata::test
