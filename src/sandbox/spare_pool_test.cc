// Which spare is handed out, when new ones are made, and what happens to groups: over made-up
// inits.
#include "sandbox/spare_pool.h"

#include <atomic>
#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "sandbox/testing/fake_cgroup.h"

namespace kw::sandbox {
namespace {

// Event counters stand for descriptors that become readable: a pidfd at the end of the process, a
// status socket when the init is ready.
class SparePoolTest : public ::testing::Test {
 protected:
  Result<Spare> make(Where where) {
    if (fails_) return fail(ErrorCode::kUnavailable, "no host");
    Spare spare;
    spare.parts.spawned.init = ++made_ + (where == Where::kZygote ? 1000 : 0);
    spare.parts.spawned.pidfd.reset(::eventfd(dead_.contains(made_) ? 1 : 0, EFD_CLOEXEC));
    spare.status.reset(::eventfd(1, EFD_CLOEXEC));
    return spare;
  }
  pid_t taken(Where where = Where::kNative) {
    auto spare = pool_.take(where);
    return spare ? spare->parts.spawned.init : -1;
  }

  std::atomic<bool> fails_ = false;
  std::atomic<int> made_ = 0;
  std::set<int> dead_;
  SparePool pool_{[this](Where where) { return make(where); }};
};

TEST_F(SparePoolTest, NothingIsMadeAheadUnlessAskedFor) {
  EXPECT_EQ(taken(), 1);
  pool_.settle();
  EXPECT_EQ(made_, 1);
  EXPECT_THAT(pool_.pids(), ::testing::IsEmpty());
}

TEST_F(SparePoolTest, HandsOutTheOldestOnceAndMakesAnother) {
  pool_.fill(Where::kNative);
  pool_.settle();
  EXPECT_THAT(pool_.pids(), ::testing::ElementsAre(1, 2, 3));
  EXPECT_EQ(taken(), 1);
  pool_.fill(Where::kNative);
  pool_.settle();
  EXPECT_THAT(pool_.pids(), ::testing::ElementsAre(2, 3, 4));
  EXPECT_EQ(taken(Where::kZygote), 1005);  // no spare of the other host
}

TEST_F(SparePoolTest, DeadSparesAreNotHandedOut) {
  dead_ = {1, 2};
  pool_.fill(Where::kNative);
  pool_.settle();
  EXPECT_EQ(taken(), 3);
}

TEST_F(SparePoolTest, AFailureEndsTheFillingUntilTheNextLaunch) {
  fails_ = true;
  pool_.fill(Where::kNative);
  pool_.settle();
  fails_ = false;
  pool_.settle();
  EXPECT_EQ(made_, 0);
  EXPECT_EQ(taken(), 1);
  pool_.fill(Where::kNative);
  pool_.settle();
  EXPECT_EQ(pool_.pids().size(), SparePool::kNative);
}

TEST_F(SparePoolTest, NothingIsMadeOrRemovedWhilePaused) {
  auto folder = os::TempDir::make("kw-spares-").value();
  FakeCgroupFiles files(folder.path().string());
  files.add_v1("memory");
  std::string path = folder.path().string() + "/memory/group";
  ASSERT_TRUE(files.make_folder(path));
  GroupFolders folders;
  folders.memory = path;
  pool_.pause();
  pool_.fill(Where::kZygote);
  pool_.retire(Group(&files, folders));
  pool_.settle();
  EXPECT_EQ(made_, 0);
  EXPECT_TRUE(files.exists(path));
  EXPECT_EQ(taken(), 1);  // a launch still gets one
  pool_.resume();
  pool_.settle();
  EXPECT_EQ(pool_.pids().size(), SparePool::kZygote);
  EXPECT_FALSE(files.exists(path));
}

TEST_F(SparePoolTest, StoppingRemovesWhatWasRetired) {
  auto folder = os::TempDir::make("kw-spares-").value();
  FakeCgroupFiles files(folder.path().string());
  files.add_v1("memory");
  std::string path = folder.path().string() + "/memory/group";
  ASSERT_TRUE(files.make_folder(path));
  GroupFolders folders;
  folders.memory = path;
  pool_.pause();
  pool_.retire(Group(&files, folders));
  pool_.stop();
  EXPECT_FALSE(files.exists(path));
  pool_.fill(Where::kNative);
  EXPECT_EQ(made_, 0);
}

}  // namespace
}  // namespace kw::sandbox
