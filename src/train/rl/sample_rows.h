// Rows of samples.jsonl: some answers of a step with what they were paid and what was learnt from
// them (docs/training.md).
#pragma once
#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <vector>

#include "base/json.h"
#include "rollout/trajectory.h"

namespace kw::train {

class SampleRows {
 public:
  // Takes `episodes` at most: the first one of each group, then the second ones. groups: as they
  // were played, before rewards are made equal and groups left out.
  SampleRows(std::span<const rollout::Group> groups, std::int64_t episodes);

  // groups: with advantages, after the filters. A row a turn, in the order of episodes.
  std::vector<Json> rows(std::int64_t step, std::span<const rollout::Group> groups) const;

 private:
  struct Taken {
    std::string task;
    rollout::Trajectory trajectory;
  };
  std::vector<Taken> taken_;
};

}  // namespace kw::train
