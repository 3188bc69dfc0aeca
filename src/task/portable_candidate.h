// A candidate as JSON that gives the same candidate again: FlashInfer-Bench's Solution, and which
// of its fields a bare file does not have. Readers take a source file as it is too.
// docs/formats/request.md. Plain values, no threads.
#pragma once
#include <functional>
#include <string>

#include "base/json.h"
#include "base/result.h"
#include "task/candidate.h"

namespace kw::task {

// {"hash", "solution", "filled_in"}: solution_to_json() completes a bare file, and "filled_in"
// lists the keys that it completed. Where the candidate came from (`sample`) is not kept.
Json portable_candidate_to_json(const Candidate& candidate);

// Reads that, or {"file", "content", "language"}: a source file, as candidate_from_source() reads
// it. Every rule of the form is checked; kInvalidArgument names the field, kDataLoss says that a
// stated hash is not the content's.
Result<Candidate> portable_candidate_from_json(const Json& value, const std::string& where);

// A candidate of a request, out of its JSON.
using CandidateReader =
    std::function<Result<Candidate>(const Json& value, const std::string& where)>;

}  // namespace kw::task
