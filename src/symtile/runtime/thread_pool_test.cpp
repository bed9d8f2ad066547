#include "symtile/runtime/thread_pool.h"

#include <gtest/gtest.h>

#include <atomic>

namespace symtile {
namespace {

struct Counts {
  std::vector<std::atomic<int>> seen;
  std::atomic<int> bad_worker{0};
  int threads;
};

void count(void* context, int worker, int64_t begin, int64_t end) {
  auto& c = *static_cast<Counts*>(context);
  if (worker < 0 || worker >= c.threads) ++c.bad_worker;
  for (int64_t i = begin; i < end; ++i) ++c.seen[static_cast<size_t>(i)];
}

TEST(ThreadPool, EveryIterationRunsOnce) {
  for (int threads : {1, 2, 5}) {
    ThreadPool pool(threads);
    EXPECT_EQ(pool.threads(), threads);
    for (int64_t extent : {0, 1, 7, 1000}) {
      for (int64_t grain : {1, 3, 2000}) {
        Counts c{std::vector<std::atomic<int>>(static_cast<size_t>(extent)), {}, threads};
        pool.run(extent, grain, count, &c);
        for (auto& s : c.seen) EXPECT_EQ(s, 1);
        EXPECT_EQ(c.bad_worker, 0);
      }
    }
  }
}

TEST(ThreadPool, ManyShortLoops) {
  ThreadPool pool(4);
  std::atomic<int64_t> sum{0};
  for (int i = 0; i < 20000; ++i) {
    pool.run(
        4, 1,
        [](void* context, int, int64_t begin, int64_t end) {
          *static_cast<std::atomic<int64_t>*>(context) += end - begin;
        },
        &sum);
  }
  EXPECT_EQ(sum, 80000);
}

TEST(ThreadPool, StopsWhileWorkersSleepOrSpin) {
  for (int i = 0; i < 200; ++i) {
    ThreadPool pool(3);
    if (i % 2) {
      Counts c{std::vector<std::atomic<int>>(10), {}, 3};
      pool.run(10, 1, count, &c);
    }
    if (i % 50 == 0) std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
}

}  // namespace
}  // namespace symtile
