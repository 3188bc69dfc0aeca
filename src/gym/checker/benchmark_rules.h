// What KernelBench's and FlashInfer-Bench's own rules say of the outputs of one candidate. They go
// beside the verdict, and never decide it.
#pragma once
#include <cstdint>
#include <optional>
#include <string>

#include "base/json.h"
#include "gym/checker/side.h"
#include "gym/correctness/tensor.h"

namespace kw::gym {

class BenchmarkRules {
 public:
  // with_kernelbench: false for modules, which have KernelBench's own trials (KernelBenchTrials).
  explicit BenchmarkRules(bool with_kernelbench) : with_kernelbench_(with_kernelbench) {}

  // One output of one call.
  void compare(const TensorView& candidate, const TensorView& reference);
  // Adds "flashinfer" and "kernelbench". fault: how the judgement ended, nothing: it passed.
  void add_to(Json& report, const std::optional<Fault>& fault) const;

 private:
  bool had_outputs(const std::optional<Fault>& fault) const;
  std::string flashinfer_status(const std::optional<Fault>& fault) const;

  bool with_kernelbench_;
  std::int64_t compared_ = 0;
  bool kernelbench_ok_ = true, flashinfer_ok_ = true;
  double flashinfer_abs_ = 0, flashinfer_rel_ = 0;
};

}  // namespace kw::gym
