// Judgement: one candidate beside the baseline of an open workload, from its start to the report.
#pragma once
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "base/result.h"
#include "gym/checker/fault.h"
#include "gym/checker/further_draws.h"
#include "gym/checker/hard_schedule.h"
#include "gym/checker/judged_calls.h"
#include "gym/checker/judging_context.h"
#include "gym/checker/side.h"
#include "gym/checker/timed_blocks.h"
#include "gym/messages/workload_report.h"

namespace kw::gym {

// One thread; used once. It knows no target: what differs between them is in the context.
class Judgement {
 public:
  // context: lives as long as the judgement.
  Judgement(JudgingContext& context, std::unique_ptr<Side> candidate);
  // The report of one workload (docs/formats/evidence.md). An Error is ours.
  Result<WorkloadReport> run();
  // The candidate's side, after run().
  std::unique_ptr<Side> take_side() { return std::move(candidate_); }

 private:
  // The call in which a candidate may compile itself. It is checked as all others, and its time is
  // the candidate's loading.
  Status first_call();
  Status measure();        // correctness and time
  Status checked_calls();  // correctness without a clock
  Status decide_near_budget();
  void refuse_impossible_times();
  Status profile();  // the calls of a plan, step by step
  std::optional<task::GpuFacts> gpu_facts() const;
  std::vector<HardSchedule::Call> planned_calls();
  std::chrono::nanoseconds gpu_busy() const;  // since the checker's start
  WorkloadReport report() const;

  JudgingContext& context_;
  std::unique_ptr<Side> candidate_;
  std::chrono::nanoseconds gpu_busy_before_;
  FirstFault fault_;
  JudgedCalls calls_;
  TimedBlocks blocks_;
  FurtherDraws further_draws_;
  StartTimes start_times_;
  std::int64_t checked_calls_ = 0;
  double check_ms_ = 0;  // of checked_calls() and decide_near_budget()
  std::optional<PlanCall> plan_call_;
};

}  // namespace kw::gym
