// TOML to and from the JSON shape of a policy, so that both have one reader.
#include "task/policy_toml.h"

#include "task/policy_json.h"
#include "text/toml.h"

namespace kw::task {

Result<Policy> policy_from_toml(std::string_view text, const std::string& where) {
  KW_TRY(Json value, text::json_from_toml(text, where));
  auto policy = policy_from_json(value, "");
  if (!policy) return tl::unexpected(std::move(policy).error().with_context(where));
  return policy;
}

std::string policy_to_toml(const Policy& policy) {
  return text::to_toml(to_json(policy));
}

}  // namespace kw::task
