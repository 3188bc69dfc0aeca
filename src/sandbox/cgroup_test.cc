// Control groups of both versions over a fake file system: where groups are made, what is written
// into them, what is removed.
#include "sandbox/cgroup.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "base/text.h"
#include "os/file.h"
#include "sandbox/testing/fake_cgroup.h"

namespace kw::sandbox {
namespace {

TEST(FindHierarchies, ReadsHybridHosts) {
  std::string mounts =
      "30 25 0:26 / /sys/fs/cgroup rw - tmpfs tmpfs rw\n"
      "31 30 0:27 / /sys/fs/cgroup/cpu,cpuacct rw,relatime shared:9 - cgroup cgroup "
      "rw,cpu,cpuacct\n"
      "32 30 0:28 / /sys/fs/cgroup/memory rw,relatime - cgroup cgroup rw,memory\n"
      "33 30 0:29 / /sys/fs/cgroup/unified rw,relatime - cgroup2 cgroup2 rw\n";
  auto found =
      find_hierarchies(mounts, "4:memory:/jobs/7\n3:cpu,cpuacct:/\n2:name=systemd:/\n0::/\n");
  ASSERT_EQ(found.size(), 3U);
  EXPECT_THAT(found[0].controllers, ::testing::ElementsAre("cpu", "cpuacct"));
  EXPECT_EQ(found[0].own_folder, "/sys/fs/cgroup/cpu,cpuacct");
  EXPECT_EQ(found[1].own_folder, "/sys/fs/cgroup/memory/jobs/7");
  EXPECT_TRUE(found[2].unified);
  EXPECT_EQ(found[2].own_folder, "/sys/fs/cgroup/unified");
}

TEST(FindHierarchies, ReadsPureVersionTwoAndContainers) {
  auto host = find_hierarchies("30 25 0:26 / /sys/fs/cgroup rw,nosuid - cgroup2 cgroup2 rw\n",
                               "0::/user.slice/user-0.slice/session-1.scope\n");
  ASSERT_EQ(host.size(), 1U);
  EXPECT_EQ(host[0].own_folder, "/sys/fs/cgroup/user.slice/user-0.slice/session-1.scope");
  // The mount shows only the part below /docker/abc, where this process is.
  auto container = find_hierarchies(
      "30 25 0:26 /docker/abc /sys/fs/cgroup ro - cgroup2 cgroup2 rw\n", "0::/docker/abc/inner\n");
  ASSERT_EQ(container.size(), 1U);
  EXPECT_EQ(container[0].own_folder, "/sys/fs/cgroup/inner");
  EXPECT_TRUE(find_hierarchies("", "0::/\n").empty());
  EXPECT_TRUE(find_hierarchies("nonsense\n1 2 -\n", "0::/\n").empty());
}

class CgroupTest : public ::testing::Test {
 protected:
  Hierarchy unified(const std::string& own = "") {
    return {true, {}, root_ + "/unified", root_ + "/unified" + own};
  }
  Hierarchy v1(const std::string& controller) {
    return {false, {controller}, root_ + "/" + controller, root_ + "/" + controller};
  }
  Result<Group> create(GroupRoot& root, const std::string& name, const std::vector<int>& cpus) {
    KW_TRY(Group group, root.create(name));
    KW_TRY_STATUS(group.limit(limits_, cpus));
    return group;
  }
  os::TempDir folder_ = os::TempDir::make("kw-cgroup-").value();
  std::string root_ = folder_.path().string();
  FakeCgroupFiles files_{root_};
  Limits limits_{.memory_bytes = 1U << 30U, .processes = 64};
};

TEST_F(CgroupTest, PureVersionTwoLimitsFreezesAndRemoves) {
  files_.add_unified("unified", "cpuset cpu io memory pids");
  {
    GroupRoot root = GroupRoot::make(files_, {unified()}, "kernelwright-9");
    EXPECT_THAT(root.missing(), ::testing::IsEmpty());
    EXPECT_TRUE(root.limits_memory() && root.limits_processes() && root.pins_cpus());
    EXPECT_EQ(root.freeze_kind(), FreezeKind::kUnified);
    std::string path = root_ + "/unified/kernelwright-9/executor-1";
    {
      auto group = create(root, "executor-1", {1, 3});
      ASSERT_TRUE(group) << group.error().message();
      EXPECT_THAT(group->folders().all(), ::testing::ElementsAre(path));
      EXPECT_EQ(files_.text(path + "/memory.max"), "1073741824");
      EXPECT_EQ(files_.text(path + "/memory.swap.max"), "0");
      EXPECT_EQ(files_.text(path + "/pids.max"), "65");  // and the init
      EXPECT_EQ(files_.text(path + "/cpuset.cpus"), "1,3");
      std::vector<std::string> names;
      EXPECT_EQ(group->open_procs(names).value().size(), 1U);
      EXPECT_FALSE(group->killed_for_memory());
      files_.put(path, "memory.events", "low 0\noom 1\noom_kill 1\n");
      EXPECT_TRUE(group->killed_for_memory());
      group->kill();
      EXPECT_EQ(files_.text(path + "/cgroup.kill"), "1");
      EXPECT_EQ(files_.text(path + "/cgroup.freeze"), "0");
    }
    EXPECT_FALSE(files_.exists(path));
  }
  EXPECT_FALSE(files_.exists(root_ + "/unified/kernelwright-9"));
}

TEST_F(CgroupTest, GoesUpFromAGroupThatHoldsProcesses) {
  files_.add_unified("unified", "memory pids");
  std::string top = root_ + "/unified";
  ASSERT_TRUE(files_.write(top + "/cgroup.subtree_control", "+memory"));
  ASSERT_TRUE(files_.write(top + "/cgroup.subtree_control", "+pids"));
  ASSERT_TRUE(files_.make_folder(top + "/slice"));
  ASSERT_TRUE(files_.make_folder(top + "/slice/scope"));
  files_.make_busy(top + "/slice/scope");
  GroupRoot root = GroupRoot::make(files_, {unified("/slice/scope")}, "kernelwright-9");
  EXPECT_EQ(root.folders().memory, top + "/slice/kernelwright-9");
  EXPECT_TRUE(root.limits_processes());
  EXPECT_FALSE(root.pins_cpus());
  EXPECT_FALSE(files_.exists(top + "/slice/scope/kernelwright-9"));
}

TEST_F(CgroupTest, WithoutControllersItStillFreezes) {
  files_.add_unified("unified", "memory pids");
  files_.make_busy(root_ + "/unified");
  GroupRoot root = GroupRoot::make(files_, {unified()}, "kernelwright-9");
  EXPECT_FALSE(root.limits_memory());
  EXPECT_EQ(root.freeze_kind(), FreezeKind::kUnified);
  EXPECT_THAT(root.missing(), ::testing::ElementsAre(::testing::HasSubstr("not delegated")));
  auto group = create(root, "x-1", {});
  ASSERT_TRUE(group) << group.error().message();
  EXPECT_FALSE(group->set_memory_limit(1));
}

TEST_F(CgroupTest, ReadOnlyHostGivesNothingAndSaysWhy) {
  files_.add_unified("unified", "memory pids");
  files_.make_read_only(root_ + "/unified");
  GroupRoot root = GroupRoot::make(files_, {unified()}, "kernelwright-9");
  EXPECT_FALSE(root.any());
  EXPECT_EQ(root.freeze_kind(), FreezeKind::kNone);
  EXPECT_THAT(root.missing(), ::testing::ElementsAre(::testing::HasSubstr("kernelwright-9")));
}

TEST_F(CgroupTest, HybridTakesControllersFromVersionOneAndTheFreezerFromTwo) {
  files_.add_unified("unified", "hugetlb");
  for (const char* controller : {"memory", "pids", "cpuset", "cpuacct", "freezer"})
    files_.add_v1(controller);
  GroupRoot root = GroupRoot::make(
      files_, {v1("memory"), v1("pids"), v1("cpuset"), v1("cpuacct"), v1("freezer"), unified()},
      "kernelwright-9");
  EXPECT_THAT(root.missing(), ::testing::IsEmpty());
  EXPECT_EQ(root.freeze_kind(), FreezeKind::kUnified);
  auto group = create(root, "oracle-1", {2});
  ASSERT_TRUE(group) << group.error().message();
  EXPECT_EQ(group->folders().all().size(), 6U);
  EXPECT_EQ(files_.text(root_ + "/memory/kernelwright-9/oracle-1/memory.limit_in_bytes"),
            "1073741824");
  EXPECT_EQ(files_.text(root_ + "/memory/kernelwright-9/oracle-1/memory.memsw.limit_in_bytes"),
            "1073741824");
  EXPECT_EQ(files_.text(root_ + "/cpuset/kernelwright-9/oracle-1/cpuset.cpus"), "2");
  EXPECT_EQ(files_.text(root_ + "/cpuset/kernelwright-9/oracle-1/cpuset.mems"), "0");
  files_.put(root_ + "/memory/kernelwright-9/oracle-1", "memory.oom_control",
             "oom_kill_disable 0\nunder_oom 0\noom_kill 2\n");
  EXPECT_TRUE(group->killed_for_memory());
}

TEST_F(CgroupTest, VersionOneAlone) {
  for (const char* controller : {"memory", "pids", "freezer"}) files_.add_v1(controller);
  GroupRoot root =
      GroupRoot::make(files_, {v1("memory"), v1("pids"), v1("freezer")}, "kernelwright-9");
  EXPECT_EQ(root.freeze_kind(), FreezeKind::kV1);
  auto group = create(root, "x-1", {});
  ASSERT_TRUE(group);
  files_.put(group->folders().freezer, "freezer.state", "FROZEN");
  group->kill();
  EXPECT_EQ(files_.text(group->folders().freezer + "/freezer.state"),
            "THAWED");  // or SIGKILL would wait
}

TEST_F(CgroupTest, GroupsWithProcessesAreNotRemoved) {
  files_.add_unified("unified", "memory pids");
  GroupRoot root = GroupRoot::make(files_, {unified()}, "kernelwright-9");
  auto group = create(root, "x-1", {});
  ASSERT_TRUE(group);
  std::string path = group->folders().unified;
  files_.put(path, "cgroup.procs", "999999\n");
  EXPECT_FALSE(group->remove());
  files_.put(path, "cgroup.procs", "");
  EXPECT_TRUE(group->remove());
}

// Removing takes the control files with it, so what was written is noted.
class NotedFiles : public FakeCgroupFiles {
 public:
  using FakeCgroupFiles::FakeCgroupFiles;
  Status write(const std::string& path, const std::string& value) override {
    if (path.ends_with("memory.reclaim") || path.ends_with("memory.force_empty"))
      released.push_back(path.substr(path.rfind('/') + 1) + " " + value);
    return FakeCgroupFiles::write(path, value);
  }
  std::vector<std::string> released;
};

TEST_F(CgroupTest, WhatASandboxLeavesBehindIsReleasedBeforeItsGroupIsRemoved) {
  NotedFiles files(root_);
  files.add_unified("unified", "memory pids");
  GroupRoot root = GroupRoot::make(files, {unified()}, "kernelwright-9");
  auto group = create(root, "x-1", {});
  ASSERT_TRUE(group);
  files.put(group->folders().memory, "memory.current", "4096\n");
  files.put(group->folders().memory, "memory.reclaim", "");
  files.put(group->folders().memory, "cgroup.procs", "999999\n");
  EXPECT_FALSE(group->remove());
  EXPECT_THAT(files.released, ::testing::IsEmpty());  // what runs keeps its memory
  files.put(group->folders().memory, "cgroup.procs", "");
  EXPECT_TRUE(group->remove());
  EXPECT_THAT(files.released, ::testing::ElementsAre("memory.reclaim 4096"));

  files.released.clear();
  files.add_v1("memory");
  GroupRoot old = GroupRoot::make(files, {v1("memory")}, "kernelwright-8");
  auto second = create(old, "x-1", {});
  ASSERT_TRUE(second);
  EXPECT_TRUE(second->remove());
  EXPECT_THAT(files.released, ::testing::ElementsAre("memory.force_empty 0"));
}

TEST_F(CgroupTest, LeftoversOfDeadSupervisorsOnly) {
  files_.add_unified("unified", "memory pids");
  std::string own = supervisor_group_name(1);
  std::string second = supervisor_group_name(2);
  std::string space = split(own, '-').at(3);
  std::string dead = "kernelwright-" + std::to_string(::getpid()) + "-1-" + space +
                     "-1";                              // our pid, another start time
  std::string elsewhere = "kernelwright-999999-1-1-1";  // another pid namespace: we cannot know
  for (const std::string& name : {own, second, dead, elsewhere, std::string("other")})
    ASSERT_TRUE(files_.make_folder(root_ + "/unified/" + name));
  ASSERT_TRUE(files_.make_folder(root_ + "/unified/" + dead + "/executor-1"));
  remove_leftover_groups(files_, {unified()});
  EXPECT_THAT(files_.folders(root_ + "/unified"),
              ::testing::UnorderedElementsAre(own, second, elsewhere, "other"));
}

}  // namespace
}  // namespace kw::sandbox
