// Executor: the process that runs a candidate or a baseline, as the checker drives it: load,
// prepare, then launches, each of which says how long it took.
//
// The host's implementation freezes the process between launches and times thaw to confirmed freeze
// (executor_client.h). On a GPU, the executor's process times its calls with events and says done
// when its stream is empty. Its host code is ours or the reference's, so it is frozen only while it
// rests between judgements.
#pragma once
#include <chrono>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "base/result.h"
#include "gym/checker/output_memory.h"
#include "gym/checker/tensor_memory.h"
#include "gym/protocol.h"
#include "os/fd.h"
#include "sandbox/sandbox.h"

namespace kw::gym {

// How a launch ended. Everything but kDone is the end of the executor.
enum class LaunchEnd { kDone, kTimeout, kExited, kFailed, kProtocol };

struct LaunchResult {
  LaunchEnd end = LaunchEnd::kDone;
  // From the order to the end of the work, by the clock of this executor, without what others
  // measured meanwhile.
  std::chrono::nanoseconds wall{0};
  std::chrono::nanoseconds cpu_time{0};  // time of the whole sandbox; 0: there is no second witness
  // Core time that the sandbox used since the launch before, all of which it should have stood
  // still; and whether it did not right before the order. The kernel counts the last moments of a
  // launch after its end, and a hypervisor may stretch them.
  std::chrono::nanoseconds ran_at_rest{0};
  bool was_moving = false;
  // By all processes of the sandbox, as far as the kernel counts them.
  std::uint64_t page_faults = 0;
  std::chrono::nanoseconds waited{0};  // ready, while something else had the core
  // `wall` without the time in which others had the sandbox's core (measure/processor_time.h); 0:
  // the machine cannot tell.
  std::chrono::nanoseconds processor_time{0};
  // On a GPU: the calls' time between events of the executor's stream, and that of all that was on
  // the stream, the flushes of the cache included. 0: there is no such clock.
  std::chrono::nanoseconds device_time{0}, device_span{0};

  // `ran_at_rest`, where it is longer than the last moments of a launch.
  std::chrono::nanoseconds worked_at_rest() const {
    constexpr auto kLastMoments = std::chrono::microseconds(100);
    return ran_at_rest > kLastMoments ? ran_at_rest : std::chrono::nanoseconds(0);
  }
};

// The report of an executor that has ended. Everything in it but `exit` is untrusted.
struct ExecutorEnd {
  std::optional<sandbox::Exit> exit = std::nullopt;
  Failure failure = Failure::kNone;
  std::uint32_t fault_signal = 0;
  bool fault_on_input = false;
};

// The memory that an executor reads and writes. All of it is borrowed.
struct ExecutorMemory {
  // One for each set; both executors of a pair have the same.
  std::vector<const TensorMemory*> inputs;
  OutputMemory* output = nullptr;         // this executor's alone while it lives
  const TensorMemory* statics = nullptr;  // may be null
};

// Triton: which kernels have run since the start. Untrusted.
struct KernelLaunches {
  std::uint32_t kernel_count = 0;
  std::uint32_t configurations = 0;
  std::uint64_t library_calls = 0;
  bool masked_lanes = false;
  std::vector<KernelReport> kernels;  // at most kMaxKernels
};

// PlanCall: the executor of a launch plan tells this of one call, whose steps it timed one by one.
// It is our program; where kernels reach all of the host's memory they could write this.
struct PlanCall {
  std::vector<PlanKernelReport> kernels;  // at most kMaxPlanKernels, in the order of first launches
  std::chrono::nanoseconds other_time{0};  // of fills, copies and further kernels
  std::uint32_t other_steps = 0;
  std::uint32_t most_threads = 0;  // that a multiprocessor holds
};

// Runs one side's code; only one thread may use it. An Error is ours; a candidate's mistake is a
// LaunchEnd.
class Executor {
 public:
  virtual ~Executor() = default;
  // Waits until the candidate is loaded.
  virtual Result<LaunchResult> load(std::chrono::nanoseconds timeout) = 0;
  // Runs the candidate's prepare(), if it has one.
  virtual Result<LaunchResult> prepare(std::chrono::nanoseconds timeout) = 0;
  // Runs one call for each of these sets, in this order. wall covers them all.
  virtual Result<LaunchResult> launch(std::span<const std::uint32_t> sets,
                                      std::chrono::nanoseconds timeout) = 0;
  // A launch without a call: what every launch costs by itself.
  virtual Result<LaunchResult> null_launch(std::chrono::nanoseconds timeout) = 0;

  // Known after load().
  virtual Style style() const = 0;
  // A private copy of what the last launch says of output j of its call-th call: only where results
  // are returned.
  virtual OutputReport report(std::uint32_t call, std::uint32_t output) const = 0;
  virtual std::optional<KernelLaunches> kernel_launches() const = 0;  // only of Triton candidates
  // Whether nothing of it can run between launches.
  virtual bool is_still_between_launches() const = 0;
  // Whether calls are timed by a GPU's events. What a launch costs besides depends on the process
  // alone then, not on the program that it runs.
  virtual bool has_device_clock() const { return false; }
  // Whether it launches a plan: only then is there a profile().
  virtual bool runs_plan() const { return false; }
  // Runs a call on this set some times, each step of the plan timed by itself; plan_call() has what
  // that gave.
  virtual Result<LaunchResult> profile(std::uint32_t /*set*/,
                                       std::chrono::nanoseconds /*timeout*/) {
    return fail(ErrorCode::kUnsupported, "an executor without a plan");
  }
  virtual PlanCall plan_call() const { return {}; }
  // On a GPU: memory that a call takes beside inputs and statics. Known after the first call.
  virtual std::optional<std::int64_t> call_bytes() const { return std::nullopt; }
  // From now on what it uses at rest counts only after the kernel has had time to count the end of
  // the launch. Each launch takes some milliseconds longer, outside its time.
  virtual void watch_at_rest() {}
  // Takes another program in the place of the one that it runs; load() waits for it. The source is
  // as at the start. kUnsupported: it serves one program only.
  virtual Status replace(os::UniqueFd /*source*/) {
    return fail(ErrorCode::kUnsupported, "an executor for one program");
  }
  // Nothing is launched for a while: lets the cores be. The next launch ends it.
  virtual Status rest() { return {}; }
  // After a LaunchEnd other than kDone.
  virtual ExecutorEnd end() = 0;
};

}  // namespace kw::gym
