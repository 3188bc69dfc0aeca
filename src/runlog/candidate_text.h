// A candidate as a run's blobs hold it (docs/formats/run.md): {"name", "author", "description",
// "definition", "language", "files"}, the file with the entry first.
#pragma once
#include <string>

#include "base/result.h"
#include "task/candidate.h"

namespace kw::runlog {

std::string candidate_text(const task::Candidate& candidate);
// With the same hash. kInvalidArgument names the field.
Result<task::Candidate> candidate_from_text(const std::string& text);

}  // namespace kw::runlog
