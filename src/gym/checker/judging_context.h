// JudgingContext: all that a judgement uses of the open workload and of the target.
#pragma once
#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "gym/checker/audit_instances.h"
#include "gym/checker/call_comparer.h"
#include "gym/checker/clock.h"
#include "gym/checker/hard_cases.h"
#include "gym/checker/input_source.h"
#include "gym/checker/machine_state.h"
#include "gym/checker/output_checker.h"
#include "gym/checker/reference_runs.h"
#include "gym/checker/session_options.h"
#include "gym/checker/session_seeds.h"
#include "gym/checker/side.h"
#include "gym/checker/tensor_memory.h"
#include "gym/checker/timing_lease.h"
#include "gym/checker/turn.h"
#include "gym/measure/busy_time.h"
#include "gym/messages/checker_messages.h"
#include "task/gpu_facts.h"
#include "task/signature.h"

namespace kw::gym {

// Borrows everything; the session keeps it for the length of the judgement. One thread.
struct JudgingContext {
  const SessionOptions& options;
  MeasuringGoal goal;
  const task::Signature& signature;
  const std::vector<std::unique_ptr<TensorMemory>>& sets;  // inputs; an even number
  InputSource& inputs;
  const OutputChecker& checker;
  CallComparer& comparer;
  ReferenceRuns& reference;
  AuditInstances& audits;
  HardCases& hard;
  SessionSeeds& seeds;
  Side& baseline;                              // started
  std::chrono::nanoseconds reference_time{0};  // time of one call of the baseline in its warm-up
  std::uint32_t calls_per_launch = 1;          // calls of a timed launch (backend.h)
  Turn& turn;                                  // begun
  TimingLease& lease;
  CheckerClock& clock;
  MachineState& machine;
  // The GPU allows this for the workload; nullopt: it is not known, or there is no GPU.
  std::optional<task::GpuRoofline> roofline = std::nullopt;
  const BusyTime* gpu_busy = nullptr;  // backend.h
  // Holds what an empty launch takes in an executor of plans, which are all alike, once it is
  // measured; null: each executor is measured.
  std::optional<NullLaunch>* null_launch_of_plans = nullptr;
};

}  // namespace kw::gym
