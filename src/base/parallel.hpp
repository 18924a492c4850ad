// A pool of threads, passed as an argument to what may split its work. Work is cut into pieces that
// do not depend on who takes them, and every result is worked out by one thread in the order it has
// anyway: the number of threads does not change a bit.
//
// RELATA_THREADS: pools start threads; unset, they are of one. RELATA_SERVED: pools start none but
// are served by threads that come from outside, and sleep as these do.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>

namespace relata {

class Parallel {
 public:
  /// A pool of up to `num_threads` in all, the caller counted: fewer where the system gives fewer.
  /// Errors: none; at worst the caller works alone.
  explicit Parallel(int num_threads);
  Parallel(const Parallel&) = delete;
  Parallel& operator=(const Parallel&) = delete;
  ~Parallel();

  int num_threads() const { return num_threads_; }

  using Call = void (*)(const void* context, int piece, int thread);
  /// call(context, piece, thread) for each piece below num_pieces (< 65,536), by whoever of the
  /// threads is free, the caller being thread 0; returns when all are done. A second caller at the
  /// same time does all of its work itself, as thread 0. The call must not call the pool.
  void run(int num_pieces, Call call, const void* context);

  /// RELATA_SERVED: the life of a thread from outside, as thread 1 and up of every pool.
  static void serve(int thread);

 private:
  struct State;
  int num_threads_;
  std::unique_ptr<State> state_;
};

/// Sleeps until somebody wakes those who wait for the counter, unless it is no longer `seen`. May
/// wake early. RELATA_SERVED: both are defined where threads come from.
void wait(std::atomic<std::uint32_t>& counter, std::uint32_t seen);
void wake(std::atomic<std::uint32_t>& counter);

/// How split calls: [first, last) of the work, and the thread below num_threads() that does it.
using SplitCall = void (*)(const void* context, int first, int last, int thread);
void split(Parallel* parallel, int count, int step, double work, SplitCall call,
           const void* context);

/// body(first, last, thread) over [0, count), in pieces that begin at a multiple of `step`, for the
/// threads of the pool (null: one piece). Too little work (in multiply-adds) is not worth a thread.
template <class Body>
void split(Parallel* parallel, int count, int step, double work, const Body& body) {
  split(
      parallel, count, step, work,
      [](const void* context, int first, int last, int thread) {
        (*static_cast<const Body*>(context))(first, last, thread);
      },
      &body);
}

}  // namespace relata
