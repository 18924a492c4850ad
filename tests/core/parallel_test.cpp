// Threads change no bit and lose no share of the work.
#include <doctest/doctest.h>

#include <atomic>
#include <thread>
#include <vector>

#include "src/base/parallel.hpp"
#include "src/generate/session.hpp"
#include "tests/core/random_model.hpp"
#include "tests/core/support.hpp"

using namespace relata;
using namespace relata::test;

TEST_CASE("split covers every place once, in shares that begin at a multiple of the step") {
  Parallel pool(3);
  for (const int count : {1, 2, 15, 16, 17, 47, 48, 49, 1000}) {
    std::vector<std::atomic<int>> times(static_cast<std::size_t>(count));
    std::atomic<int> misplaced = 0;
    for (int round = 0; round < 50; ++round) {
      split(&pool, count, 16, 1e9, [&](int first, int last, int thread) {
        misplaced += first % 16 != 0 || thread >= pool.num_threads();
        for (int i = first; i < last; ++i) {
          ++times[static_cast<std::size_t>(i)];
        }
      });
    }
    CHECK_EQ(misplaced, 0);
    for (const auto& of_place : times) {
      REQUIRE_EQ(of_place, 50);
    }
  }
}

TEST_CASE("two callers of one pool both get their work done") {
  Parallel pool(2);
  std::atomic<int> shares = 0;
  const auto call = [&] {
    for (int i = 0; i < 2000; ++i) {
      pool.run([&](int) { ++shares; });
    }
  };
#ifdef RELATA_THREADS
  std::thread other(call);
  call();
  other.join();
#else
  call();
  call();
#endif
  CHECK_EQ(shares, 4000 * pool.num_threads());
}

TEST_CASE("a model gives the same bits with threads") {
  Config config = tiny_config(530, 1, 8);
  config.d_model = 64;
  config.d_ff = 160;
  config.num_heads = 3;
  config.head_dim = 24;
  std::vector<int> source;
  for (int i = 0; i < 150; ++i) {
    source.push_back(2 + i * 37 % 500);
  }
  for (const auto type : {kernels::WeightType::f32, kernels::WeightType::int8}) {
    const auto alone = RandomModel::make(config, 5, 1, type);
    const auto threaded = RandomModel::make(config, 5, 1, type, 3);
    const auto encoded = encode(*alone, source, {}, nullptr);
    const auto together = encode(*threaded, source, {}, nullptr);
    REQUIRE(encoded.ok());
    REQUIRE(together.ok());
    CHECK(same_bits(encoded.value().view(), together.value().view()));
    GenerateOptions options;
    options.max_new_tokens = 12;
    options.search.num_beams = 3;
    auto one = Session::start(*alone, source, {}, options);
    auto other = Session::start(*threaded, source, {}, options);
    REQUIRE(one.ok());
    REQUIRE(other.ok());
    while (!one.value().done()) {
      REQUIRE(one.value().step().ok());
      REQUIRE(other.value().step().ok());
    }
    const auto& expected = one.value().hypotheses(0)[0];
    const auto& actual = other.value().hypotheses(0)[0];
    CHECK_EQ(actual.token_ids, expected.token_ids);
    CHECK_EQ(actual.log_probabilities, expected.log_probabilities);
  }
}
