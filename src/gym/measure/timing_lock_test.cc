// Who shares the lock, who has it alone, and who is ahead of whom.
#include "gym/measure/timing_lock.h"

#include <atomic>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>
#include <sys/stat.h>

#include "os/file.h"

namespace kw::gym {
namespace {

class TimingLockTest : public testing::Test {
 protected:
  TimingLock party() { return TimingLock::open_in(folder_.path()).value(); }
  // How many wait for a file, as the kernel lists them.
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

}  // namespace
}  // namespace kw::gym
