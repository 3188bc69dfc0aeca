// KernelBench's eval_results.json: problem id -> list of samples. docs/formats/kernelbench.md.
#pragma once
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "task/verdict.h"

namespace kw::task {

struct KernelBenchResult {
  std::int64_t sample_id = 0;
  bool compiled = false, correctness = false;
  Json metadata = Json::object();
  double runtime_ms = -1;  // mean; -1: none
  Json runtime_stats =
      Json::object();  // mean, std, min, max, num_trials, hardware, device; empty: none
};
using KernelBenchResults = std::map<std::int64_t, std::vector<KernelBenchResult>>;

// From the verdict's compat.kernelbench; a violation is never correct. Times are of all candidate
// samples, unrounded.
KernelBenchResult kernelbench_result(const Verdict& verdict, std::int64_t sample_id,
                                     const std::string& hardware);

// The file's text, problems by number, samples by id.
std::string kernelbench_results_text(const KernelBenchResults& results);
// kInvalidArgument names the problem and the field.
Result<KernelBenchResults> kernelbench_results_from_json(const Json& value);

}  // namespace kw::task
