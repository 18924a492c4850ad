// A pool of threads, passed as an argument to what may split its work. Work is split statically and
// every result is worked out by one thread in the order it has anyway: the number of threads does
// not change a bit. A build without threads (RELATA_THREADS unset) has pools of one.
#pragma once

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

  int num_threads() const;
  /// body(thread) for each thread below num_threads(), the caller being thread 0; returns when all
  /// are done. A second caller at the same time does all of its work itself. The body must not call
  /// the pool.
  template <class Body>
  void run(const Body& body) {
    run([](const void* context, int thread) { (*static_cast<const Body*>(context))(thread); },
        &body);
  }

 private:
  using Call = void (*)(const void* context, int thread);
  void run(Call call, const void* context);

  struct State;
  std::unique_ptr<State> state_;
};

/// body(first, last, thread) over [0, count) in one share per thread of the pool (null: one share),
/// each beginning at a multiple of `step`. Too little work (in multiply-adds) is not worth a
/// thread.
template <class Body>
void split(Parallel* parallel, int count, int step, double work, const Body& body) {
  constexpr double kLeastWork = 1 << 18;  // some ten microseconds
  const int threads = parallel != nullptr && work >= kLeastWork ? parallel->num_threads() : 1;
  if (threads == 1) {
    body(0, count, 0);
    return;
  }
  const std::int64_t steps = (static_cast<std::int64_t>(count) + step - 1) / step;
  parallel->run([&](int thread) {
    const auto bound = [&](int share) {
      const std::int64_t at = steps * share / threads * step;
      return static_cast<int>(at < count ? at : count);
    };
    if (bound(thread) < bound(thread + 1)) {
      body(bound(thread), bound(thread + 1), thread);
    }
  });
}

}  // namespace relata
