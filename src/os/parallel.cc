// Two pools of threads a process, each started at the first loop that is worth it.
#include "os/parallel.h"

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <thread>
#include <vector>

#include <sched.h>
#include <unistd.h>

namespace kw::os {
namespace {

constexpr std::size_t kWorthAThread = 1U << 20U;
constexpr std::size_t kMostBeside = 5;  // threads of a loop beside something that is timed
thread_local bool inside = false;       // of a loop already: its threads keep all cores busy
thread_local bool is_beside = false;    // something that is timed

// Children of a pinned thread inherit its core.
void unpin() {
  cpu_set_t all;
  CPU_ZERO(&all);
  long count = std::min<long>(::sysconf(_SC_NPROCESSORS_CONF), CPU_SETSIZE);
  for (long core = 0; core < count; ++core) CPU_SET(static_cast<std::size_t>(core), &all);
  ::sched_setaffinity(0, sizeof all, &all);  // refused: it shares its parent's core
}

// hardware_concurrency() counts the cores that this thread is pinned to.
std::size_t all_cores() {
  return static_cast<std::size_t>(std::max(1L, ::sysconf(_SC_NPROCESSORS_ONLN)));
}

// One core is left to the thread that waits for what is timed.
std::size_t cores_beside() {
  const std::size_t own = std::max(2U, std::thread::hardware_concurrency());
  return std::min(own - 1, kMostBeside);
}

enum class Cores { kAll, kOfItsMaker };

// One loop at a time.
class Pool {
 public:
  // threads: of a loop, the caller's included.
  Pool(std::size_t threads, Cores cores) : cores_(cores) {
    for (std::size_t i = 1; i < threads; ++i) threads_.emplace_back([this] { serve(); });
  }
  Pool(const Pool&) = delete;
  Pool& operator=(const Pool&) = delete;
  ~Pool() {
    {
      std::lock_guard lock(mutex_);
      stopping_ = true;
    }
    wake_.notify_all();
    for (std::thread& thread : threads_) thread.join();
  }

  void run(std::size_t count, const std::function<void(std::size_t)>& work) {
    std::lock_guard one_at_a_time(loop_mutex_);
    {
      std::lock_guard lock(mutex_);
      work_ = &work;
      count_ = count;
      next_ = 0;
      ++loop_;
    }
    wake_.notify_all();
    take_shares(count, work);
    std::unique_lock lock(mutex_);
    work_ = nullptr;  // who has not begun yet has nothing left to do
    idle_.wait(lock, [&] { return busy_ == 0; });
  }

 private:
  void serve() {
    if (cores_ == Cores::kAll) unpin();
    inside = true;
    std::uint64_t seen = 0;
    std::unique_lock lock(mutex_);
    while (true) {
      wake_.wait(lock, [&] { return stopping_ || (work_ != nullptr && loop_ != seen); });
      if (stopping_) return;
      seen = loop_;
      const auto* work = work_;
      std::size_t count = count_;
      ++busy_;
      lock.unlock();
      take_shares(count, *work);
      lock.lock();
      if (--busy_ == 0) idle_.notify_one();
    }
  }

  void take_shares(std::size_t count, const std::function<void(std::size_t)>& work) {
    for (std::size_t i = next_.fetch_add(1); i < count; i = next_.fetch_add(1)) work(i);
  }

  const Cores cores_;
  std::mutex loop_mutex_;
  std::mutex mutex_;  // guards what follows but next_
  std::condition_variable wake_, idle_;
  const std::function<void(std::size_t)>* work_ = nullptr;
  std::size_t count_ = 0;
  std::uint64_t loop_ = 0;
  std::size_t busy_ = 0;
  bool stopping_ = false;
  std::atomic<std::size_t> next_{0};
  std::vector<std::thread> threads_;
};

}  // namespace

void in_parallel(std::size_t count, std::size_t bytes,
                 const std::function<void(std::size_t)>& work) {
  if (inside || count < 2 || bytes < kWorthAThread) {
    for (std::size_t i = 0; i < count; ++i) work(i);
    return;
  }
  const auto run_in = [&](Pool& pool) {
    inside = true;
    pool.run(count, work);
    inside = false;
  };
  if (is_beside) {
    static Pool few(cores_beside(), Cores::kOfItsMaker);
    run_in(few);
  } else {
    static Pool all(all_cores(), Cores::kAll);
    run_in(all);
  }
}

LoopsBesideTiming::LoopsBesideTiming() : before_(is_beside) {
  is_beside = true;
}

LoopsBesideTiming::~LoopsBesideTiming() {
  is_beside = before_;
}

void in_parallel_pieces(std::size_t size, std::size_t piece, std::size_t bytes,
                        const std::function<void(std::size_t, std::size_t)>& work) {
  in_parallel((size + piece - 1) / piece, size * bytes,
              [&](std::size_t i) { work(i * piece, std::min(size, (i + 1) * piece)); });
}

}  // namespace kw::os
