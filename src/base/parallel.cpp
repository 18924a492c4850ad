#include "src/base/parallel.hpp"

#ifdef RELATA_THREADS

#include <pthread.h>

#include <atomic>
#include <vector>

namespace relata {
namespace {

/// Looks at a counter before a thread goes to sleep: longer than what lies between two products or
/// two decoding steps, shorter than what anybody would notice.
constexpr int kSpins = 100000;

}  // namespace

struct Parallel::State {
  pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
  pthread_cond_t called = PTHREAD_COND_INITIALIZER;
  pthread_cond_t finished = PTHREAD_COND_INITIALIZER;
  Call call = nullptr;
  const void* context = nullptr;
  std::atomic<std::uint32_t> round = 0;  // counts the calls
  std::atomic<int> pending = 0;          // threads still at work in this round
  std::atomic<int> sleepers = 0;         // threads that wait for `called`
  std::atomic<bool> caller_sleeps = false;
  std::atomic<bool> busy = false;
  std::atomic<bool> stop = false;

  struct Member {
    State* state = nullptr;
    int index = 0;
    pthread_t thread = {};
  };
  std::vector<std::unique_ptr<Member>> members;

  /// Waits for a round after `seen`.
  void await(std::uint32_t seen) {
    for (int i = 0; i < kSpins; ++i) {
      if (round.load(std::memory_order_acquire) != seen) {
        return;
      }
    }
    pthread_mutex_lock(&mutex);
    // Announced before the last look: whoever calls after that look sees the sleeper.
    ++sleepers;
    while (round.load() == seen) {
      pthread_cond_wait(&called, &mutex);
    }
    --sleepers;
    pthread_mutex_unlock(&mutex);
  }

  void begin() {
    ++round;
    if (sleepers.load() > 0) {
      pthread_mutex_lock(&mutex);
      pthread_cond_broadcast(&called);
      pthread_mutex_unlock(&mutex);
    }
  }

  void await_all() {
    for (int i = 0; i < kSpins; ++i) {
      if (pending.load(std::memory_order_acquire) == 0) {
        return;
      }
    }
    pthread_mutex_lock(&mutex);
    caller_sleeps = true;
    while (pending.load() != 0) {
      pthread_cond_wait(&finished, &mutex);
    }
    caller_sleeps = false;
    pthread_mutex_unlock(&mutex);
  }

  static void* work(void* argument) {
    const auto& [state, index, thread] = *static_cast<Member*>(argument);
    for (std::uint32_t seen = 0;; ++seen) {
      state->await(seen);
      if (state->stop.load()) {
        return nullptr;
      }
      state->call(state->context, index);
      if (--state->pending == 0 && state->caller_sleeps.load()) {
        pthread_mutex_lock(&state->mutex);
        pthread_cond_signal(&state->finished);
        pthread_mutex_unlock(&state->mutex);
      }
    }
  }
};

Parallel::Parallel(int num_threads) : state_(std::make_unique<State>()) {
  for (int index = 1; index < num_threads; ++index) {
    auto member = std::make_unique<State::Member>();
    member->state = state_.get();
    member->index = index;
    if (pthread_create(&member->thread, nullptr, &State::work, member.get()) != 0) {
      break;
    }
    state_->members.push_back(std::move(member));
  }
}

Parallel::~Parallel() {
  state_->stop = true;
  state_->begin();
  for (const auto& member : state_->members) {
    pthread_join(member->thread, nullptr);
  }
}

int Parallel::num_threads() const { return static_cast<int>(state_->members.size()) + 1; }

void Parallel::run(Call call, const void* context) {
  State& state = *state_;
  if (state.busy.exchange(true)) {
    for (int thread = 0; thread < num_threads(); ++thread) {
      call(context, thread);
    }
    return;
  }
  state.call = call;
  state.context = context;
  state.pending = num_threads() - 1;
  state.begin();
  call(context, 0);
  state.await_all();
  state.busy = false;
}

}  // namespace relata

#else

namespace relata {

struct Parallel::State {};

Parallel::Parallel(int) {}
Parallel::~Parallel() = default;
int Parallel::num_threads() const { return 1; }
void Parallel::run(Call call, const void* context) { call(context, 0); }

}  // namespace relata

#endif
