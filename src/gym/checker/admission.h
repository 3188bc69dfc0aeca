// The admission battery: what must fail on an honest problem, run on the oracle's own data
// (design 3.1, reward_hacks M12).
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "gym/checker/hard_cases.h"
#include "gym/checker/input_source.h"
#include "gym/checker/output_checker.h"
#include "gym/checker/reference_runs.h"
#include "gym/checker/tensor_memory.h"
#include "task/signature.h"

namespace kw::gym {

struct AdmissionInput {
  const task::Signature& signature;
  const OutputChecker& checker;
  const std::vector<Instance>& instances;  // at least two, of different seeds
  ReferenceRuns& reference;
  InputSource& inputs;
  TensorMemory& set;  // scratch; it holds the inputs of the last instance
  HardCases& hard;    // none where the workload is not timed
  std::uint64_t seed;
  bool fixed_inputs = false;  // all from files: another call's output is the same
};

struct AdmissionReport {
  std::string failure;               // the reference does not agree with itself
  std::vector<std::string> passing;  // trivial candidates that pass
  std::vector<std::string> inert;    // dynamic inputs without influence
};

Result<AdmissionReport> run_admission_battery(const AdmissionInput& input);

}  // namespace kw::gym
