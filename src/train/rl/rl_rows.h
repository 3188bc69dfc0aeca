// The files of rows in the folder of a run: metrics, samples, evaluations and episodes
// (docs/training.md).
#pragma once
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <utility>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "environment/recorded_environment.h"

namespace kw::train {

// One thread. Every row is in its file when a call returns; kResourceExhausted where a disk is
// full.
class RlRows {
 public:
  // Without `resume` samples, evaluations and episodes begin anew; with it rows of steps that are
  // made again are cut off. step: steps that are kept.
  static Result<RlRows> open(std::filesystem::path folder, bool resume, std::int64_t step);

  // Steps before the latest evaluation; -1: there is none.
  std::int64_t evaluated() const { return evaluated_; }
  Status add_episodes(const std::vector<environment::Record>& records);
  // row: of evaluations.jsonl, which gets the length of episodes.jsonl.
  Status add_evaluation(Json row);
  // line: of metrics.jsonl, which gets that length too.
  Status add_step(Json line, const std::vector<Json>& samples);

 private:
  explicit RlRows(std::filesystem::path folder) : folder_(std::move(folder)) {}
  Status append(const char* name, const std::vector<Json>& rows) const;
  Status cut_episodes() const;
  std::uint64_t episode_bytes() const;

  std::filesystem::path folder_;
  std::ofstream episodes_;
  std::int64_t evaluated_ = -1;
};

}  // namespace kw::train
