// What a batch and what beams cost on the shape of t5-small, with random weights in f32: tokens per
// second of one text at a time, of 16 together, and of beams, alternating in one run; one JSON line
// each. Build the target relata_batch_cost and run it, natively or in Node.

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include "src/generate/session.hpp"
#include "tests/core/random_model.hpp"

namespace {

using namespace relata;

constexpr int kTexts = 16;
constexpr int kSourceLength = 24;
constexpr int kNewTokens = 24;
constexpr int kRounds = 3;

/// Encoded and decoded in one session of `count` texts from `first` on; end tokens cannot come.
struct Cost {
  double encode_ms = 0;
  double decode_ms = 0;
  int tokens = 0;
  int steps = 0;
};

double now_ms() {
  return std::chrono::duration<double, std::milli>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

Cost run(const Model& model, const std::vector<std::vector<int>>& sources, std::size_t first,
         std::size_t count, int num_beams) {
  GenerateOptions options;
  options.max_new_tokens = kNewTokens;
  options.search.min_new_tokens = kNewTokens;
  options.search.num_beams = num_beams;
  std::vector<SessionInput> inputs;
  for (std::size_t i = 0; i < count; ++i) {
    inputs.push_back({sources[first + i]});
  }
  Cost cost;
  const double start = now_ms();
  auto session = Session::start(model, inputs, options);
  const double encoded = now_ms();
  while (!session.value().done()) {
    if (!session.value().step().ok()) {
      std::abort();
    }
    cost.steps += 1;
  }
  cost.encode_ms = encoded - start;
  cost.decode_ms = now_ms() - encoded;
  for (int item = 0; item < static_cast<int>(count); ++item) {
    cost.tokens += static_cast<int>(session.value().hypotheses(item)[0].token_ids.size());
  }
  return cost;
}

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

}  // namespace

int main() {
  Config config;
  config.vocab_size = 32128;
  config.d_model = 512;
  config.d_ff = 2048;
  config.num_heads = 8;
  config.head_dim = 64;
  config.num_encoder_layers = config.num_decoder_layers = 6;
  config.eos_token_ids = {1};
  config.logits_scale = 0.0441941738F;
  const auto model = test::RandomModel::make(config, 1, 1);
  std::vector<std::vector<int>> sources(kTexts);
  std::uint32_t state = 7;
  for (auto& source : sources) {
    for (int i = 0; i < kSourceLength; ++i) {
      state = state * 1664525U + 1013904223U;
      source.push_back(static_cast<int>((state >> 8) % 32128U));
    }
  }
  run(*model, sources, 0, 1, 1);  // lets the engine optimise
  std::vector<double> alone_rate, batch_rate, decode_ratio, whole_ratio, greedy_step, beam_step;
  for (int round = 0; round < kRounds; ++round) {
    Cost alone;
    for (std::size_t i = 0; i < kTexts; ++i) {
      const Cost one = run(*model, sources, i, 1, 1);
      alone.encode_ms += one.encode_ms;
      alone.decode_ms += one.decode_ms;
      alone.tokens += one.tokens;
      alone.steps += one.steps;
    }
    const Cost batch = run(*model, sources, 0, kTexts, 1);
    const Cost beams = run(*model, sources, 0, 1, 4);
    alone_rate.push_back(1000 * alone.tokens / alone.decode_ms);
    batch_rate.push_back(1000 * batch.tokens / batch.decode_ms);
    decode_ratio.push_back(batch_rate.back() / alone_rate.back());
    whole_ratio.push_back((alone.encode_ms + alone.decode_ms) /
                          (batch.encode_ms + batch.decode_ms));
    greedy_step.push_back(alone.decode_ms / alone.steps);
    beam_step.push_back(beams.decode_ms / beams.steps);
  }
  std::printf(
      R"({"case": "16 texts of %d tokens, %d new tokens each", "alone_tokens_per_s": %.1f, )"
      R"("batch_tokens_per_s": %.1f, "decode_ratio": %.2f, "whole_ratio": %.2f})"
      "\n",
      kSourceLength, kNewTokens, median(alone_rate), median(batch_rate), median(decode_ratio),
      median(whole_ratio));
  std::printf(R"({"case": "a step of 4 beams", "greedy_ms": %.2f, "beams_ms": %.2f, "ratio": %.2f})"
              "\n",
              median(greedy_step), median(beam_step), median(beam_step) / median(greedy_step));
  return 0;
}
