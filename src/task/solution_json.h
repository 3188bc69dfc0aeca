// FlashInfer-Bench's Solution in JSON, with our additions under the key "kernelwright":
// docs/formats/solution.md.
#pragma once
#include <string>

#include "base/json.h"
#include "base/result.h"
#include "task/candidate.h"

namespace kw::task {

inline constexpr std::size_t kMaxSolutionFiles = 256;
inline constexpr std::size_t kMaxSolutionBytes = 8ULL << 20U;

// Every rule of the format is checked; kInvalidArgument names the field. The hash is set.
Result<Candidate> solution_from_json(const Json& value, const std::string& where);
// The same with an empty hash, for who changes the candidate first.
Result<Candidate> solution_without_hash(const Json& value, const std::string& where);

// A bare file's candidate is completed to a valid Solution: author "unknown", entry function "run",
// target hardware by language. definition: used where the candidate names none.
Json solution_to_json(const Candidate& candidate, const std::string& definition);

}  // namespace kw::task
