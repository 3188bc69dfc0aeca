// Freezing by each mechanism: a frozen sandbox does nothing at all, through the supervisor's
// monitor and through a copied one.
#include <array>
#include <atomic>
#include <csignal>
#include <thread>

#include <sched.h>
#include <sys/mman.h>
#include <unistd.h>

#include "os/memory.h"
#include "testing/sandboxes.h"

namespace kw::sandbox {
namespace {

// Three counters in shared memory: the candidate's process, a child in another session, a thread.
struct Counters {
  os::UniqueFd file;
  os::Mapping page;

  static Counters make() {
    Counters counters;
    counters.file = os::make_memory_file("counters", 4096).value();
    counters.page = os::Mapping::shared(counters.file.get(), 4096, true).value();
    return counters;
  }
  std::array<std::uint64_t, 3> read() const {
    auto* words = reinterpret_cast<std::atomic<std::uint64_t>*>(page.data());
    return {words[0].load(), words[1].load(), words[2].load()};
  }
  std::atomic<std::uint64_t>& word(std::size_t i) const {
    return reinterpret_cast<std::atomic<std::uint64_t>*>(page.data())[i];
  }
  bool all_move() const {
    auto before = read();
    for (int i = 0; i < 2000; ++i) {
      auto now = read();
      if (now[0] != before[0] && now[1] != before[1] && now[2] != before[2]) return true;
      std::this_thread::sleep_for(milliseconds(2));
    }
    return false;
  }
};

class FreezeTest : public SandboxTest, public ::testing::WithParamInterface<FreezeKind> {
 protected:
  void SetUp() override {
    tuning_.freeze = GetParam();
    FreezeKind kind = launcher().reached().freeze;
    if (GetParam() == FreezeKind::kV1 && kind != GetParam())
      GTEST_SKIP() << "no version 1 freezer cgroup can be made by this user on this machine";
    if (GetParam() == FreezeKind::kUnified && kind != GetParam())
      GTEST_SKIP() << "no version 2 cgroup can be made by this user on this machine";
    ASSERT_EQ(kind, GetParam());
  }
  std::unique_ptr<Sandbox> start_counting(Counters& counters) {
    auto sandbox =
        start({"count"}, [&](Spec& spec) { spec.control = counters.file.duplicate().value(); });
    if (!sandbox) {
      ADD_FAILURE() << sandbox.error().message();
      return nullptr;
    }
    EXPECT_TRUE(counters.all_move());
    return std::move(*sandbox);
  }
  static void expect_still(const Counters& counters) {
    auto before = counters.read();
    std::this_thread::sleep_for(
        milliseconds(20));  // long enough for a running counter to move by millions
    EXPECT_EQ(counters.read(), before);
  }
};

TEST_P(FreezeTest, FrozenMeansNothingMoves) {
  Counters counters = Counters::make();
  auto sandbox = start_counting(counters);
  ASSERT_TRUE(sandbox);
  Monitor& monitor = sandbox->monitor();
  ASSERT_TRUE(monitor.can_freeze());
  for (int round = 0; round < 20; ++round) {
    auto frozen = monitor.freeze();
    ASSERT_TRUE(frozen) << frozen.error().message();
    expect_still(counters);
    EXPECT_TRUE(monitor.is_still().value());
    EXPECT_FALSE(monitor.exited());
    ASSERT_TRUE(monitor.thaw());
    EXPECT_TRUE(counters.all_move());
    EXPECT_FALSE(monitor.is_still().value());
  }
}

TEST_P(FreezeTest, KillWorksOnFrozenSandboxes) {
  Counters counters = Counters::make();
  auto sandbox = start_counting(counters);
  ASSERT_TRUE(sandbox);
  ASSERT_TRUE(sandbox->monitor().freeze());
  auto killed = sandbox->kill();
  ASSERT_TRUE(killed) << killed.error().message();
  auto exit = sandbox->wait(milliseconds(0));
  ASSERT_TRUE(exit);
  EXPECT_TRUE(exit->signalled);
  sandbox.reset();
  expect_nothing_left();
}

TEST_P(FreezeTest, ReceivedMonitorsDoTheSame) {
  Counters counters = Counters::make();
  auto sandbox = start_counting(counters);
  ASSERT_TRUE(sandbox);
  MonitorHandles handles = sandbox->monitor_handles().value();
  auto copy = open_monitor(parse_json(handles.description.dump()).value(), std::move(handles.fds));
  ASSERT_TRUE(copy) << copy.error().message();
  EXPECT_EQ((*copy)->freeze_kind(), sandbox->monitor().freeze_kind());
  ASSERT_TRUE((*copy)->freeze());
  expect_still(counters);
  auto cpu = (*copy)->cpu_time();
  ASSERT_TRUE(cpu);
  EXPECT_GT(*cpu, std::chrono::nanoseconds(0));
  EXPECT_TRUE(comes_to_rest(**copy));  // the clock stands too
  ASSERT_TRUE((*copy)->thaw());
  EXPECT_TRUE(counters.all_move());
  EXPECT_GT((*copy)->page_faults()->first_process, 10U);
  EXPECT_GT((*copy)->first_thread().waited, std::chrono::nanoseconds(0));
  EXPECT_FALSE((*copy)->exited());
  ASSERT_TRUE(sandbox->kill());
  auto exit = (*copy)->exited();
  ASSERT_TRUE(exit);
  EXPECT_EQ(exit->code, SIGKILL);
}

// The first process sleeps; the second has all page faults and waits for a core that is taken.
TEST_P(FreezeTest, FaultsAndWaitingOfASecondProcessAreCounted) {
  if (GetParam() == FreezeKind::kSignals)
    GTEST_SKIP() << "without cgroups nothing counts all processes";
  Counters mine = Counters::make(), others = Counters::make();
  cpu_set_t allowed;
  ASSERT_EQ(::sched_getaffinity(0, sizeof allowed, &allowed), 0);
  int core = 0;
  while (!CPU_ISSET(core, &allowed)) ++core;
  auto start_on_core = [&](const char* probe, Counters& counters) {
    return start({probe}, [&](Spec& spec) {
      spec.control = counters.file.duplicate().value();
      spec.cpus = {core};
    });
  };
  auto taker = start_on_core("count", others);
  auto sandbox = start_on_core("second_process", mine);
  ASSERT_TRUE(taker && sandbox);
  ASSERT_TRUE(eventually([&] { return mine.word(1) > 0; }));
  Monitor& monitor = (*sandbox)->monitor();
  constexpr auto kLong = milliseconds(20);
  const bool is_waiting_counted = ::access("/proc/pressure/cpu", R_OK) == 0;
  if (is_waiting_counted) {
    EXPECT_TRUE(eventually([&] { return monitor.waited() > kLong; }));
  }
  mine.word(0) = 1;  // ends the second process
  EXPECT_TRUE(eventually([&] { return monitor.page_faults()->group >= 4000; }));
  EXPECT_LT(monitor.page_faults()->first_process, 2000U);
  if (is_waiting_counted) {
    EXPECT_LT(monitor.first_thread().waited, monitor.waited());
  }
}

TEST_P(FreezeTest, OthersAreFrozenAndOnlyThoseThawAgain) {
  Counters mine = Counters::make(), other = Counters::make(), parked = Counters::make();
  auto first = start_counting(mine), second = start_counting(other), third = start_counting(parked);
  ASSERT_TRUE(first && second && third);
  ASSERT_TRUE(third->monitor().freeze());  // by its own checker
  ASSERT_TRUE(launcher().freeze_others({first.get()}));
  EXPECT_TRUE(mine.all_move());
  expect_still(other);
  expect_still(parked);
  ASSERT_TRUE(launcher().thaw_others());
  EXPECT_TRUE(other.all_move());
  expect_still(parked);
  ASSERT_TRUE(third->monitor().thaw());
  EXPECT_TRUE(parked.all_move());
}

TEST_P(FreezeTest, FrozenOthersCanBeDestroyed) {
  Counters counters = Counters::make();
  auto sandbox = start_counting(counters);
  ASSERT_TRUE(sandbox);
  ASSERT_TRUE(launcher().freeze_others({}));
  sandbox.reset();
  ASSERT_TRUE(launcher().thaw_others());
  expect_nothing_left();
}

INSTANTIATE_TEST_SUITE_P(Kinds, FreezeTest,
                         ::testing::Values(FreezeKind::kUnified, FreezeKind::kV1,
                                           FreezeKind::kSignals),
                         ::testing::PrintToStringParamName());

class MonitorTest : public SandboxTest {};

TEST_F(MonitorTest, DescriptionsThatDoNotFitAreRefused) {
  EXPECT_FALSE(open_monitor(Json::object(), {}));
  EXPECT_FALSE(open_monitor(
      {{"fds", {"status"}}, {"freeze", 0}, {"cpu_in_microseconds", false}, {"candidate", 1}}, {}));
  EXPECT_FALSE(open_monitor(
      {{"fds", Json::array()}, {"freeze", 9}, {"cpu_in_microseconds", false}, {"candidate", 1}},
      {}));
}

}  // namespace
}  // namespace kw::sandbox
