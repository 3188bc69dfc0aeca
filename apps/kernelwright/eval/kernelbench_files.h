// eval_results.json, as KernelBench's own scripts write and read it, from the verdicts of a run.
#pragma once
#include <cstdint>
#include <filesystem>
#include <map>
#include <string>

#include "base/result.h"
#include "task/candidate.h"
#include "task/kernelbench_results.h"

namespace kw::front {

// Collects the results of candidates that are samples of a KernelBench run; others are passed over.
class KernelBenchFiles {
 public:
  explicit KernelBenchFiles(std::string hardware) : hardware_(std::move(hardware)) {}
  void add(const task::Candidate& candidate, const task::Verdict& verdict);

  // folder/eval_results.json; with several levels one eval_results_level_<L>.json each, since the
  // file's keys are problem numbers only. Returns what was written: nothing without samples.
  Result<std::vector<std::filesystem::path>> write(const std::filesystem::path& folder) const;

 private:
  std::string hardware_;
  std::map<std::int64_t, task::KernelBenchResults> levels_;
};

}  // namespace kw::front
