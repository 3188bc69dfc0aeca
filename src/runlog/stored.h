// Verdicts and candidates in a run's blobs.
#pragma once
#include <filesystem>
#include <string>

#include "base/result.h"
#include "task/candidate.h"
#include "task/verdict.h"

namespace kw::runlog {

std::string verdict_text(const task::Verdict& verdict);

// folder: the run's; hash: as events name the blob. Errors are those of RunFolder::get() and of
// what cannot be read.
Result<task::Verdict> stored_verdict(const std::filesystem::path& folder, const std::string& hash);
Result<task::Candidate> stored_candidate(const std::filesystem::path& folder,
                                         const std::string& hash);

}  // namespace kw::runlog
