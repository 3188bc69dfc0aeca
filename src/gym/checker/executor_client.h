// ExecutorClient: the host's Executor, over a sandboxed process: setup, then launches. Between
// launches the process is frozen where the machine can do that; one on a GPU only while it rests.
// The sandbox itself belongs to the supervisor; only its Monitor is here. docs/protocol.md has the
// messages and pages.
#pragma once
#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "gym/checker/call_deadline.h"
#include "gym/checker/clock.h"
#include "gym/checker/executor.h"
#include "gym/checker/pages.h"
#include "gym/checker/turn.h"
#include "gym/measure/busy_time.h"
#include "gym/messages/checker_messages.h"
#include "gym/protocol.h"
#include "os/fd.h"
#include "sandbox/sandbox.h"
#include "task/signature.h"

namespace kw::gym {

// Not thread-safe.
class ExecutorClient final : public Executor {
 public:
  struct Attach {
    os::UniqueFd control;
    std::unique_ptr<sandbox::Monitor> monitor;
    os::UniqueFd source;  // shared object, or the bytes of the files
    ExecutorSetup setup;  // the client adds descriptors, signature and sets to it
    bool freeze = true;   // false: a mechanism test switched freezing off
    // false: no launch is timed, and a wait for a launch leaves its core to others.
    bool timing = true;
    Turn* turn = nullptr;           // borrowed; needed
    CheckerClock* clock = nullptr;  // borrowed; needed
    BusyTime* gpu_busy = nullptr;   // borrowed; counts launches on a GPU; null: nobody counts
  };
  // Sends the setup message; the executor loads in the meantime.
  static Result<std::unique_ptr<ExecutorClient>> attach(Attach attach,
                                                        const task::Signature& signature,
                                                        ExecutorMemory memory);

  // Waits for kReady, or after replace() for the other program.
  Result<LaunchResult> load(std::chrono::nanoseconds timeout) override;
  Result<LaunchResult> prepare(std::chrono::nanoseconds timeout) override {
    return run(Op::kPrepare, {}, timeout);
  }
  Result<LaunchResult> launch(std::span<const std::uint32_t> sets,
                              std::chrono::nanoseconds timeout) override {
    return run(Op::kCall, sets, timeout);
  }
  Result<LaunchResult> null_launch(std::chrono::nanoseconds timeout) override {
    return run(Op::kNullCall, {}, timeout);
  }
  Style style() const override { return style_; }
  OutputReport report(std::uint32_t call, std::uint32_t output) const override;
  std::optional<KernelLaunches> kernel_launches() const override;
  // On a GPU nothing of a candidate runs on the host, and the stream is empty after a launch.
  bool is_still_between_launches() const override { return freeze_ || on_device_; }
  bool has_device_clock() const override { return on_device_; }
  bool runs_plan() const override { return runs_plan_; }
  Result<LaunchResult> profile(std::uint32_t set, std::chrono::nanoseconds timeout) override {
    return run(Op::kProfile, std::span(&set, 1), timeout);
  }
  PlanCall plan_call() const override;
  void watch_at_rest() override { watches_rest_ = true; }
  std::optional<std::int64_t> call_bytes() const override;
  // Only executors of plans take another program.
  Status replace(os::UniqueFd source) override;
  Status rest() override;
  ExecutorEnd end() override;

 private:
  ExecutorClient() = default;
  // The sandbox has used so much so far. All are zero on a GPU: the host's threads do none of the
  // work there.
  struct ResourceUsage {
    std::chrono::nanoseconds cpu{0};
    sandbox::PageFaults faults;
    sandbox::ThreadTimes first;
    std::chrono::nanoseconds waited{0};
  };
  Result<ResourceUsage> resource_usage();
  Result<LaunchResult> wait_ready(std::chrono::nanoseconds timeout);
  bool freezes_after_launches() const { return freeze_ && !on_device_; }
  // One operation, from thaw to confirmed freeze.
  // An executor that ends at any moment of it has exited: that is no error.
  Result<LaunchResult> run(Op op, std::span<const std::uint32_t> sets,
                           std::chrono::nanoseconds timeout);
  Result<LaunchResult> run_once(Op op, std::span<const std::uint32_t> sets,
                                std::chrono::nanoseconds timeout);
  bool has_ended();
  // Returns what the sandbox has used when two looks in a row see the same, or at the last look.
  Result<std::chrono::nanoseconds> settled_cpu_time();
  // Lets others measure if it is time to; whether the deadline has passed.
  Result<bool> too_late(CallDeadline& deadline);
  Result<LaunchEnd> wait_done(std::uint64_t sequence, CallDeadline& deadline);
  void write_command(Op op, std::span<const std::uint32_t> sets);
  Status send_setup(Attach& attach, const task::Signature& signature);

  mutable Pages pages_;
  ExecutorMemory memory_;
  std::unique_ptr<sandbox::Monitor> monitor_;
  Turn* turn_ = nullptr;           // borrowed
  CheckerClock* clock_ = nullptr;  // borrowed
  std::vector<bool> input_is_scalar_;
  std::uint64_t sequence_ = 0;
  Style style_ = Style::kUnknown;
  bool freeze_ = true, timing_ = true;
  bool is_frozen_ = false;
  os::UniqueFd control_;      // of an executor that takes other programs
  bool is_replaced_ = false;  // load() is to be asked for
  bool interprets_triton_ = false;
  bool on_device_ = false;        // its calls run on a GPU
  BusyTime* gpu_busy_ = nullptr;  // borrowed
  bool runs_plan_ = false;
  std::chrono::nanoseconds cpu_at_rest_{0};  // core time of the sandbox when it was frozen
  bool watches_rest_ = false;
  std::optional<sandbox::Exit> exit_;
};

}  // namespace kw::gym
