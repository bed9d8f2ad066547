// Fork-join parallel loops for one session.
//
// The caller takes part in the work, and waits only for workers that joined the loop: a worker that
// wakes late, on a busy machine, costs nothing. Workers spin briefly after a loop, because the next
// one usually follows at once, and then sleep. Only one thread may call run at a time.
#pragma once

#include <atomic>
#include <cstdint>
#include <thread>
#include <vector>

namespace symtile {

class ThreadPool {
 public:
  /// `threads` counts the caller; 1 starts no thread. Throws EnvironmentError.
  explicit ThreadPool(int threads);
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;
  ~ThreadPool();

  int threads() const { return static_cast<int>(workers_.size()) + 1; }

  /// Runs body(context, worker, begin, end) over [0, extent) in chunks of `grain`; `worker` is in
  /// [0, threads) and unique among concurrent calls. The body must not throw.
  using Body = void (*)(void* context, int worker, int64_t begin, int64_t end);
  void run(int64_t extent, int64_t grain, Body body, void* context);

  /// The processors this process may run on.
  static int available_processors();

 private:
  void work(int worker);
  void run_chunks(int worker);
  void stop();

  // state_: number of workers inside the loop, whether it is open to more, and its number.
  static constexpr uint32_t kActive = (1u << 10) - 1;
  static constexpr uint32_t kOpen = 1u << 10;
  static constexpr uint32_t kNumber = 1u << 11;

  struct Loop {
    int64_t extent = 0;
    int64_t grain = 1;
    Body body = nullptr;
    void* context = nullptr;
  };

  Loop loop_;  ///< written only while no worker is inside
  alignas(64) std::atomic<uint32_t> state_{0};
  alignas(64) std::atomic<int64_t> next_{0};
  alignas(64) std::atomic<uint32_t> left_{0};  ///< bumped when the last worker leaves a closed loop
  std::atomic<bool> stopping_{false};
  std::vector<std::thread> workers_;
};

}  // namespace symtile
