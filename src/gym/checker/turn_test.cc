// When a turn is given away, and what happens to what runs meanwhile.
#include "gym/checker/turn.h"

#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "os/file.h"

namespace kw::gym {
namespace {

using std::chrono::nanoseconds;

class Journal {
 public:
  void add(const std::string& what) {
    std::lock_guard lock(mutex_);
    lines_.push_back(what);
  }
  std::vector<std::string> lines() {
    std::lock_guard lock(mutex_);
    return lines_;
  }

 private:
  std::mutex mutex_;
  std::vector<std::string> lines_;
};

class JournalMonitor : public sandbox::Monitor {
 public:
  JournalMonitor(Journal& journal, bool can_freeze) : journal_(journal), can_freeze_(can_freeze) {}
  bool can_freeze() const override { return can_freeze_; }
  std::string freeze_kind() const override { return "none"; }
  Status freeze() override {
    std::this_thread::sleep_for(takes_to_freeze);
    journal_.add("frozen");
    return {};
  }
  Status thaw() override {
    journal_.add("thawed");
    return {};
  }
  Result<nanoseconds> cpu_time() override { return nanoseconds(0); }
  Result<sandbox::PageFaults> page_faults() override { return sandbox::PageFaults{}; }
  Result<bool> is_still() override { return true; }
  bool cpu_time_is_whole() const override { return true; }
  sandbox::ThreadTimes first_thread() override { return {}; }
  std::chrono::nanoseconds waited() override { return {}; }
  std::optional<sandbox::Exit> exited() override { return std::nullopt; }

  std::chrono::milliseconds takes_to_freeze{0};

 private:
  Journal& journal_;
  bool can_freeze_;
};

class TurnTest : public testing::Test {
 protected:
  TimingLock party() { return TimingLock::open_in(folder_.path()).value(); }
  // Wants to measure from now on, and does as soon as it can.
  void ask_to_measure() {
    TimingLock looks = party();
    measuring_ = std::jthread([this] {
      TimingLock lock = party();
      ASSERT_TRUE(lock.take_alone());
      journal_.add("measured");
      lock.give_back();
    });
    while (!looks.is_wanted()) std::this_thread::yield();
  }
  std::vector<std::string> when_all_is_over() {
    measuring_.join();
    return journal_.lines();
  }

  Journal journal_;
  JournalMonitor monitor_{journal_, true}, never_still_{journal_, false};

 private:
  os::TempDir folder_ = os::TempDir::make("kw-turn-").value();
  std::jthread measuring_;
};

TEST_F(TurnTest, IsGivenAwayAfterASliceWithWhatRunsFrozen) {
  Turn turn(party(), nanoseconds(0));
  ASSERT_TRUE(turn.begin());
  EXPECT_EQ(turn.make_way(&monitor_).value(), nanoseconds(0));  // nobody waits
  ask_to_measure();
  auto aside = turn.make_way(&monitor_);
  ASSERT_TRUE(aside);
  EXPECT_GT(*aside, nanoseconds(0));
  EXPECT_TRUE(turn.has_begun());
  EXPECT_EQ(when_all_is_over(), (std::vector<std::string>{"frozen", "measured", "thawed"}));
}

// A candidate works until it stands still: its core time would else be longer than its call.
TEST_F(TurnTest, TheTimeToFreezeIsTimeAtWork) {
  monitor_.takes_to_freeze = std::chrono::milliseconds(30);
  Turn turn(party(), nanoseconds(0));
  ASSERT_TRUE(turn.begin());
  ask_to_measure();
  const auto begun = std::chrono::steady_clock::now();
  const auto aside = turn.make_way(&monitor_);
  const auto took = std::chrono::steady_clock::now() - begun;
  ASSERT_TRUE(aside);
  EXPECT_LE(*aside, took - monitor_.takes_to_freeze);
  EXPECT_EQ(when_all_is_over(), (std::vector<std::string>{"frozen", "measured", "thawed"}));
}

TEST_F(TurnTest, IsKeptForASlice) {
  Turn turn(party(), std::chrono::hours(1));
  ASSERT_TRUE(turn.begin());
  ask_to_measure();
  EXPECT_EQ(turn.make_way(&monitor_).value(), nanoseconds(0));
  EXPECT_TRUE(journal_.lines().empty());
  turn.end();
  EXPECT_EQ(when_all_is_over(), std::vector<std::string>{"measured"});
}

TEST_F(TurnTest, IsKeptWhileWhatRunsCannotStandStill) {
  Turn turn(party(), nanoseconds(0));
  ASSERT_TRUE(turn.begin());
  ask_to_measure();
  EXPECT_EQ(turn.make_way(&never_still_).value(), nanoseconds(0));
  EXPECT_TRUE(journal_.lines().empty());
  EXPECT_GT(turn.make_way(nullptr).value(), nanoseconds(0));  // nothing runs
  EXPECT_EQ(when_all_is_over(), std::vector<std::string>{"measured"});
}

TEST_F(TurnTest, WhoMeasuresHasNoneToGiveAway) {
  Turn turn(party(), nanoseconds(0));
  {
    auto scope = TurnScope::begin(turn);
    ASSERT_TRUE(scope);
    turn.end();
    TimingLock own = party();
    ASSERT_TRUE(own.take_alone());
    ask_to_measure();
    EXPECT_EQ(turn.make_way(&monitor_).value(), nanoseconds(0));
    EXPECT_TRUE(journal_.lines().empty());
    own.give_back();
  }
  EXPECT_EQ(when_all_is_over(), std::vector<std::string>{"measured"});
}

}  // namespace
}  // namespace kw::gym
