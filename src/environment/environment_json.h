// JSON of observations, answers and steps: in records and between processes (docs/environment.md).
// Threads: free functions.
#pragma once
#include <string>

#include "base/json.h"
#include "base/result.h"
#include "environment/environment.h"

namespace kw::environment {

Json to_json(const Observation& observation);
// Strict; kInvalidArgument names the key, and begins with `where`.
Result<Observation> observation_from_json(const Json& value, const std::string& where);

// The keys text, finish, tokens, logprobs, versions, and cutoffs where there are some.
Json to_json(const Answer& answer);
// Strict, as above. Log-probabilities have the bits that were written.
Result<Answer> answer_from_json(const Json& value, const std::string& where);

// The keys reward, interval (of a measured reward), done, facts, and next where not done.
void add_step_fields(Json& object, const Step& step);
// Reads these keys of the object. kInvalidArgument for numbers that are not finite, too.
Result<Step> read_step_fields(ObjectReader& reader);

}  // namespace kw::environment
