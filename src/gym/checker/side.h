// Side: one executor as a judge sees it, candidate or baseline: started, prepared, calibrated,
// launched under a limit.
#pragma once
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <utility>

#include "base/result.h"
#include "gym/checker/clock.h"
#include "gym/checker/executor.h"
#include "gym/checker/executor_outputs.h"
#include "gym/checker/fault.h"
#include "gym/checker/null_launch.h"
#include "task/signature.h"

namespace kw::gym {

struct StartTimes {
  double load_ms = 0, prepare_ms = 0;
};

// The work that an executor may compile at its start. kAtPrepare: prepare runs torch.compile.
// kAtFirstCall: the code may compile itself when it is first called.
enum class Compiles { kNothing, kAtFirstCall, kAtPrepare };

// How long a call may take, unless --timeout says: 20 times the reference, at least 2 s.
std::chrono::nanoseconds call_timeout(std::chrono::nanoseconds reference);

// Owns the executor; borrows the rest. Not thread-safe.
class Side {
 public:
  // output: where the executor writes.
  Side(std::unique_ptr<Executor> executor, OutputMemory& output, const task::Signature& signature,
       Compiles compiles, CheckerClock& clock)
      : executor_(std::move(executor)),
        outputs_(*executor_, output, signature),
        compiles_(compiles),
        clock_(&clock) {}

  // Loads and prepares. A fault is the executor's.
  Result<std::optional<Fault>> start(StartTimes& times);
  // Measures what every launch costs by itself: on a quiet machine, before the first timed call.
  // Once is enough where a GPU keeps the time: then it only explains what is beside that.
  Status calibrate();
  // Takes the empty launches of another executor of the same kind for its own.
  void calibrate_as(const NullLaunch& other);
  const NullLaunch& null_launch_parts() const { return null_launch_; }
  // Takes another program into the same executor; start() loads it. kUnsupported.
  Status replace(os::UniqueFd source) { return executor_->replace(std::move(source)); }
  // Until the next launch.
  Status rest() { return executor_->rest(); }
  void watch_at_rest() { executor_->watch_at_rest(); }
  // Limits the time that is subtracted from every launch to the other side's, because the candidate
  // must not choose it.
  void limit_null_launch(const Side& other);
  // Whether the first launch may take as long as a compiler, whatever its timeout is.
  bool has_slow_first_call() const { return compiles_ == Compiles::kAtFirstCall && !has_called_; }
  // Launches one call for each set; a fault when it did not end as it should.
  Result<std::optional<Fault>> launch(std::span<const std::uint32_t> sets,
                                      std::chrono::nanoseconds timeout, LaunchResult& result);

  // Times one call of a plan step by step; a fault as above.
  Result<std::optional<Fault>> profile(std::uint32_t set, std::chrono::nanoseconds timeout,
                                       PlanCall& call);

  // Wall time of a launch less the constant of a null launch, at least a nanosecond.
  std::chrono::nanoseconds net(const LaunchResult& launch) const {
    return std::max(launch.wall - null_launch_.wall, std::chrono::nanoseconds(1));
  }
  // The same by the processor's clock; 0 where the machine has none.
  std::chrono::nanoseconds net_processor_time(const LaunchResult& launch) const {
    if (launch.processor_time.count() <= 0) return std::chrono::nanoseconds(0);
    return std::max(launch.processor_time - null_launch_.processor_time,
                    std::chrono::nanoseconds(1));
  }
  // Gives the time that it waited for its core in a launch, beyond what a null launch waits.
  std::chrono::nanoseconds net_waited(const LaunchResult& launch) const {
    return std::max(launch.waited - null_launch_.waited, std::chrono::nanoseconds(0));
  }
  // Core time of a launch, of all threads, beyond what a null launch takes.
  std::chrono::nanoseconds net_cpu_time(const LaunchResult& launch) const {
    return std::max(launch.cpu_time - null_launch_.cpu_time, std::chrono::nanoseconds(0));
  }
  // On a GPU: how much longer a launch was by the checker's clock than the executor's events and a
  // null launch explain.
  std::chrono::nanoseconds unexplained(const LaunchResult& launch) const {
    return launch.wall - launch.device_span - null_launch_.beside;
  }
  // Median wall time of a null launch.
  std::chrono::nanoseconds null_launch() const { return null_launch_.wall; }

  ExecutorOutputs& outputs() { return outputs_; }
  const ExecutorOutputs& outputs() const { return outputs_; }
  const Executor& executor() const { return *executor_; }

 private:
  std::unique_ptr<Executor> executor_;
  ExecutorOutputs outputs_;
  Compiles compiles_;
  bool has_called_ = false, is_calibrated_ = false;
  CheckerClock* clock_;
  NullLaunch null_launch_;
};

}  // namespace kw::gym
