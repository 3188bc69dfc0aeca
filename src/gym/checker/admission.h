// The admission battery: what must fail on an honest problem, run on the oracle's own data
// (design 3.1, reward_hacks M12).
//
// One draw tells little where outputs are few: of two scalars one may be within the other's budget,
// and the next time it is not. So candidates that are not settled by the first draw are tried on
// further ones, each with the hard inputs, until it is certain whether they pass on most of them
// (ShareTest). An input matters where it does on one draw. These draws follow from the signature
// alone: where either answer is right, it is the same one each time. No candidate meets them.
#pragma once
#include <chrono>
#include <string>
#include <vector>

#include "base/result.h"
#include "gym/checker/hard_cases.h"
#include "gym/checker/input_source.h"
#include "gym/checker/learning.h"
#include "gym/checker/output_checker.h"
#include "gym/checker/reference_runs.h"
#include "gym/checker/session_seeds.h"
#include "gym/checker/tensor_memory.h"
#include "task/signature.h"

namespace kw::gym {

struct AdmissionInput {
  const task::Signature& signature;
  const OutputChecker& checker;
  const LearnedInstances& learned;  // at least two instances, of different seeds
  ReferenceRuns& reference;
  InputSource& inputs;
  TensorMemory& set;  // scratch; it holds the inputs of the last instance
  HardCases& hard;    // none where the workload is not timed
  SessionSeeds& seeds;
  bool fixed_inputs = false;  // all from files: another call's output is the same
  // The reference takes so long for one run; a slow one gets fewer draws.
  std::chrono::nanoseconds reference_time{0};
};

struct AdmissionReport {
  std::string failure;               // the reference does not agree with itself
  std::vector<std::string> passing;  // trivial candidates that pass
  std::vector<std::string> inert;    // dynamic inputs without influence
};

Result<AdmissionReport> run_admission_battery(const AdmissionInput& input);

}  // namespace kw::gym
