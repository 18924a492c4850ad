#include "src/base/parallel.hpp"

#ifdef RELATA_THREADS

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <deque>

#ifndef RELATA_SERVED
#include <pthread.h>
#endif

namespace relata {
namespace {

/// Looks at a counter before a thread goes to sleep: longer than what lies between two products or
/// two decoding steps, shorter than what anybody would notice.
constexpr int kSpins = 100000;

using Counter = std::atomic<std::uint32_t>;

/// The number of a call's pieces and the next one that nobody has taken yet, in one number.
struct Ticket {
  std::uint32_t bits;
  int next() const { return static_cast<int>(bits & 0xFFFF); }
  int pieces() const { return static_cast<int>(bits >> 16); }
  bool has_more() const { return next() < pieces(); }
};

}  // namespace

struct Parallel::State {
  Counter ticket = 0;
  // Of the call whose pieces the ticket has: set before it, and the same until all are done.
  Call call = nullptr;
  const void* context = nullptr;
  Counter pending = 0;  // pieces of the call that are not done
  std::atomic<bool> caller_sleeps = false;
  Counter calls = 0;  // for whom sleepers wait
  std::atomic<int> sleepers = 0;
  std::atomic<bool> busy = false;
  std::atomic<bool> stop = false;

#ifdef RELATA_SERVED
  /// The threads from outside serve all pools.
  static State shared;
#else
  struct Member {
    State* state = nullptr;
    int thread = 0;
    pthread_t handle = {};
  };
  std::deque<Member> members;
#endif

  /// Takes pieces until none is left.
  void work(int thread) {
    while (Ticket{ticket.load()}.has_more()) {
      // What is added past the last piece does no harm.
      const Ticket taken{ticket.fetch_add(1)};
      if (!taken.has_more()) {
        return;
      }
      call(context, taken.next(), thread);
      if (--pending == 0 && caller_sleeps.load()) {
        wake(pending);
      }
    }
  }

  /// Returns when there may be pieces to take.
  void await_call() {
    for (int i = 0; i < kSpins; ++i) {
      if (Ticket{ticket.load(std::memory_order_acquire)}.has_more()) {
        return;
      }
    }
    // Announced before the last look: whoever calls after that look sees the sleeper.
    ++sleepers;
    const std::uint32_t seen = calls.load();
    if (!Ticket{ticket.load()}.has_more() && !stop.load()) {
      wait(calls, seen);
    }
    --sleepers;
  }

  void await_all() {
    for (int i = 0; i < kSpins; ++i) {
      if (pending.load(std::memory_order_acquire) == 0) {
        return;
      }
    }
    caller_sleeps = true;
    for (std::uint32_t seen = pending.load(); seen != 0; seen = pending.load()) {
      wait(pending, seen);
    }
    caller_sleeps = false;
  }

  void wake_sleepers() {
    if (sleepers.load() > 0) {
      ++calls;
      wake(calls);
    }
  }

  void serve(int thread) {
    while (!stop.load()) {
      work(thread);
      await_call();
    }
  }

  void run(int num_pieces, Call function, const void* argument) {
    if (busy.exchange(true)) {
      for (int piece = 0; piece < num_pieces; ++piece) {
        function(argument, piece, 0);
      }
      return;
    }
    call = function;
    context = argument;
    pending = static_cast<std::uint32_t>(num_pieces);
    ticket = static_cast<std::uint32_t>(num_pieces) << 16;
    wake_sleepers();
    work(0);
    await_all();
    busy = false;
  }
};

#ifdef RELATA_SERVED

Parallel::State Parallel::State::shared;

Parallel::Parallel(int num_threads) : num_threads_(num_threads) {}
Parallel::~Parallel() = default;
void Parallel::run(int num_pieces, Call call, const void* context) {
  State::shared.run(num_pieces, call, context);
}
[[gnu::noinline]] void Parallel::serve(int thread) { State::shared.serve(thread); }

#else

void wait(Counter& counter, std::uint32_t seen) { counter.wait(seen); }
void wake(Counter& counter) { counter.notify_all(); }

Parallel::Parallel(int num_threads) : num_threads_(1), state_(std::make_unique<State>()) {
  for (; num_threads_ < num_threads; ++num_threads_) {
    auto& member = state_->members.emplace_back();
    member.state = state_.get();
    member.thread = num_threads_;
    const auto serve = [](void* argument) -> void* {
      const auto& of = *static_cast<State::Member*>(argument);
      of.state->serve(of.thread);
      return nullptr;
    };
    if (pthread_create(&member.handle, nullptr, serve, &member) != 0) {
      state_->members.pop_back();
      break;
    }
  }
}

Parallel::~Parallel() {
  state_->stop = true;
  ++state_->calls;
  wake(state_->calls);
  for (const State::Member& member : state_->members) {
    pthread_join(member.handle, nullptr);
  }
}

void Parallel::run(int num_pieces, Call call, const void* context) {
  state_->run(num_pieces, call, context);
}

#endif

void split(Parallel* parallel, int count, int step, double work, SplitCall call,
           const void* context) {
  constexpr double kLeastWork = 1 << 18;  // some ten microseconds
  // Pieces of about this size let a thread that is free early help one that was held up.
  constexpr double kPieceWork = 1 << 21;
  constexpr int kMostPieces = 4;  // a thread
  const int threads = parallel != nullptr && work >= kLeastWork ? parallel->num_threads() : 1;
  if (threads == 1) {
    call(context, 0, count, 0);
    return;
  }
  struct Share {
    SplitCall call;
    const void* context;
    int count;
    int step;
    int pieces;
    int bound(int piece) const {
      const std::int64_t steps = (count + step - 1) / step;
      return std::min(static_cast<int>(steps * piece / pieces) * step, count);
    }
  };
  const int each = static_cast<int>(
      std::clamp(work / threads / kPieceWork, 1.0, static_cast<double>(kMostPieces)));
  const Share share{call, context, count, step, each * threads};
  parallel->run(
      share.pieces,
      [](const void* of, int piece, int thread) {
        const auto& all = *static_cast<const Share*>(of);
        const int first = all.bound(piece);
        const int last = all.bound(piece + 1);
        if (first < last) {
          all.call(all.context, first, last, thread);
        }
      },
      &share);
}

}  // namespace relata

#else

namespace relata {

struct Parallel::State {};

Parallel::Parallel(int) : num_threads_(1) {}
Parallel::~Parallel() = default;
void Parallel::run(int num_pieces, Call call, const void* context) {
  for (int piece = 0; piece < num_pieces; ++piece) {
    call(context, piece, 0);
  }
}

void split(Parallel*, int count, int, double, SplitCall call, const void* context) {
  call(context, 0, count, 0);
}

}  // namespace relata

#endif
