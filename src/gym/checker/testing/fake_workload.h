// For tests: an open workload, y = 3 x + 1 over float32, with all that a judgement needs of it and
// no process.
#pragma once
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "gym/checker/judging_context.h"
#include "gym/checker/paired_memory.h"
#include "gym/checker/testing/fake_clock.h"
#include "gym/checker/testing/scripted_executor.h"
#include "gym/checker/testing/scripted_oracle.h"
#include "gym/checker/testing/vector_memory.h"
#include "os/file.h"

namespace kw::gym::testing {

inline constexpr std::int64_t kWorkloadElements = 256;

inline task::Argument float_tensor(const std::string& name, task::Role role) {
  task::Argument out;
  out.name = name;
  out.role = role;
  out.shape = {kWorkloadElements};
  return out;
}

// x [256] f32 -> y [256] f32
inline task::Signature workload_signature() {
  task::Signature signature;
  signature.inputs = {float_tensor("x", task::Role::kInput)};
  signature.outputs = {float_tensor("y", task::Role::kOutput)};
  return signature;
}

inline double workload_function(double x) {
  return 3 * x + 1;
}

// The right kernel.
inline void compute_workload(const ScriptedCall& call) {
  for (std::size_t i = 0; i < call.x().size(); ++i) call.y()[i] = 3 * call.x()[i] + 1;
}

// Adds to the result of the least magnitude, which has the finest steps.
inline void add_to_least_result(const ScriptedCall& call, double error) {
  const auto y = call.y();
  const auto least = std::ranges::min_element(y, {}, [](float v) { return std::abs(v); });
  *least = static_cast<float>(static_cast<double>(*least) + error);
}

// A timing lock that no other process uses.
inline TimingLock lone_lock(const os::TempDir& folder) {
  return TimingLock::open_in(folder.path()).value();
}

// Inputs of the default distribution.
inline InputPlan input_plan(const std::string& name) {
  InputPlan plan;
  plan.name = name;
  return plan;
}

class FakeWorkload {
 public:
  // of: x and y are as workload_function() has them, unless a test says otherwise. Then its inputs
  // have the distributions given by name, and no reference computes its outputs.
  explicit FakeWorkload(SessionOptions chosen = {}, task::Signature of = workload_signature(),
                        const std::map<std::string, task::OutputPolicy>& outputs = {},
                        std::map<std::string, task::Distribution> distributions = {})
      : options(chosen),
        signature(std::move(of)),
        drawn(std::move(distributions)),
        checker(OutputChecker::make(signature, outputs).value()) {
    for (std::size_t s = 0; s < kSets; ++s) {
      sets.push_back(
          allocator.allocate("inputs", Layout::for_reading(tensors_of(signature.inputs)), true)
              .value());
    }
    EXPECT_TRUE(oracle.attach_exchange(signature).value().ok);
    EXPECT_TRUE(memory.renew(kSets, false, std::nullopt));
    clock.on_sleep = [this] { late.happen(); };
  }

  // Teaches the checker by the oracle, and keeps instances for audits where that is asked.
  void learn_from_oracle(bool keeps_audits = true) {
    LearnedInstances learned;
    bool unfit = false;
    ASSERT_TRUE(learn({inputs, reference, checker, *sets[0], seeds}, learned, unfit).value().ok);
    if (keeps_audits) {
      ASSERT_TRUE(audits.keep(std::move(learned), checker));
    }
  }

  // A right baseline of 2 ms a call, unless the script says otherwise.
  void start_baseline(ExecutorScript script) {
    if (!script.kernel) script.kernel = compute_workload;
    baseline = side(std::move(script), memory.baseline());
    StartTimes times;
    ASSERT_FALSE(baseline->start(times).value());
  }
  void start_baseline() {
    ExecutorScript script;
    script.wall = std::chrono::milliseconds(2);
    start_baseline(script);
  }
  std::unique_ptr<Side> candidate(ExecutorScript script, Compiles compiles = Compiles::kNothing) {
    return side(std::move(script), memory.candidate(), compiles);
  }
  JudgingContext context() {
    return {options,   goal,   signature, sets,    inputs,    checker,        comparer,
            reference, audits, hard,      seeds,   *baseline, reference_time, calls_per_launch,
            turn,      lease,  clock,     machine, roofline,  gpu_busy};
  }

  static constexpr std::size_t kSets = 8;
  SessionOptions options;
  MeasuringGoal goal;
  task::Signature signature;
  FakeClock clock;
  FakeMachine machine;
  FakeLease lease;
  LateWork late;
  VectorAllocator allocator;
  HostCallComparer comparer;
  SessionSeeds seeds{SecretSeeds(7)};
  ScriptedOracle oracle{workload_function};
  std::vector<std::unique_ptr<TensorMemory>> sets;
  const std::map<std::string, task::Distribution> drawn;  // by input
  InputSource inputs = make_inputs();
  OutputChecker checker;
  ReferenceRuns reference{oracle, signature, checker, nullptr, seeds};
  AuditInstances audits;
  HardCases hard;  // none, unless a test makes some
  std::optional<task::GpuRoofline> roofline;
  const BusyTime* gpu_busy = nullptr;
  PairedMemory memory{allocator, signature, seeds, true};
  std::unique_ptr<Side> baseline;
  std::uint32_t calls_per_launch = 1;
  std::chrono::nanoseconds reference_time{std::chrono::milliseconds(2)};

 private:
  InputSource make_inputs() const {
    ReceivedFds none;
    std::vector<InputPlan> plans;
    for (const task::Argument& input : signature.inputs) {
      plans.push_back(input_plan(input.name));
      if (const auto found = drawn.find(input.name); found != drawn.end())
        plans.back().policy.distribution = found->second;
    }
    return InputSource::of_definition(signature, plans, none).value();
  }
  std::unique_ptr<Side> side(ExecutorScript script, OutputMemory& output,
                             Compiles compiles = Compiles::kNothing) {
    ExecutorMemory reached;
    for (const auto& set : sets) reached.inputs.push_back(set.get());
    reached.output = &output;
    return std::make_unique<Side>(
        std::make_unique<ScriptedExecutor>(std::move(script), std::move(reached), clock, &late),
        output, signature, compiles, clock);
  }
  os::TempDir folder_ = os::TempDir::make("kw-judging-").value();

 public:
  Turn turn{lone_lock(folder_)};
};

}  // namespace kw::gym::testing
