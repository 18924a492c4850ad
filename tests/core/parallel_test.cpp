// Threads change no bit and lose no share of the work.
#include <doctest/doctest.h>

#include <atomic>
#include <chrono>
#include <thread>
#include <vector>

#include "src/base/parallel.hpp"
#include "src/generate/session.hpp"
#include "tests/core/random_model.hpp"
#include "tests/core/support.hpp"

using namespace relata;
using namespace relata::test;

TEST_CASE("split covers every place once, in pieces that begin at a multiple of the step") {
  Parallel pool(3);
  for (const int count : {1, 2, 15, 16, 17, 47, 48, 49, 1000}) {
    for (const double work : {1e3, 3e5, 1e7, 1e9}) {
      std::vector<std::atomic<int>> times(static_cast<std::size_t>(count));
      std::atomic<int> misplaced = 0;
      for (int round = 0; round < 50; ++round) {
        split(&pool, count, 16, work, [&](int first, int last, int thread) {
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
}

#ifdef RELATA_THREADS
TEST_CASE("calls in quick succession and after long pauses lose no piece") {
  Parallel pool(4);
  std::atomic<int> done = 0;
  int expected = 0;
  for (int round = 0; round < 3000; ++round) {
    if (round % 300 == 0) {
      std::this_thread::sleep_for(std::chrono::milliseconds(20));  // everybody falls asleep
    }
    const int pieces = round % 9;
    pool.run(
        pieces,
        [](const void* context, int, int) {
          ++*static_cast<std::atomic<int>*>(const_cast<void*>(context));
        },
        &done);
    expected += pieces;
    REQUIRE_EQ(done, expected);
  }
}
#endif

TEST_CASE("two callers of one pool both get their work done") {
  Parallel pool(2);
  std::atomic<int> pieces = 0;
  const auto call = [&] {
    for (int i = 0; i < 2000; ++i) {
      split(&pool, 32, 16, 1e6, [&](int first, int last, int) { pieces += last - first; });
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
  CHECK_EQ(pieces, 4000 * 32);
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
