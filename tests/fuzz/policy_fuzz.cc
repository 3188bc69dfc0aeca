// policy.toml: what is accepted is written and read again as the same policy.
#include "fixed_definition.h"
#include "fuzz.h"
#include "task/policy_json.h"
#include "task/policy_toml.h"

namespace kw::fuzz {

KW_FUZZ(policy, text) {
  auto policy = task::policy_from_toml(text, "policy.toml");
  if (!accepted(policy)) {
    KW_CHECK(policy.error().message().starts_with("policy.toml"));
    return;
  }
  std::string written = task::policy_to_toml(*policy);
  auto again = task::policy_from_toml(written, "policy.toml");
  KW_CHECK(again);
  KW_CHECK(to_json(*again).dump() == to_json(*policy).dump());
  task::Workload workload;
  workload.uuid = "w";
  accepted(task::check_policy(*policy, fixed_definition(), {workload}));
}

}  // namespace kw::fuzz
