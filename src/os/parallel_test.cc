// Every piece once, on several threads, and on one inside another loop.
#include "os/parallel.h"

#include <algorithm>
#include <atomic>
#include <mutex>
#include <set>
#include <thread>
#include <vector>

#include <gtest/gtest.h>
#include <sched.h>

namespace kw::os {
namespace {

constexpr std::size_t kMuch = 1U << 30U;  // bytes that are worth threads

TEST(Parallel, CallsEveryNumberOnce) {
  std::vector<std::atomic<int>> calls(1000);
  in_parallel(calls.size(), kMuch, [&](std::size_t i) { ++calls[i]; });
  for (const auto& count : calls) EXPECT_EQ(count, 1);
}

TEST(Parallel, PiecesCoverTheRangeAndTheLastIsShorter) {
  std::mutex mutex;
  std::set<std::pair<std::size_t, std::size_t>> pieces;
  in_parallel_pieces(250, 100, kMuch, [&](std::size_t first, std::size_t last) {
    std::lock_guard lock(mutex);
    pieces.emplace(first, last);
  });
  EXPECT_EQ(pieces,
            (std::set<std::pair<std::size_t, std::size_t>>{{0, 100}, {100, 200}, {200, 250}}));
  in_parallel_pieces(0, 100, kMuch, [](std::size_t, std::size_t) { FAIL(); });
}

std::vector<int> cores_of_this_thread() {
  cpu_set_t set;
  CPU_ZERO(&set);
  EXPECT_EQ(::sched_getaffinity(0, sizeof set, &set), 0);
  std::vector<int> cores;
  for (int core = 0; core < CPU_SETSIZE; ++core)
    if (CPU_ISSET(core, &set)) cores.push_back(core);
  return cores;
}

// On a machine with fewer than four cores the loop is on its thread alone.
TEST(Parallel, LoopsBesideTimingStayOnTheCoresOfTheirThread) {
  std::thread begins([] {
    std::vector<int> own = cores_of_this_thread();
    if (own.size() > 3) {
      cpu_set_t fewer;
      CPU_ZERO(&fewer);
      own.erase(own.begin());
      for (int core : own) CPU_SET(static_cast<std::size_t>(core), &fewer);
      ASSERT_EQ(::sched_setaffinity(0, sizeof fewer, &fewer), 0);
    }
    std::mutex mutex;
    std::set<std::thread::id> seen;
    {
      const LoopsBesideTiming loops;
      in_parallel(1000, kMuch, [&](std::size_t) {
        std::lock_guard lock(mutex);
        seen.insert(std::this_thread::get_id());
        EXPECT_EQ(cores_of_this_thread(), own);
      });
    }
    EXPECT_LE(seen.size(), std::max<std::size_t>(2, own.size()) - 1);
  });
  begins.join();
}

TEST(Parallel, LittleWorkAndNestedLoopsStayOnTheirThread) {
  std::mutex mutex;
  std::set<std::thread::id> seen;
  auto note = [&](std::size_t) {
    std::lock_guard lock(mutex);
    seen.insert(std::this_thread::get_id());
  };
  in_parallel(100, 64, note);
  EXPECT_EQ(seen, (std::set<std::thread::id>{std::this_thread::get_id()}));
  in_parallel(8, kMuch, [&](std::size_t) {
    std::thread::id outer = std::this_thread::get_id();
    in_parallel(8, kMuch, [&](std::size_t) { EXPECT_EQ(std::this_thread::get_id(), outer); });
  });
}

}  // namespace
}  // namespace kw::os
