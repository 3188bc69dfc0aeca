// Who stops and goes on in which order, and that the lock is held all the while.
#include "gym/supervisor/host_lease.h"

#include <string>
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

}  // namespace
}  // namespace kw::gym
