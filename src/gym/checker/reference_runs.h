// ReferenceRuns: what the reference gives on the inputs of a set, as instances that outputs are
// compared with.
#pragma once
#include <cstdint>
#include <limits>

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
// An element counts as wrong after these alone; the reference itself is held to them at admission.
inline constexpr PerturbedRuns kPerturbedRunsToConvict = {.count = 8, .move_functions = true};

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
        seeds_(&seeds) {
    if (oracle.selects()) whole_ = Oracle::kLargeOutput;
  }

  // Runs the reference on the inputs of a set at the declared precision, in float64, and with moved
  // inputs.
  // An instance without a selection gets one of random parts if its outputs are large.
  Result<OracleAnswer> run(const TensorMemory& inputs, Instance& instance,
                           PerturbedRuns perturbed = {});
  // Runs the reference once; there are no outputs where it fails. selected: of outputs.
  Result<OracleAnswer> run_once(const TensorMemory& inputs, const Oracle::Run& how,
                                const Selections& selected, Instance::Outputs& outputs);
  // Runs the reference by other operators; outputs in the declared dtypes. There are none where it
  // does not run so.
  Status run_second(const TensorMemory& inputs, const Selections& selected,
                    Instance::Outputs& outputs);
  // Outputs of more elements are judged by parts of them. Its default: what the oracle says.
  void judge_in_parts_beyond(std::int64_t elements) { whole_ = elements; }
  bool is_judged_in_parts(std::size_t output) const;
  // The precision that the declared one is compared with: kSecond where the reference does not run
  // in float64. The first run() settles it.
  Precision exact_precision() const { return exact_precision_; }

 private:
  Selections random_parts();
  Result<OracleAnswer> run_exact(const TensorMemory& inputs, Instance& instance);
  Result<OracleAnswer> run_perturbed(const TensorMemory& inputs, PerturbedRuns perturbed,
                                     Instance& instance);
  // One perturbed run.
  Result<OracleAnswer> run_moved(const TensorMemory& inputs, const PerturbationStep& step,
                                 bool move_functions, const Selections& selected,
                                 Instance::Outputs& outputs);
  bool fall_back_to_second(const OracleAnswer& float64);

  Oracle* oracle_;
  const task::Signature* signature_;
  const OutputChecker* checker_;
  const TensorMemory* statics_;
  SessionSeeds* seeds_;
  Precision exact_precision_ = Precision::kFloat64;
  bool exact_precision_is_settled_ = false;
  std::int64_t whole_ = std::numeric_limits<std::int64_t>::max();  // judge_in_parts_beyond()
};

}  // namespace kw::gym
