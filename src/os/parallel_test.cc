// Every piece once, on several threads, and on one inside another loop.
#include "os/parallel.h"

#include <atomic>
#include <mutex>
#include <set>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

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
