// For tests: an executor without a process, whose kernel and times are scripted.
#pragma once
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "gym/checker/executor.h"
#include "gym/checker/host_memory.h"
#include "gym/checker/testing/fake_clock.h"

namespace kw::gym::testing {

// A kernel's view of one call. The memory is the checker's own: a kernel that misbehaves writes
// wherever it likes.
struct ScriptedCall {
  int launch = 0;  // 0, 1, ... of this executor; null launches are not counted
  HostTensors& inputs;
  HostTensors& outputs;
  const HostTensors* statics = nullptr;

  std::span<float> x(std::size_t i = 0) const { return floats(inputs.tensor(i)); }
  std::span<float> y(std::size_t j = 0) const { return floats(outputs.tensor(j)); }

 private:
  static std::span<float> floats(std::span<std::byte> bytes) {
    return {reinterpret_cast<float*>(bytes.data()), bytes.size() / sizeof(float)};
  }
};

// The behaviour of one executor.
struct ExecutorScript {
  std::function<void(const ScriptedCall&)> kernel;
  // Changes what a launch ends with and took; by default all of them are done after `wall`.
  std::function<void(int launch, LaunchResult&)> on_launch;
  std::chrono::nanoseconds wall{std::chrono::milliseconds(1)};        // beyond the null launch
  std::chrono::nanoseconds null_wall{std::chrono::microseconds(10)};  // time of every empty launch
  LaunchEnd load = LaunchEnd::kDone, prepare = LaunchEnd::kDone;
  bool is_still = true;               // between launches
  bool device_clock = false;          // a GPU's: launches take `wall` by its events too
  std::optional<PlanCall> plan_call;  // it launches a plan, of which it tells this
  LaunchEnd profile = LaunchEnd::kDone;
  std::optional<std::int64_t> call_bytes;
  std::vector<ExecutorScript>* next = nullptr;  // programs that take this one's place, in order
  ExecutorEnd end;
  Style style = Style::kDestinationPassing;
  std::function<OutputReport(std::uint32_t call, std::uint32_t output)> report;
  std::function<void()> on_watch;  // watch_at_rest()
  std::function<void()> on_rest;   // rest()
};

// Work that executors do after they said done: it happens when another executor is launched, or
// when somebody sleeps.
struct LateWork {
  std::vector<std::function<void()>> pending;
  void happen() {
    for (auto& work : std::exchange(pending, {})) work();
  }
};

class ScriptedExecutor final : public Executor {
 public:
  ScriptedExecutor(ExecutorScript script, ExecutorMemory memory, FakeClock& clock,
                   LateWork* late = nullptr)
      : script_(std::move(script)), memory_(std::move(memory)), clock_(&clock), late_(late) {}

  Result<LaunchResult> load(std::chrono::nanoseconds) override { return ended(script_.load); }
  Result<LaunchResult> prepare(std::chrono::nanoseconds) override { return ended(script_.prepare); }
  Result<LaunchResult> launch(std::span<const std::uint32_t> sets,
                              std::chrono::nanoseconds timeout) override;
  Result<LaunchResult> null_launch(std::chrono::nanoseconds) override {
    return took(script_.null_wall);
  }
  Style style() const override { return script_.style; }
  OutputReport report(std::uint32_t call, std::uint32_t output) const override {
    return script_.report(call, output);
  }
  std::optional<KernelLaunches> kernel_launches() const override { return std::nullopt; }
  bool is_still_between_launches() const override { return script_.is_still; }
  bool has_device_clock() const override { return script_.device_clock; }
  bool runs_plan() const override { return script_.plan_call.has_value(); }
  Result<LaunchResult> profile(std::uint32_t, std::chrono::nanoseconds) override {
    return ended(script_.profile);
  }
  PlanCall plan_call() const override { return *script_.plan_call; }
  std::optional<std::int64_t> call_bytes() const override { return script_.call_bytes; }
  void watch_at_rest() override {
    if (script_.on_watch) script_.on_watch();
  }
  Status replace(os::UniqueFd source) override;
  Status rest() override {
    if (script_.on_rest) script_.on_rest();
    return {};
  }
  ExecutorEnd end() override { return script_.end; }

 private:
  LaunchResult took(std::chrono::nanoseconds wall);
  static LaunchResult ended(LaunchEnd end) {
    LaunchResult result;
    result.end = end;
    return result;
  }

  ExecutorScript script_;
  ExecutorMemory memory_;
  FakeClock* clock_;
  LateWork* late_;
  int launches_ = 0;
};

}  // namespace kw::gym::testing
