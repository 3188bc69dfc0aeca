// For tests: a target without processes. Its memory is vectors, its clock stands still, its oracle
// and executors are scripted.
#pragma once
#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "gym/checker/backend.h"
#include "gym/checker/testing/fake_clock.h"
#include "gym/checker/testing/scripted_executor.h"
#include "gym/checker/testing/scripted_oracle.h"
#include "gym/checker/testing/vector_memory.h"

namespace kw::gym::testing {

class FakeBackend final : public Backend {
 public:
  // make_oracle: called once a session.
  explicit FakeBackend(std::function<std::unique_ptr<ScriptedOracle>()> make_oracle)
      : make_oracle_(std::move(make_oracle)) {}

  TensorAllocator& allocator() override { return memory; }
  CallComparer& comparer() override { return comparer_; }
  CheckerClock& clock() override { return time; }
  MachineState& machine() override { return disturbances; }
  std::uint32_t calls_per_launch() const override { return calls; }
  Result<std::unique_ptr<Oracle>> attach_oracle(const Json&, ReceivedFds&,
                                                std::chrono::milliseconds, Turn&) override {
    auto made = make_oracle_();
    oracle = made.get();
    return made;
  }
  Result<std::unique_ptr<Executor>> attach_executor(ExecutorOrder order) override {
    setups.push_back(order.setup);
    return std::make_unique<ScriptedExecutor>(order.prefix == "baseline" ? baseline : candidate,
                                              std::move(order.memory), time, &late);
  }

  VectorAllocator memory;
  FakeClock time;
  FakeMachine disturbances;
  LateWork late;
  std::uint32_t calls = 1;
  ExecutorScript baseline, candidate;  // scripts of the executors that are attached next
  ScriptedOracle* oracle = nullptr;    // the session's
  std::vector<ExecutorSetup> setups;   // setups of the executors so far

 private:
  std::function<std::unique_ptr<ScriptedOracle>()> make_oracle_;
  HostCallComparer comparer_;
};

}  // namespace kw::gym::testing
