// The end of sandboxes, whatever is in them: kill, exit, the supervisor's death. Nothing may stay
// behind.
#include <csignal>
#include <fstream>
#include <thread>

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/text.h"
#include "os/file.h"
#include "os/message.h"
#include "testing/sandboxes.h"

namespace kw::sandbox {
namespace {

using Clock = std::chrono::steady_clock;

// Half of the sandbox's own limit, at which it would kill process by process. The processes to be
// killed need a core each, which a busy machine gives late.
constexpr seconds kLongestKill{15};

class EndingTest : public SandboxTest {
 protected:
  // Starts, waits until the sandbox holds at least `processes` of them, kills, and returns how long
  // the killing took.
  milliseconds kill_time(std::vector<std::string> probe, std::size_t processes,
                         const std::function<void(Spec&)>& change = {}) {
    auto sandbox = start(std::move(probe), change);
    if (!sandbox) {
      ADD_FAILURE() << sandbox.error().message();
      return milliseconds(0);
    }
    EXPECT_TRUE(eventually([&] { return sandbox_processes().size() >= processes; }))
        << sandbox_processes().size();
    auto begin = Clock::now();
    auto killed = (*sandbox)->kill();
    auto took = std::chrono::duration_cast<milliseconds>(Clock::now() - begin);
    EXPECT_TRUE(killed) << killed.error().message();
    EXPECT_THAT(sandbox_processes(), ::testing::IsEmpty());
    return took;
  }
};

TEST_F(EndingTest, DaemonsDieWithTheCandidate) {
  EXPECT_EQ(run({"daemons", "10", "exit"}).code, 0);
  expect_nothing_left();
}

TEST_F(EndingTest, KillTakesDaemonsThatIgnoreEverything) {
  EXPECT_LT(kill_time({"daemons", "20", "stay"}, 20), kLongestKill);
  expect_nothing_left();
}

TEST_F(EndingTest, KillTakesForkBombs) {
  const Reached& reached = launcher().reached();
  // Without a limit on processes a bomb would hit this host.
  if (!reached.process_group && !reached.layers.user_namespace && !reached.layers.own_uid) return;
  EXPECT_LT(kill_time({"fork_bomb"}, 60, [](Spec& spec) { spec.limits.processes = 64; }),
            kLongestKill);
  expect_nothing_left();
}

TEST_F(EndingTest, KillTakesStoppedAndDeafPrograms) {
  EXPECT_LT(kill_time({"stop_self"}, 1), kLongestKill);
  EXPECT_LT(kill_time({"ignore"}, 1), kLongestKill);
  expect_nothing_left();
}

TEST_F(EndingTest, WaitSaysThatItStillRuns) {
  auto sandbox = start({"sleep"});
  ASSERT_TRUE(sandbox);
  auto exit = (*sandbox)->wait(milliseconds(20));
  ASSERT_FALSE(exit);
  EXPECT_EQ(exit.error().code(), ErrorCode::kDeadlineExceeded);
  ASSERT_TRUE((*sandbox)->kill());
  exit = (*sandbox)->wait(milliseconds(0));
  ASSERT_TRUE(exit);
  EXPECT_TRUE(exit->signalled);
  EXPECT_EQ(exit->code, SIGKILL);
  EXPECT_FALSE(exit->out_of_memory);
}

TEST_F(EndingTest, DestructionKills) {
  {
    ASSERT_TRUE(start({"ignore"}));
  }
  expect_nothing_left();
}

TEST_F(EndingTest, KilledInitTakesEverythingWithIt) {
  if (!launcher().reached().layers.namespaces) return;
  auto sandbox = start({"daemons", "5", "stay"});
  ASSERT_TRUE(sandbox);
  ASSERT_EQ(::kill((*sandbox)->pid(), SIGKILL), 0);
  auto exit = (*sandbox)->wait(seconds(10));
  ASSERT_TRUE(exit);
  EXPECT_TRUE(exit->signalled);
  sandbox->reset();
  expect_nothing_left();
}

class WithoutNamespacesEndingTest : public EndingTest {
 protected:
  void SetUp() override { tuning_.at_most = Level::kBasic; }
};

TEST_F(WithoutNamespacesEndingTest, KillFindsDaemonsBelowTheInit) {
  EXPECT_EQ(run({"daemons", "10", "exit"}).code, 0);
  EXPECT_THAT(sandbox_processes(), ::testing::IsEmpty());
  EXPECT_LT(kill_time({"daemons", "20", "stay"}, 20), kLongestKill);
  EXPECT_LT(kill_time({"stop_self"}, 1), kLongestKill);
}

// A supervisor in a process of its own, which is killed while its sandboxes run and spares wait.
class SupervisorDeathTest : public EndingTest {
 protected:
  void expect_clean_after_kill(const Tuning& tuning, bool frozen) {
    probe_program();  // made before the fork: both processes mean the same one
    int ends[2];
    ASSERT_EQ(::pipe(ends), 0);
    pid_t supervisor = ::fork();
    ASSERT_GE(supervisor, 0);
    if (supervisor == 0) ::_exit(supervise(tuning, frozen, ends[1]));
    ::close(ends[1]);
    std::string left = os::read_to_end(ends[0], 1U << 16U).value_or("");
    ::close(ends[0]);
    ASSERT_FALSE(left.empty()) << "the supervisor did not start its sandboxes";
    EXPECT_EQ(sandbox_processes().size(), 6U);
    ::kill(supervisor, SIGKILL);
    ::waitpid(supervisor, nullptr, 0);
    EXPECT_TRUE(eventually([] { return sandbox_processes().empty(); }))
        << ::testing::PrintToString(sandbox_processes());
    std::size_t spares = 0;
    for (const std::string& path : split(left, '\n')) {
      EXPECT_TRUE(eventually([&] { return ::access(path.c_str(), F_OK) != 0; })) << path;
      if (path.starts_with("/proc/")) ++spares;
    }
    EXPECT_EQ(spares, SparePool::kNative);
  }

