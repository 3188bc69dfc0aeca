// The folder of a training run: settings and metrics beside the checkpoints.
#pragma once
#include <cstddef>
#include <cstdint>
#include <filesystem>

#include "base/json.h"
#include "base/result.h"

namespace kw::train {

// Makes the folder, and writes run.toml and metrics.jsonl. Metrics of steps after `step`, that of
// the checkpoint, are dropped: these steps are made again. checkpoints: how many there are.
// kAlreadyExists where there are some and `resume` is false; kNotFound where there are none and it
// is true.
Status prepare_run_folder(const std::filesystem::path& run, bool resume, std::size_t checkpoints,
                          std::int64_t step, const Json& settings);

// Drops rows of steps after `step` from a JSON Lines file, and rows that cannot be read. A file
// that is not there is made.
Status keep_steps(const std::filesystem::path& file, std::int64_t step);

}  // namespace kw::train
