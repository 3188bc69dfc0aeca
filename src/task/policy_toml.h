// policy.toml: docs/formats/policy.md.
#pragma once
#include <string>
#include <string_view>

#include "base/result.h"
#include "task/problem.h"

namespace kw::task {

// kInvalidArgument with the line for ill-formed TOML, with the key for what is not a policy. where:
// the file, in front of messages.
Result<Policy> policy_from_toml(std::string_view text, const std::string& where);
std::string policy_to_toml(const Policy& policy);

}  // namespace kw::task
