#include "gym/supervisor/memory_gate.h"

#include <atomic>
#include <optional>
#include <thread>

#include <gtest/gtest.h>

#include "gym/supervisor/testing/fake_session.h"

namespace kw::gym {
namespace {

void await_waiting(const MemoryGate& gate, std::size_t count) {
  while (gate.waiting() != count) std::this_thread::yield();
}

TEST(MemoryGate, WhoDoesNotFitWaitsForThoseInside) {
  MemoryGate gate(110);
  std::optional<MemoryGate::Pass> first = gate.enter(60, {}).value();
  const auto small = gate.enter(40, {});
  EXPECT_TRUE(small);
  std::atomic<int> entered{0};
  std::jthread second([&] {
    const auto pass = gate.enter(50, {});
    ++entered;
  });
  await_waiting(gate, 1);
  // One that would fit does not pass the one that waits.
  std::jthread third([&] {
    const auto pass = gate.enter(5, {});
    ++entered;
  });
  await_waiting(gate, 2);
  EXPECT_EQ(entered, 0);
  first.reset();
  second.join();
  third.join();
  EXPECT_EQ(entered, 2);
}

TEST(MemoryGate, WhoNeedsMoreThanAllIsAlone) {
  MemoryGate gate(100);
  std::optional<MemoryGate::Pass> large = gate.enter(1000, {}).value();
  std::jthread small([&] { EXPECT_TRUE(gate.enter(1, {})); });
  await_waiting(gate, 1);
  large.reset();
  small.join();
  EXPECT_TRUE(gate.enter(100, {}));
}

TEST(MemoryGate, AStopEndsTheWait) {
  MemoryGate gate(100);
  const auto first = gate.enter(100, {});
  std::stop_source stop;
  std::optional<ErrorCode> code;
  std::jthread waits([&] { code = gate.enter(1, stop.get_token()).error().code(); });
  await_waiting(gate, 1);
  stop.request_stop();
  waits.join();
  EXPECT_EQ(code, ErrorCode::kCancelled);
  EXPECT_EQ(gate.waiting(), 0U);
}

TEST(MemoryGate, AProblemsNeedGrowsWithItsTensors) {
  task::Problem problem = testing::line_problem();
  for (auto& workload : problem.workloads)
    problem.policy.workloads[workload.uuid].targets = {task::Target::kCuda};
  const std::uint64_t all = std::uint64_t{100} << 30U;
  const std::uint64_t small = device_bytes_of(problem, all);
  problem.workloads.front().axes.front().second = std::int64_t{1} << 28U;
  EXPECT_EQ(device_bytes_of(problem, all) - small > std::uint64_t{20} << 30U, true);
}

}  // namespace
}  // namespace kw::gym
