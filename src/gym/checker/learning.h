// Learning: runs of the reference that show what honest kernels of a workload err by.
#pragma once
#include <cstdint>
#include <vector>

#include "base/result.h"
#include "gym/checker/input_source.h"
#include "gym/checker/output_checker.h"
#include "gym/checker/reference_runs.h"

namespace kw::gym {

// One set of inputs by its seed, with the reference's results for it.
struct LearnedInstances {
  std::vector<std::uint64_t> seeds;
  std::vector<Instance> instances;
};

// Borrows all of it. scratch: an input set whose content may be overwritten.
struct LearningInput {
  InputSource& inputs;
  ReferenceRuns& reference;
  OutputChecker& checker;
  TensorMemory& scratch;
  SessionSeeds& seeds;
};

// Teaches the checker with three instances. The answer is not ok where the reference fails, or
// where it runs but cannot serve for judging (`unfit` is true then).
Result<OracleAnswer> learn(const LearningInput& in, LearnedInstances& learned, bool& unfit);

// Fills the set under the seed and runs the reference on it.
Result<OracleAnswer> learn_from(InputSource& inputs, ReferenceRuns& reference,
                                TensorMemory& scratch, std::uint64_t seed, int perturbed_runs,
                                Instance& instance);

}  // namespace kw::gym
