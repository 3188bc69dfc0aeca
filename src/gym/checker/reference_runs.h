// ReferenceRuns: what the reference gives on the inputs of a set, as instances that outputs are
// compared with.
#pragma once
#include "base/result.h"
#include "gym/checker/oracle.h"
#include "gym/checker/output_checker.h"
#include "gym/checker/session_seeds.h"
#include "gym/checker/tensor_memory.h"
#include "task/signature.h"

namespace kw::gym {

// The runs that show how a result moves.
struct PerturbedRuns {
  int count = 1;
  // Whether those after the first two also move the results of elementary functions.
  bool move_functions = false;
};

// Borrows all that it is made of. Not thread-safe.
class ReferenceRuns {
 public:
  // statics: null where the workload has none.
  ReferenceRuns(Oracle& oracle, const task::Signature& signature, const OutputChecker& checker,
                const TensorMemory* statics, SessionSeeds& seeds)
      : oracle_(&oracle),
        signature_(&signature),
        checker_(&checker),
        statics_(statics),
        seeds_(&seeds) {}

  // Runs the reference on the inputs of a set at the declared precision, in float64, and with moved
  // inputs.
  Result<OracleAnswer> run(const TensorMemory& inputs, Instance& instance,
                           PerturbedRuns perturbed = {});
  // Runs the reference once; there are no outputs where it fails.
  Result<OracleAnswer> run_once(const TensorMemory& inputs, const Oracle::Run& how,
                                Instance::Outputs& outputs);
  // Runs the reference by other operators; outputs in the declared dtypes. There are none where it
  // does not run so.
  Status run_second(const TensorMemory& inputs, Instance::Outputs& outputs);
  // The precision that the declared one is compared with: kSecond where the reference does not run
  // in float64. The first run() settles it.
  Precision exact_precision() const { return exact_precision_; }

 private:
  Status offer(const TensorMemory& inputs);
  Result<OracleAnswer> run_exact(const TensorMemory& inputs, Instance::Outputs& outputs);
  Result<OracleAnswer> run_perturbed(const TensorMemory& inputs, PerturbedRuns perturbed,
                                     std::vector<Instance::Outputs>& outputs);
  bool fall_back_to_second(const OracleAnswer& float64);

  Oracle* oracle_;
  const task::Signature* signature_;
  const OutputChecker* checker_;
  const TensorMemory* statics_;
  SessionSeeds* seeds_;
  Precision exact_precision_ = Precision::kFloat64;
  bool exact_precision_is_settled_ = false;
};

}  // namespace kw::gym
