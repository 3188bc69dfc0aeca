// Flushes: how often a GPU executor empties the cache before a call.
#pragma once
#include <chrono>

namespace kw::gpu_executor {

// Once would empty the cache. But a GPU that rested runs its next 0.1 ms at a third of its speed,
// and its clock must be back before the call (docs/gpu.md). And while the GPU flushes, the host
// launches the call, so that its kernels wait for each other and not for launches. One thread.
// python/gpu_executor.py does the same.
class Flushes {
 public:
  // After a rest of at most kNoRest, in which others work on the GPU; of at most kShortRest, and
  // before a program's first call, whose time is not used; and after a longer one.
  static constexpr int kMin = 2;
  static constexpr int kAfterShortRest = 8;
  static constexpr int kAfterRest = 24;
  static constexpr int kMaxFlushes = 400;
  static constexpr auto kNoRest = std::chrono::milliseconds(4);
  static constexpr auto kShortRest = std::chrono::milliseconds(15);

  // Another program comes, whose launching has not been seen.
  void forget_launching();
  // The host took so long to launch one call. The longest one counts, a quarter less with each call
  // after it: a program's first launch may load its code.
  void saw_launching(std::chrono::nanoseconds host);
  // The GPU took so long for `count` flushes.
  void saw_flushing(std::chrono::nanoseconds all, int count);

  // rest: since the end of the last work that this process gave to the GPU.
  int before_call(std::chrono::nanoseconds rest) const;

 private:
  std::chrono::nanoseconds launching_{0}, one_{0};  // 0: not seen
};

}  // namespace kw::gpu_executor
