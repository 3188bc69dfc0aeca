// Tests of the timing lock: shared and exclusive holders, and the order of those that wait.
#include "gym/measure/timing_lock.h"

#include <atomic>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include <gtest/gtest.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "os/file.h"

namespace kw::gym {
namespace {

class TimingLockTest : public testing::Test {
 protected:
  TimingLock party(std::string_view resource = TimingLock::kCpu) {
    return TimingLock::open_in(folder_.path(), "", resource).value();
  }
  // Whether one more party could share the resource's own lock, or take it alone, without waiting.
  bool is_free(std::string_view resource, int how) {
    TimingLock looks = party(resource);
    return ::flock(looks.lock_fd(), how | LOCK_NB) == 0;
  }
  // Counts those that wait for a file, as the kernel lists them.
  int waiting_for(int fd) {
    struct stat file{};
    ::fstat(fd, &file);
    const std::string inode = ":" + std::to_string(file.st_ino) + " ";
    int found = 0;
    for (std::string rest = os::read_file("/proc/locks", 1U << 20U).value(); !rest.empty();) {
      const std::string line = rest.substr(0, rest.find('\n'));
      rest.erase(0, line.size() + 1);
      found += line.find("->") != std::string::npos && line.find(inode) != std::string::npos;
    }
    return found;
  }
  void note(const std::string& what) {
    std::lock_guard lock(mutex_);
    order_.push_back(what);
  }
  std::vector<std::string> order() {
    std::lock_guard lock(mutex_);
    return order_;
  }

