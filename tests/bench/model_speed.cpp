// How fast a whole model of t5-small's shape is, with random weights in f32 and int8: encoding, the
// projection of cross keys and values, decoding token by token, batches and beams. What is compared
// alternates; medians, one JSON line each. Build the target relata_model_speed and run it, natively
// or in Node.

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <map>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "src/generate/session.hpp"
#include "tests/core/random_model.hpp"

namespace {

using namespace relata;

constexpr int kTexts = 16;
constexpr int kNewTokens = 24;
constexpr int kRounds = 3;

double now_ms() {
  return std::chrono::duration<double, std::milli>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

std::vector<int> random_source(int length, std::uint32_t state) {
  std::vector<int> source;
  for (int i = 0; i < length; ++i) {
    state = state * 1664525U + 1013904223U;
    source.push_back(static_cast<int>((state >> 8) % 32128U));
  }
  return source;
}

struct Times {
  std::map<std::string, std::vector<double>> by_name;
  void add(const std::string& name, double value) { by_name[name].push_back(value); }
};

/// Encoding and decoding of one text through the decoder alone: encode, first step, time per token
/// after 1 and (of a long source) after 200 of them.
void one_text(const Model& model, int length, Times& times) {
  const std::vector<int> ids = random_source(length, 7);
  const std::string at = " at source " + std::to_string(length);
  const double start = now_ms();
  const auto encoded = encode(model, ids, {}, nullptr);
  const double projecting = now_ms();
  auto decoder = Decoder::start(model, encoded.value().view(), 256, 1, false);
  auto logits = std::move(Matrix::allocate(1, model.config.vocab_size, "bench").value());
  int token = 0;
  const auto step = [&] {
    if (!decoder.value().forward({&token, 1}, logits.view(), nullptr).ok()) {
      std::abort();
    }
    token = kernels::argmax(logits.view().data, logits.cols());
  };
  const auto steps = [&](const std::string& name) {
    const double begin = now_ms();
    for (int i = 0; i < kNewTokens; ++i) {
      step();
    }
    times.add(name, (now_ms() - begin) / kNewTokens);
  };
  const double projected = now_ms();
  step();
  times.add("encode" + at, projecting - start);
  times.add("cross keys and values" + at, projected - projecting);
  steps("a token" + at);
  if (length == 512) {
    while (decoder.value().length() < 200) {
      step();
    }
    steps("a token" + at + " after 200");
  }
}

/// A session of `count` texts; end tokens cannot come.
void session(const Model& model, const std::vector<std::vector<int>>& sources, std::size_t count,
             int num_beams, const std::string& name, Times& times) {
  GenerateOptions options;
  options.max_new_tokens = kNewTokens;
  options.search.min_new_tokens = kNewTokens;
  options.search.num_beams = num_beams;
  std::vector<SessionInput> inputs;
  for (std::size_t i = 0; i < count; ++i) {
    inputs.push_back({sources[i]});
  }
  auto session = Session::start(model, inputs, options);
  const double begin = now_ms();
  int steps = 0;
  for (; !session.value().done(); ++steps) {
    if (!session.value().step().ok()) {
      std::abort();
    }
  }
  times.add(name, (now_ms() - begin) / steps);
}

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

}  // namespace

int main(int argc, char** argv) {
  Config config;
  config.vocab_size = 32128;
  config.d_model = 512;
  config.d_ff = 2048;
  config.num_heads = 8;
  config.head_dim = 64;
  config.num_encoder_layers = config.num_decoder_layers = 6;
  config.eos_token_ids = {1};
  config.logits_scale = 0.0441941738F;
  std::vector<std::vector<int>> sources;
  for (std::uint32_t i = 0; i < kTexts; ++i) {
    sources.push_back(random_source(24, i + 8));
  }
  for (const auto& [type_name, type] :
       {std::pair{"f32", kernels::WeightType::f32}, std::pair{"int8", kernels::WeightType::int8}}) {
    if (argc > 1 && std::strcmp(argv[1], type_name) != 0) {
      continue;
    }
    const auto model = test::RandomModel::make(config, 1, 1, type);
    Times times;
    for (int round = -1; round < kRounds; ++round) {
      if (round == 0) {
        times = {};  // the first round let the engine optimise
      }
      for (const int length : {32, 128, 512}) {
        one_text(*model, length, times);
      }
      session(*model, sources, 1, 1, "a step of one text", times);
      session(*model, sources, kTexts, 1, "a step of 16 texts", times);
      session(*model, sources, 1, 4, "a step of 4 beams", times);
    }
    const double one = median(times.by_name["a step of one text"]);
    for (const auto& [name, values] : times.by_name) {
      std::printf(R"({"type": "%s", "case": "%s", "ms": %.3f, "of_a_step_of_one_text": %.2f})"
                  "\n",
                  type_name, name.c_str(), median(values), median(values) / one);
    }
  }
  return 0;
}
