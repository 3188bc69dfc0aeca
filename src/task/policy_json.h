// Policy as a JSON object in policy.toml's shape (docs/formats/policy.md). to_json (problem.h)
// leaves defaults out, so that a new key does not change the hash of every problem.
#pragma once
#include <string>
#include <string_view>

#include "base/json.h"
#include "base/result.h"
#include "task/problem.h"

namespace kw::task {

std::string_view to_string(Library library);            // "kernel_only", ...
std::string_view to_string(CheckKind check);            // "values", ...
std::string_view to_string(Distribution distribution);  // "default", ...
std::string_view to_string(InputDomain domain);         // "any", ...

// kInvalidArgument names the key, with a suggestion for unknown ones.
Result<Policy> policy_from_json(const Json& value, const std::string& where);

// Names in the policy against the definition and its workloads: statics and inputs are inputs,
// outputs are outputs, uuids exist, argmax_of and topk_of point at a tensor with that axis.
Status check_policy(const Policy& policy, const Definition& definition,
                    const std::vector<Workload>& workloads);

}  // namespace kw::task