 private:
  os::TempDir folder_ = os::TempDir::make("kw-timing-lock-").value();
  std::mutex mutex_;
  std::vector<std::string> order_;
};

TEST_F(TimingLockTest, ManyShareItAndOneHasItWhenAllHaveGivenItBack) {
  TimingLock one = party(), two = party(), three = party();
  ASSERT_TRUE(one.take_shared());
  ASSERT_TRUE(two.take_shared());
  EXPECT_FALSE(one.is_wanted());
  std::jthread alone([&] {
    ASSERT_TRUE(three.take_alone());
    note("alone");
  });
  while (!one.is_wanted()) std::this_thread::yield();
  two.give_back();
  note("two");
  one.give_back();
  alone.join();
  EXPECT_EQ(order(), (std::vector<std::string>{"two", "alone"}));
}

TEST_F(TimingLockTest, NobodyWhoSharesItPassesOneWhoWaitsForIt) {
  TimingLock one = party(), late = party(), measuring = party();
  ASSERT_TRUE(one.take_shared());
  std::jthread alone([&] {
    ASSERT_TRUE(measuring.take_alone());
    note("alone");
    measuring.give_back();
  });
  while (!one.is_wanted()) std::this_thread::yield();
  std::atomic<bool> passed = false;
  std::jthread sharing([&] {
    ASSERT_TRUE(late.take_shared());
    passed = true;
    note("late");
    late.give_back();
  });
  while (!passed && waiting_for(one.queue_fd()) == 0) std::this_thread::yield();
  one.give_back();
  alone.join();
  sharing.join();
  EXPECT_EQ(order(), (std::vector<std::string>{"alone", "late"}));
}

TEST_F(TimingLockTest, WhoTakesItAgainIsBehindThoseWhoWait) {
  TimingLock measuring = party(), sharing = party();
  ASSERT_TRUE(measuring.take_alone());
  std::jthread waits([&] {
    ASSERT_TRUE(sharing.take_shared());
    note("shared");
    sharing.give_back();
  });
  while (!measuring.is_wanted()) std::this_thread::yield();
  measuring.give_back();
  ASSERT_TRUE(measuring.take_alone());
  note("again");
  measuring.give_back();
  waits.join();
  EXPECT_EQ(order(), (std::vector<std::string>{"shared", "again"}));
}

TEST_F(TimingLockTest, TwoGpusAreHeldAtOnceAndTheCpuWaitsForBoth) {
  TimingLock first = party("gpu0"), second = party("gpu1"), measuring = party();
  ASSERT_TRUE(first.take_alone());
  EXPECT_FALSE(is_free("gpu0", LOCK_SH));
  ASSERT_TRUE(is_free("gpu1", LOCK_EX));
  ASSERT_TRUE(is_free("cpu", LOCK_SH));
  ASSERT_TRUE(second.take_alone());
  ASSERT_FALSE(is_free("cpu", LOCK_EX));  // else nobody would wait below
  std::jthread alone([&] {
    ASSERT_TRUE(measuring.take_alone());
    note("cpu");
  });
  while (!first.is_wanted() || !second.is_wanted()) std::this_thread::yield();
  note("gpu0");
  first.give_back();
  EXPECT_TRUE(is_free("gpu0", LOCK_EX));
  EXPECT_FALSE(is_free("cpu", LOCK_EX));
  note("gpu1");
  second.give_back();
  alone.join();
  EXPECT_EQ(order(), (std::vector<std::string>{"gpu0", "gpu1", "cpu"}));
}

TEST_F(TimingLockTest, AGpuWaitsWhileTheCpuIsMeasured) {
  TimingLock measuring = party(), gpu = party("gpu0"), sharing = party("gpu1");
  ASSERT_TRUE(measuring.take_alone());
  std::atomic<int> passed = 0;
  std::jthread alone([&] {
    ASSERT_TRUE(gpu.take_alone());
    note("gpu");
    ++passed;
  });
  std::jthread shared([&] {
    ASSERT_TRUE(sharing.take_shared());
    note("gpu");
    ++passed;
  });
  // One waits for the CPU's lock, and the other one behind it for its queue.
  while (passed == 0 && waiting_for(measuring.lock_fd()) + waiting_for(measuring.queue_fd()) < 2)
    std::this_thread::yield();
  note("cpu");
  measuring.give_back();
  alone.join();
  shared.join();
  EXPECT_EQ(order(), (std::vector<std::string>{"cpu", "gpu", "gpu"}));
}

TEST_F(TimingLockTest, AGpuIsSharedByAllThatDoNotMeasureThere) {
  TimingLock one = party("gpu0"), two = party("gpu0"), measuring = party("gpu0");
  ASSERT_TRUE(one.take_shared());
  ASSERT_TRUE(is_free("gpu0", LOCK_SH));
  ASSERT_TRUE(two.take_shared());
  EXPECT_FALSE(one.is_wanted());
  std::jthread alone([&] {
    ASSERT_TRUE(measuring.take_alone());
    note("alone");
  });
  while (!one.is_wanted()) std::this_thread::yield();
  note("shared");
  one.give_back();
  two.give_back();
  alone.join();
  EXPECT_EQ(order(), (std::vector<std::string>{"shared", "alone"}));
}

TEST_F(TimingLockTest, WhoTakesOverAGpusLockSharesTheCpuToo) {
  const TimingLock given = party("gpu0");
  ASSERT_NE(given.cpu(), nullptr);
  const auto copy = [](int fd) { return os::UniqueFd(::dup(fd)); };
  TimingLock taken(
      copy(given.lock_fd()), copy(given.queue_fd()),
      std::make_unique<TimingLock>(copy(given.cpu()->lock_fd()), copy(given.cpu()->queue_fd())));
  ASSERT_TRUE(taken.take_alone());
  EXPECT_FALSE(is_free("gpu0", LOCK_SH));
  EXPECT_FALSE(is_free("cpu", LOCK_EX));
  EXPECT_TRUE(is_free("cpu", LOCK_SH));
  taken.give_back();
  EXPECT_TRUE(is_free("gpu0", LOCK_EX));
  EXPECT_TRUE(is_free("cpu", LOCK_EX));
}

TEST_F(TimingLockTest, OtherNamesAreNoResources) {
  const os::TempDir folder = os::TempDir::make("kw-timing-lock-").value();
  for (const char* name : {"", "gpu", "gpu00", "gpu1a", "gpu-1", "gpu1000", "../gpu0", "tpu0"}) {
    auto opened = TimingLock::open_in(folder.path(), "", name);
    ASSERT_FALSE(opened) << name;
    EXPECT_EQ(opened.error().code(), ErrorCode::kInvalidArgument) << name;
  }
  EXPECT_TRUE(std::filesystem::is_empty(folder.path()));
}

}  // namespace
}  // namespace kw::gym
