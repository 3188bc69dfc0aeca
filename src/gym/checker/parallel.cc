// Threads for the length of one call.
#include "gym/checker/parallel.h"

#include <algorithm>
#include <atomic>
#include <thread>
#include <vector>

#include <sched.h>
#include <unistd.h>

namespace kw::gym {
namespace {

constexpr std::size_t kWorthAThread = 1U << 20U;

// Children of a pinned thread inherit its core.
void unpin() {
  cpu_set_t all;
  CPU_ZERO(&all);
  long count = std::min<long>(::sysconf(_SC_NPROCESSORS_CONF), CPU_SETSIZE);
  for (long core = 0; core < count; ++core) CPU_SET(static_cast<std::size_t>(core), &all);
  ::sched_setaffinity(0, sizeof all, &all);  // refused: it shares this thread's core
}

}  // namespace

void in_parallel(std::size_t count, std::size_t bytes,
                 const std::function<void(std::size_t)>& work) {
  std::atomic<std::size_t> next{0};
  auto run = [&] {
    for (std::size_t i = next.fetch_add(1); i < count; i = next.fetch_add(1)) work(i);
  };
  std::vector<std::jthread> others;
  if (bytes >= kWorthAThread) {
    // hardware_concurrency() counts the cores that this thread is pinned to.
    auto cores = static_cast<std::size_t>(std::max(1L, ::sysconf(_SC_NPROCESSORS_ONLN)));
    for (std::size_t i = 1; i < std::min(count, cores); ++i) {
      others.emplace_back([&run] {
        unpin();
        run();
      });
    }
  }
  run();
}

}  // namespace kw::gym
