// Files of the gym and of `kernelwright solve` as runs.
#pragma once
#include <filesystem>
#include <vector>

#include "base/result.h"
#include "report/run.h"

namespace kw::report {

// A run's folder (docs/formats/run.md), FILE.verdicts.jsonl or the FILE that it belongs to, the
// lines of `eval --json`, or FlashInfer-Bench's Trace lines. kNotFound; kInvalidArgument naming
// FILE:LINE for a line that is none of these; a cut last line is left out. A candidate judged again
// replaces its earlier verdict. Named after the folder or file.
// texts: a run's code and answers too, at most kMaxText bytes of each.
Result<Run> read_run(const std::filesystem::path& path, bool texts);
inline constexpr std::size_t kMaxText = 16U << 10U;

// Adds these names, where they are missing, as problems without attempts: a file of verdicts does
// not say what was asked. Returns how many were added.
std::size_t add_problems_asked(Run& run, const std::vector<std::string>& names);

// Runs whose files are called the same get names that differ: "a/run", "b/run", else "run#2".
void name_apart(std::vector<Run>& runs);

}  // namespace kw::report
