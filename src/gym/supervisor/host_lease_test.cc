// Tests that processes stop and go on in order, and that the lock is held all the while.
#include "gym/supervisor/host_lease.h"

#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>
#include <sys/file.h>

#include "os/file.h"

namespace kw::gym {
namespace {

using Events = std::vector<std::string>;

class HostLeaseTest : public testing::Test, public Sandboxes, public Background {
 protected:
  Status freeze_others(const std::vector<const sandbox::Sandbox*>& keep_running) override {
    note("freeze but " + std::to_string(keep_running.size()));
    return freezing_;
  }
  Status thaw_others() override {
    note("thaw");
    return {};
  }
  void pause() override { note("pause"); }
  void resume() override { note("resume"); }

  void note(const std::string& what) { events_.push_back(what + (is_held() ? "" : ", not held")); }
  // Another party cannot even share it.
  bool is_held() {
    if (::flock(other_.lock_fd(), LOCK_SH | LOCK_NB) != 0) return true;
    other_.give_back();
    return false;
  }

  os::TempDir folder_ = os::TempDir::make("kw-host-lease-").value();
  TimingLock other_ = TimingLock::open_in(folder_.path()).value();
  HostLease lease_{TimingLock::open_in(folder_.path()).value(), *this, this};
  Status freezing_;
  Events events_;
};

TEST_F(HostLeaseTest, AllElseStandsStillWhileItIsHeld) {
  ASSERT_TRUE(lease_.acquire({nullptr, nullptr}));
  EXPECT_EQ(events_, (Events{"pause", "freeze but 2"}));
  lease_.release();
  EXPECT_EQ(events_, (Events{"pause", "freeze but 2", "thaw", "resume"}));
  EXPECT_FALSE(is_held());
}

TEST_F(HostLeaseTest, IsHeldAndGivenBackWhereSandboxesDoNotFreeze) {
  freezing_ = fail(ErrorCode::kDeadlineExceeded, "the cgroup does not freeze");
  ASSERT_TRUE(lease_.acquire({}));
  EXPECT_TRUE(is_held());
  lease_.release();
  EXPECT_EQ(events_, (Events{"pause", "freeze but 0", "thaw", "resume"}));
  EXPECT_FALSE(is_held());
}

TEST_F(HostLeaseTest, NeedsNoBackground) {
  HostLease lease(TimingLock::open_in(folder_.path()).value(), *this, nullptr);
  ASSERT_TRUE(lease.acquire({}));
  lease.release();
  EXPECT_EQ(events_, (Events{"freeze but 0", "thaw"}));
}

TEST_F(HostLeaseTest, CountsTheTimeThatItIsHeld) {
  using std::chrono::nanoseconds;
  EXPECT_EQ(lease_.held(), nanoseconds(0));
  nanoseconds before{0};
  for (int i = 0; i < 2; ++i) {
    ASSERT_TRUE(lease_.acquire({}));
    while (lease_.held() < before + std::chrono::milliseconds(1)) {
    }
    lease_.release();
    const nanoseconds after = lease_.held();
    EXPECT_GE(after, before + std::chrono::milliseconds(1));
    EXPECT_EQ(lease_.held(), after);
    before = after;
  }
}

// Each GPU has sandboxes of its own; nothing of the other's stops.
class RecordedSandboxes : public Sandboxes {
 public:
  Status freeze_others(const std::vector<const sandbox::Sandbox*>& keep_running) override {
    kept_running.push_back(keep_running.size());
    return {};
  }
  Status thaw_others() override {
    ++thawed;
    return {};
  }
  std::vector<std::size_t> kept_running;
  int thawed = 0;
};

TEST_F(HostLeaseTest, LeasesOfTwoGpusAreHeldAtOnce) {
  auto lock_of = [&](std::string_view resource) {
    return TimingLock::open_in(folder_.path(), "", resource).value();
  };
  RecordedSandboxes on_first, on_second;
  HostLease first(lock_of("gpu0"), on_first, nullptr);
  HostLease second(lock_of("gpu1"), on_second, nullptr);
  ASSERT_TRUE(first.acquire({nullptr}));
  TimingLock looks = lock_of("gpu1");
  ASSERT_EQ(::flock(looks.lock_fd(), LOCK_EX | LOCK_NB), 0);
  looks.give_back();
  ASSERT_TRUE(second.acquire({nullptr, nullptr}));
  EXPECT_NE(::flock(looks.lock_fd(), LOCK_SH | LOCK_NB), 0);
  EXPECT_EQ(on_first.kept_running, std::vector<std::size_t>{1});
  EXPECT_EQ(on_second.kept_running, std::vector<std::size_t>{2});
  EXPECT_NE(::flock(other_.lock_fd(), LOCK_EX | LOCK_NB), 0);  // the CPU's
  second.release();
  EXPECT_EQ(on_first.thawed, 0);
  EXPECT_EQ(on_second.thawed, 1);
  first.release();
  EXPECT_EQ(on_first.thawed, 1);
  EXPECT_EQ(::flock(other_.lock_fd(), LOCK_EX | LOCK_NB), 0);
  other_.give_back();
}

}  // namespace
}  // namespace kw::gym
