// The rules' results over all compared outputs, and the status that a fault has by them.
#include "gym/checker/benchmark_rules.h"

#include <algorithm>

namespace kw::gym {

void BenchmarkRules::add(const RulesResult& output) {
  ++compared_;
  kernelbench_ok_ = kernelbench_ok_ && output.is_close;
  const FlashInferResult& flashinfer = output.flashinfer;
  flashinfer_ok_ = flashinfer_ok_ && flashinfer.status == FlashInferStatus::kPassed;
  flashinfer_abs_ = std::max(flashinfer_abs_, flashinfer.max_absolute_error);
  flashinfer_rel_ = std::max(flashinfer_rel_, flashinfer.max_relative_error);
}

// Whether their own harnesses would have had outputs to compare: they find no violations.
bool BenchmarkRules::had_outputs(const std::optional<Fault>& fault) const {
  if (compared_ == 0) return false;
  switch (fault ? fault->outcome : task::Outcome::kPassed) {
    case task::Outcome::kPassed:
    case task::Outcome::kWrongValue:
    case task::Outcome::kViolation:
    case task::Outcome::kNoisy:
      return true;
    default:
      return false;
  }
}

std::string BenchmarkRules::flashinfer_status(const std::optional<Fault>& fault) const {
  if (had_outputs(fault)) return flashinfer_ok_ ? "PASSED" : "INCORRECT_NUMERICAL";
  switch (fault ? fault->outcome : task::Outcome::kRuntimeError) {
    case task::Outcome::kWrongShape:
      return "INCORRECT_SHAPE";
    case task::Outcome::kWrongDtype:
      return "INCORRECT_DTYPE";
    case task::Outcome::kTimeout:
      return "TIMEOUT";
    default:
      return "RUNTIME_ERROR";
  }
}

void BenchmarkRules::add_to(WorkloadReport& report, const std::optional<Fault>& fault) const {
  report.flashinfer = {.status = flashinfer_status(fault),
                       .max_relative_error = flashinfer_rel_,
                       .max_absolute_error = flashinfer_abs_};
  report.kernelbench = {.compiled = true, .correctness = had_outputs(fault) && kernelbench_ok_};
}

}  // namespace kw::gym
