// The folders RUN/checkpoints/step-NNNNNN: a checkpoint is made under another name and gets its own
// when it is complete. A process that is killed at any point leaves complete checkpoints, and
// folders that the next begin_checkpoint() removes.
#pragma once
#include <cstdint>
#include <filesystem>
#include <vector>

#include "base/result.h"

namespace kw::train {

// The last file of a checkpoint that is written.
inline constexpr const char* kCheckpointDone = "DONE";

// Complete checkpoints (with DONE), by step. Folders without DONE are not named.
Result<std::vector<std::filesystem::path>> checkpoints_in(const std::filesystem::path& run);

// An empty folder for the files of the step's checkpoint, DONE included. Unfinished folders of
// earlier processes, and an earlier checkpoint of this step, are removed. One process a run.
Result<std::filesystem::path> begin_checkpoint(const std::filesystem::path& run, std::int64_t step);

// Gives the folder of begin_checkpoint() its name, which is returned, and removes all complete
// checkpoints but the newest `keep` (0: keeps all).
Result<std::filesystem::path> finish_checkpoint(const std::filesystem::path& run, std::int64_t step,
                                                std::int64_t keep);

}  // namespace kw::train
