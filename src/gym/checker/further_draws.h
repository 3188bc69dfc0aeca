// FurtherDraws: what becomes of a candidate whose error was near its budget, where the next inputs
// might decide otherwise (docs/correctness.md).
//
// Two further calls, on inputs of the same kind as those of the largest such error, are compared
// with float64 by the budgets that convict. A smaller error (Doubt) is near where the first of
// these calls says so. The candidate is wrong where both are beyond their budgets, or where one is
// beyond them by more than a tenth. The perturbed runs and ordinary inputs follow from the
// problem's signature, so that these draws give a candidate the same answer each time. They are no
// secret. Who recognises them gains nothing: a pass that they decide pays nothing, and where they
// end a doubt, all secret calls were within their budgets.
#pragma once
#include <optional>
#include <utility>
#include <vector>

#include "base/result.h"
#include "gym/checker/fault.h"
#include "gym/checker/judged_calls.h"
#include "gym/checker/judging_context.h"
#include "task/verdict.h"

namespace kw::gym {

// Borrows all; used once, after a judgement's other calls. Not thread-safe.
class FurtherDraws {
 public:
  FurtherDraws(JudgingContext& context, JudgedCalls& calls, FirstFault& fault)
      : context_(context), calls_(calls), fault_(fault) {}

  // Makes the draws if an error was near its budget and there is no fault. Where none was, a doubt
  // is settled by the first of them. Errors are those of JudgedCalls.
  Status decide();
  // Tells what was near, where the draws decided: it passes, or both draws confirmed a failure.
  const std::optional<task::Borderline>& borderline() const { return borderline_; }

 private:
  // Tells what was near its budget, or is by the draw that a doubt brings about.
  Result<std::optional<NearBudget>> near_budget();
  Result<double> draw(std::size_t number, std::optional<std::size_t> hard);
  Result<task::Borderline> draw_all(NearBudget& near);

  JudgingContext& context_;
  JudgedCalls& calls_;
  FirstFault& fault_;
  std::vector<double> drawn_;  // errors of the draws that a doubt has brought about
  std::optional<task::Borderline> borderline_;
};

// One sentence for people.
std::string borderline_text(const task::Borderline& borderline);

}  // namespace kw::gym
