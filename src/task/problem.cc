// Problem identity.
#include "task/problem.h"

#include <algorithm>

#include "base/hash.h"
#include "task/definition_json.h"
#include "task/workload_json.h"

namespace kw::task {

bool Workload::has_custom_inputs() const {
  return std::ranges::any_of(
      inputs, [](const auto& input) { return std::holds_alternative<CustomInput>(input.second); });
}

const WorkloadPolicy& Problem::workload_policy(const std::string& uuid) const {
  static const WorkloadPolicy kDefault;
  auto found = policy.workloads.find(uuid);
  return found == policy.workloads.end() ? kDefault : found->second;
}

bool Problem::is_for(const std::string& uuid, Target target) const {
  const auto& targets = workload_policy(uuid).targets;
  return std::find(targets.begin(), targets.end(), target) != targets.end();
}

std::vector<const Workload*> Problem::workloads_for(Target target) const {
  std::vector<const Workload*> chosen;
  for (const Workload& workload : workloads) {
    if (is_for(workload.uuid, target)) chosen.push_back(&workload);
  }
  return chosen;
}

// Where a problem was read from, and a module's level and id, do not change what is judged.
std::string problem_hash(const Problem& problem) {
  Json identity = Json::object();
  if (problem.is_module()) {
    const Module& module = problem.module();
    identity["module"] = {{"source", module.source}, {"entry_point", module.entry_point}};
    identity["settings"] = Json::object();
    for (const auto& [name, value] : module.settings) identity["settings"][name] = value;
  } else {
    identity["definition"] = to_json(problem.definition());
    // Maps lose their order in canonical JSON, and the order of tensors and axes is the call
    // interface.
    Json order = Json::array();
    for (const Axis& axis : problem.definition().axes) order.push_back(axis.name);
    for (const TensorSpec& tensor : problem.definition().inputs) order.push_back(tensor.name);
    for (const TensorSpec& tensor : problem.definition().outputs) order.push_back(tensor.name);
    identity["order"] = std::move(order);
  }
  identity["workloads"] = Json::array();
  for (const Workload& workload : problem.workloads)
    identity["workloads"].push_back(to_json(workload));
  identity["policy"] = to_json(problem.policy);
  return sha256_hex(canonical_json(identity));
}

}  // namespace kw::task
