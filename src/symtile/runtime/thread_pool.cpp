#include "symtile/runtime/thread_pool.h"

#include <sched.h>

#include <algorithm>
#include <chrono>
#include <system_error>

#include "symtile/base/check.h"

namespace symtile {
namespace {

void pause() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  __asm__ __volatile__("yield");
#endif
}

/// Polls `done` for about `microseconds`; false when it never held.
template <typename F>
bool spin(int microseconds, F&& done) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::microseconds(microseconds);
  do {
    for (int i = 0; i < 32; ++i) {
      if (done()) return true;
      pause();
    }
  } while (std::chrono::steady_clock::now() < end);
  return done();
}

constexpr int kWorkerSpin = 60;  // microseconds; longer than the gaps between kernels of one run
constexpr int kCallerSpin = 30;

}  // namespace

int ThreadPool::available_processors() {
  cpu_set_t set;
  if (sched_getaffinity(0, sizeof set, &set) == 0) return std::max(CPU_COUNT(&set), 1);
  return std::max(static_cast<int>(std::thread::hardware_concurrency()), 1);
}

ThreadPool::ThreadPool(int threads) {
  SYMTILE_CHECK(threads >= 1 && threads <= static_cast<int>(kActive));
  try {
    for (int i = 1; i < threads; ++i) workers_.emplace_back([this, i] { work(i); });
  } catch (const std::system_error& e) {
    stop();
    throw EnvironmentError(
        fmt::format("cannot start thread {} of {}: {}", workers_.size() + 1, threads, e.what()));
  }
}

ThreadPool::~ThreadPool() { stop(); }

void ThreadPool::stop() {
  stopping_.store(true);
  state_.fetch_add(kNumber);
  state_.notify_all();
  for (std::thread& t : workers_) t.join();
  workers_.clear();
}

void ThreadPool::run(int64_t extent, int64_t grain, Body body, void* context) {
  loop_ = {extent, std::max<int64_t>(grain, 1), body, context};
  next_.store(0, std::memory_order_relaxed);
  const uint32_t number = (state_.load(std::memory_order_relaxed) & ~(kActive | kOpen)) + kNumber;
  state_.store(number | kOpen, std::memory_order_release);
  state_.notify_all();

  run_chunks(0);

  // Closing and counting is one step: whoever is inside now is waited for, nobody else enters.
  if ((state_.fetch_and(~kOpen, std::memory_order_acq_rel) & kActive) == 0) return;
  const auto empty = [&] { return (state_.load(std::memory_order_acquire) & kActive) == 0; };
  while (!spin(kCallerSpin, empty)) {
    const uint32_t before = left_.load(std::memory_order_acquire);
    if (empty()) return;
    left_.wait(before, std::memory_order_acquire);
  }
}

void ThreadPool::run_chunks(int worker) {
  const Loop loop = loop_;
  for (;;) {
    const int64_t begin = next_.fetch_add(loop.grain, std::memory_order_relaxed);
    if (begin >= loop.extent) return;
    loop.body(loop.context, worker, begin, std::min(begin + loop.grain, loop.extent));
  }
}

void ThreadPool::work(int worker) {
  uint32_t done = 0;  // number of the last loop this worker took part in
  for (;;) {
    uint32_t state = state_.load(std::memory_order_acquire);
    if (stopping_.load(std::memory_order_relaxed)) return;
    const uint32_t number = state & ~(kActive | kOpen);
    if ((state & kOpen) != 0 && number != done) {
      if (!state_.compare_exchange_weak(state, state + 1, std::memory_order_acq_rel)) continue;
      done = number;
      run_chunks(worker);
      const uint32_t after = state_.fetch_sub(1, std::memory_order_acq_rel) - 1;
      if ((after & (kOpen | kActive)) == 0) {
        left_.fetch_add(1, std::memory_order_release);
        left_.notify_one();
      }
      continue;
    }
    const auto number_now = [&](uint32_t now) { return now & ~(kActive | kOpen); };
    if (spin(kWorkerSpin, [&] { return number_now(state_.load()) != number; })) continue;
    // Sleeping on a state just seen to be old: a change in between (a stop, too) is not missed.
    state = state_.load();
    if (number_now(state) == number) state_.wait(state);
  }
}

}  // namespace symtile
