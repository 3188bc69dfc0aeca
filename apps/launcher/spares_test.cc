// Spares: inits made ahead. They are used, hold nothing, do nothing, and end with their launcher.
#include <csignal>
#include <filesystem>
#include <thread>

#include <unistd.h>

#include "base/text.h"
#include "os/file.h"
#include "testing/sandboxes.h"

namespace kw::sandbox {
namespace {

using ::testing::Contains;
using ::testing::Not;

std::string process_file(pid_t pid, const std::string& name) {
  return os::read_file("/proc/" + std::to_string(pid) + "/" + name, 1U << 16U).value_or("");
}

// Behind the name in brackets: state, parent, ...
std::vector<std::string> stat_fields(pid_t pid) {
  std::string text = process_file(pid, "stat");
  std::size_t bracket = text.rfind(") ");
  return bracket == std::string::npos ? std::vector<std::string>{}
                                      : split(text.substr(bracket + 2), ' ');
}

class SparesTest : public SandboxTest, public ::testing::WithParamInterface<Level> {
 protected:
  void SetUp() override {
    tuning_.at_most = GetParam();
    ASSERT_EQ(run({"exit", "0"}).code, 0);
  }
  // Of a launcher that has launched something; all of them wait for their request.
  std::vector<pid_t> spares() {
    launcher().spares().settle();
    std::vector<pid_t> pids = launcher().spares().pids();
    // Pausing waits until they are ready; the last step into the wait follows.
    launcher().spares().pause();
    launcher().spares().resume();
    for (pid_t pid : pids) {
      EXPECT_TRUE(eventually([pid] {
        std::vector<std::string> fields = stat_fields(pid);
        return !fields.empty() && fields[0] == "S";
      })) << pid;
    }
    return pids;
  }
};

TEST_P(SparesTest, LaunchesTakeTheOldestAndItIsReplaced) {
  std::vector<pid_t> before = spares();
  ASSERT_EQ(before.size(), SparePool::kNative);
  auto sandbox = start({"sleep"});
  ASSERT_TRUE(sandbox) << sandbox.error().message();
  EXPECT_EQ((*sandbox)->pid(), before[0]);
  std::vector<pid_t> after = spares();
  EXPECT_EQ(after.size(), SparePool::kNative);
  EXPECT_THAT(after, Not(Contains(before[0])));
  sandbox->reset();
  expect_nothing_left();
}

TEST_P(SparesTest, NoneIsMadeBeforeTheFirstLaunchOrWhenSwitchedOff) {
  Launcher::Options options;
  options.launcher_program = binary("kernelwright-launcher");
  for (bool on : {true, false}) {
    auto fresh = ProcessLauncher::start(options, {GetParam(), {}, on});
    ASSERT_TRUE(fresh) << fresh.error().message();
    if (!on) {
      Spec spec;
      spec.argv = {"/bin/true"};
      auto sandbox = (*fresh)->launch(Where::kNative, std::move(spec));
      ASSERT_TRUE(sandbox) << sandbox.error().message();
    }
    (*fresh)->spares().settle();
    EXPECT_THAT((*fresh)->spares().pids(), ::testing::IsEmpty());
  }
}

TEST_P(SparesTest, IdleOnesUseNoProcessorTime) {
  std::vector<pid_t> pids = spares();
  const auto times = [&] {
    std::vector<std::string> out;
    for (pid_t pid : pids) out.push_back(process_file(pid, "schedstat"));
    return out;
  };
  // A process sleeps a moment before it has left its core.
  EXPECT_TRUE(eventually([&] {
    const std::vector<std::string> before = times();
    std::this_thread::sleep_for(milliseconds(100));
    return times() == before;
  }));
}

TEST_P(SparesTest, HoldNoDescriptorsOfOthers) {
  auto other = start({"sleep"});
  ASSERT_TRUE(other) << other.error().message();
  for (pid_t pid : spares()) {
    std::vector<std::string> kinds;
    std::error_code error;
    std::string folder = "/proc/" + std::to_string(pid) + "/fd";
    for (const auto& entry : std::filesystem::directory_iterator(folder, error)) {
      std::string target = std::filesystem::read_symlink(entry.path(), error).string();
      kinds.push_back(target.substr(0, target.find(':')));
    }
    if (error && ::geteuid() != 0) GTEST_SKIP() << "a plain user may not look";
    // Status and command; the two filters; the host's root.
    std::vector<std::string> own = {"socket", "socket", "/memfd", "/memfd"};
    if (launcher().reached().layers.namespaces) own.emplace_back("/host");
    EXPECT_THAT(kinds, ::testing::UnorderedElementsAreArray(own));
  }
}

TEST_P(SparesTest, HaveNoUidAndAGroupOfTheirOwn) {
  for (pid_t pid : spares()) {
    EXPECT_TRUE(process_file(pid, "status").find("Uid:\t" + std::to_string(::geteuid()) + "\t") !=
                std::string::npos)
        << process_file(pid, "status");
  }
  std::vector<std::string> members;
  for (const std::string& folder : launcher().spares().group_folders()) {
    if (folder.find("/pids/") == std::string::npos) continue;
    members.emplace_back(trim(os::read_file(folder + "/cgroup.procs", 4096).value_or("")));
  }
  if (members.empty()) return;
  std::vector<std::string> expected;
  for (pid_t pid : spares()) expected.push_back(std::to_string(pid));
  EXPECT_THAT(members, ::testing::UnorderedElementsAreArray(expected));
  EXPECT_EQ(launcher().leased_uids(), 0U);
}

TEST_P(SparesTest, KilledOnesAreNotHandedOut) {
  std::vector<pid_t> pids = spares();
  for (pid_t pid : {pids[0], pids[1]}) {
    ASSERT_EQ(::kill(pid, SIGKILL), 0);
    EXPECT_TRUE(eventually([pid] { return stat_fields(pid).empty(); }));
  }
  auto sandbox = start({"sleep"});
  ASSERT_TRUE(sandbox) << sandbox.error().message();
  EXPECT_EQ((*sandbox)->pid(), pids[2]);
  sandbox->reset();
  expect_nothing_left();
}

TEST_P(SparesTest, LimitsAreThoseOfTheLaunch) {
  if (!launcher().reached().process_group) return;
  for (std::uint32_t processes : {20U, 40U}) {
    auto sandbox = start({"sleep"}, [&](Spec& spec) {
      spec.limits.processes = processes;
      spec.limits.memory_bytes = std::uint64_t{processes} << 20U;
      spec.cpus = {0};
    });
    ASSERT_TRUE(sandbox) << sandbox.error().message();
    std::string groups = process_file((*sandbox)->candidate_pid(), "cgroup");
    std::size_t at = groups.find("/sandbox-");
    ASSERT_NE(at, std::string::npos) << groups;
    std::string name = groups.substr(at, groups.find('\n', at) - at);
    for (const std::string& root : launcher().group_folders()) {
      CgroupFiles files;
      auto expect = [&](const char* file, const std::string& value) {
        if (!files.exists(root + name + file)) return;
        EXPECT_EQ(files.read(root + name + file).value(), value) << root << name << file;
      };
      expect("/pids.max", std::to_string(processes + 1));
      expect("/memory.limit_in_bytes", std::to_string(std::uint64_t{processes} << 20U));
      expect("/memory.memsw.limit_in_bytes", std::to_string(std::uint64_t{processes} << 20U));
      expect("/cpuset.cpus", "0");
    }
  }
}

TEST_P(SparesTest, EndWithTheirLauncher) {
  Launcher::Options options;
  options.launcher_program = binary("kernelwright-launcher");
  auto fresh = ProcessLauncher::start(std::move(options), {GetParam(), {}});
  ASSERT_TRUE(fresh) << fresh.error().message();
  Spec spec;
  spec.argv = {"/bin/true"};
  ASSERT_TRUE((*fresh)->launch(Where::kNative, std::move(spec)));
  (*fresh)->spares().settle();
  std::vector<pid_t> pids = (*fresh)->spares().pids();
  ASSERT_EQ(pids.size(), SparePool::kNative);
  std::vector<std::string> fields = stat_fields(pids[0]);
  ASSERT_GT(fields.size(), 2U);
  ASSERT_EQ(::kill(static_cast<pid_t>(std::stol(fields[1])), SIGKILL), 0);
  for (pid_t pid : pids) {
    EXPECT_TRUE(eventually([pid] {
      auto now = stat_fields(pid);
      return now.empty() || now[0] == "Z";
    })) << pid;
  }
  std::vector<std::string> folders = (*fresh)->group_folders();
  fresh->reset();
  for (const std::string& folder : folders) EXPECT_NE(::access(folder.c_str(), F_OK), 0) << folder;
}

INSTANTIATE_TEST_SUITE_P(Levels, SparesTest, ::testing::Values(Level::kFull, Level::kBasic),
                         [](const auto& level) {
                           return "Level" + std::to_string(static_cast<int>(level.param));
                         });

}  // namespace
}  // namespace kw::sandbox