 private:
  // Tells its cgroups and its spares' folders in /proc when everything runs, then waits to be
  // killed.
  static int supervise(const Tuning& tuning, bool frozen, int report) {
    Launcher::Options options;
    options.launcher_program = binary("kernelwright-launcher");
    auto launcher = ProcessLauncher::start(std::move(options), tuning);
    if (!launcher) return 1;
    Spec spec;
    spec.program_fd = probe_program();
    spec.argv = {"probe", "daemons", "5", "stay"};
    auto log = os::make_pipe();
    if (!log) return 3;
    spec.log = std::move(log->write_end);
    auto sandbox = (*launcher)->launch(Where::kNative, std::move(spec));
    if (!sandbox) return 2;
    char first = 0;
    if (::read(log->read_end.get(), &first, 1) != 1) return 3;  // "ready": all daemons are there
    if (frozen && !(*sandbox)->monitor().freeze()) return 4;
    (*launcher)->spares().settle();
    std::vector<std::string> paths = (*launcher)->group_folders();
    for (pid_t pid : (*launcher)->spares().pids()) paths.push_back("/proc/" + std::to_string(pid));
    if (!os::write_all(report, join(paths, "\n"))) return 5;
    ::close(report);
    for (;;) ::pause();
  }
};

TEST_F(SupervisorDeathTest, TakesEverything) {
  expect_clean_after_kill({}, false);
}
TEST_F(SupervisorDeathTest, TakesFrozenSandboxes) {
  expect_clean_after_kill({}, true);
}
TEST_F(SupervisorDeathTest, TakesSandboxesFrozenBySignals) {
  expect_clean_after_kill({Level::kFull, FreezeKind::kSignals}, true);
}
TEST_F(SupervisorDeathTest, TakesSandboxesWithoutNamespaces) {
  expect_clean_after_kill({Level::kBasic, {}}, false);
}

TEST_F(SupervisorDeathTest, LeftoverGroupsAreRemovedAtTheNextStart) {
  std::vector<std::string> roots = launcher().group_folders();
  if (roots.empty()) return;
  // As if pid 1 had been a supervisor with another start time.
  std::string name = roots[0].substr(roots[0].rfind('/') + 1);
  std::string pid_namespace = split(name, '-').at(3);
  std::string dead = roots[0].substr(0, roots[0].rfind('/')) + "/kernelwright-1-1-" +
                     pid_namespace + "-" + std::to_string(::getpid());
  CgroupFiles files;
  ASSERT_TRUE(files.make_folder(dead));
  // Any supervisor that starts in this moment removes it too.
  if (auto made = files.make_folder(dead + "/executor-1"); !made) {
    ASSERT_FALSE(files.exists(dead)) << made.error().message();
  }
  Launcher::Options options;
  options.launcher_program = binary("kernelwright-launcher");
  auto other = ProcessLauncher::start(std::move(options), Tuning{Level::kNamespaces, {}});
  ASSERT_TRUE(other) << other.error().message();
  EXPECT_FALSE(files.exists(dead));
  EXPECT_TRUE(files.exists(roots[0]));  // the living one's
}

}  // namespace
}  // namespace kw::sandbox
