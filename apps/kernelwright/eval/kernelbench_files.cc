// The results are grouped by level, then by problem.
#include "kernelwright/eval/kernelbench_files.h"

#include "os/file.h"

namespace kw::front {

void KernelBenchFiles::add(const task::Candidate& candidate, const task::Verdict& verdict) {
  if (!candidate.sample) return;
  levels_[candidate.sample->level][candidate.sample->problem_id].push_back(
      task::kernelbench_result(verdict, candidate.sample->sample_id, hardware_));
}

Result<std::vector<std::filesystem::path>> KernelBenchFiles::write(
    const std::filesystem::path& folder) const {
  std::vector<std::filesystem::path> written;
  for (const auto& [level, results] : levels_) {
    std::string name = levels_.size() == 1 ? "eval_results.json"
                                           : fmt::format("eval_results_level_{}.json", level);
    written.push_back(folder / name);
    KW_TRY_STATUS(os::write_file_atomic(written.back(), task::kernelbench_results_text(results)));
  }
  return written;
}

}  // namespace kw::front
