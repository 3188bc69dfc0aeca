// Trial: a few timed calls of a candidate on a GPU, and a checked one. An autotuner's
// configurations are tried out so before one of them is judged.
#pragma once
#include <chrono>
#include <memory>
#include <optional>

#include "base/result.h"
#include "gym/checker/fault.h"
#include "gym/checker/judged_calls.h"
#include "gym/checker/judging_context.h"
#include "gym/checker/side.h"
#include "gym/messages/checker_messages.h"

namespace kw::gym {

// One thread; used once.
class Trial {
 public:
  // context: lives as long as the trial. candidate: has a device clock.
  Trial(JudgingContext& context, std::unique_ptr<Side> candidate);
  // Inputs are as in a judgement, secret and fresh, but ordinary ones alone. An Error is ours.
  Result<Tried> run();
  // The candidate's side, after run().
  std::unique_ptr<Side> take_side() { return std::move(candidate_); }

 private:
  Status time_calls();

  JudgingContext& context_;
  std::unique_ptr<Side> candidate_;
  FirstFault fault_;
  JudgedCalls calls_;
  std::optional<std::chrono::nanoseconds> shortest_;
};

}  // namespace kw::gym
