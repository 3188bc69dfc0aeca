// Output blocks and the big pool under many threads: no block has two owners.
// What one thread can see is tested through the malloc family in python/tests/test_arena.py.
#include <atomic>
#include <cstring>
#include <functional>
#include <latch>
#include <thread>
#include <vector>

#include <gtest/gtest.h>
#include <sys/mman.h>

#include "big_pool.h"
#include "output_blocks.h"

namespace kw::arena {
namespace {

constexpr int kThreads = 4;
constexpr int kRounds = 200'000;
constexpr std::size_t kMiB = std::size_t{1} << 20U;

// Each thread marks what it got, lets others run, and looks whether its mark is still there.
int count_stolen(const std::function<char*(int)>& allocate,
                 const std::function<void(char*)>& release) {
  std::atomic<int> stolen{0};
  std::latch all_here(kThreads);
  auto work = [&](int thread) {
    all_here.arrive_and_wait();
    for (int i = 0; i < kRounds; ++i) {
      char* block = allocate(thread + i);
      if (block == nullptr) continue;
      std::memset(block, thread, 64);
      if (i % 16 == 0) std::this_thread::yield();
      if (block[0] != thread || block[63] != thread) ++stolen;
      release(block);
    }
  };
  std::vector<std::jthread> threads;
  for (int thread = 1; thread <= kThreads; ++thread) threads.emplace_back(work, thread);
  threads.clear();
  return stolen;
}

TEST(OutputBlocks, NoBlockHasTwoOwners) {
  static OutputBlocks blocks;
  void* memory = ::mmap(nullptr, kMiB, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(memory, MAP_FAILED);
  const std::size_t sizes[] = {1000, 100'000};
  ASSERT_GT(blocks.enable(memory, kMiB, sizes, 2), 10U);
  EXPECT_EQ(count_stolen(
                [](int i) {
                  if (i % 64 == 0) blocks.rotate();
                  return static_cast<char*>(blocks.allocate(i % 2 == 0 ? 1000 : 100'000));
                },
                [](char* block) { blocks.release(block); }),
            0);
}

TEST(BigPool, NoBlockHasTwoOwners) {
  static BigPool pool;
  ASSERT_TRUE(pool.enable(64 * kMiB));
  EXPECT_EQ(count_stolen(
                [](int i) {
                  bool zeroed = false;
                  auto units = static_cast<std::size_t>(1 + i % 3);
                  return static_cast<char*>(pool.allocate(units * kMiB, &zeroed));
                },
                [](char* block) { pool.release(block); }),
            0);
}

TEST(BigPool, BlocksAreLargeEnoughAndHardlyLarger) {
  static BigPool pool;
  ASSERT_TRUE(pool.enable(0));
  for (std::size_t units = 1; units < 700; ++units) {
    std::size_t size = units * kMiB - units;
    bool zeroed = false;
    void* block = pool.allocate(size, &zeroed);
    ASSERT_NE(block, nullptr);
    EXPECT_GE(pool.capacity(block), size);
    EXPECT_LE(pool.capacity(block),
              size + size / 4 + BigPool::kUnit);  // the class, or the next one's block
    pool.release(block);
  }
}

}  // namespace
}  // namespace kw::arena
