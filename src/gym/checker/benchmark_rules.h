// The verdicts of KernelBench's and FlashInfer-Bench's own rules on the outputs of one candidate.
// They go beside the verdict, and never decide it. Where KernelBench's own trials follow
// (KernelBenchTrials), their verdict takes the place of its rule's.
#pragma once
#include <cstdint>
#include <optional>
#include <string>

#include "gym/checker/fault.h"
#include "gym/correctness/compat.h"
#include "gym/messages/workload_report.h"

namespace kw::gym {

class BenchmarkRules {
 public:
  // One output of one call.
  void add(const RulesResult& output);
  bool has_compared() const { return compared_ > 0; }
  // Sets `flashinfer` and `kernelbench`. fault: how the judgement ended, nothing: it passed.
  void add_to(WorkloadReport& report, const std::optional<Fault>& fault) const;

 private:
  bool had_outputs(const std::optional<Fault>& fault) const;
  std::string flashinfer_status(const std::optional<Fault>& fault) const;

  std::int64_t compared_ = 0;
  bool kernelbench_ok_ = true, flashinfer_ok_ = true;
  double flashinfer_abs_ = 0, flashinfer_rel_ = 0;
};

}  // namespace kw::gym
