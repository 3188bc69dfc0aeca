#include "task/portable_problem.h"

#include "base/text.h"
#include "task/definition_json.h"
#include "task/kernelbench.h"
#include "task/policy_json.h"
#include "task/settings.h"
#include "task/workload_json.h"

namespace kw::task {
namespace {

Status check_needs_no_file(const Problem& problem) {
  for (const Workload& workload : problem.workloads) {
    for (const auto& [name, source] : workload.inputs) {
      if (const auto* file = std::get_if<SafetensorsInput>(&source))
        return fail(ErrorCode::kUnsupported,
                    "{}: input {} of workload {} lies in {}, which a portable problem cannot name",
                    problem.name, name, workload.uuid, file->path);
    }
  }
  return {};
}

Result<Problem> module_of(const PortableProblem& from, const std::string& origin) {
  KW_TRY(Module module, make_module(from.source, from.entry_point, {}));
  module.settings = from.settings;  // the source has their values already
  return module_problem(from.name, std::move(module), origin);
}

Result<Problem> definition_of(const PortableProblem& from, const std::string& origin) {
  Problem out;
  KW_TRY(const Json source, parse_json(from.source));
  KW_TRY(Definition definition, definition_from_json(source, "problem.source"));
  out.name = from.name;
  out.origin = origin;
  if (!from.workloads.is_array())
    return fail(ErrorCode::kInvalidArgument, "problem.workloads: expected a list");
  for (const Json& workload : from.workloads) {
    KW_TRY(Workload one, workload_from_json(workload, "problem.workloads"));
    KW_TRY_STATUS(compute_axes(one, definition, "problem.workloads"));
    KW_TRY_STATUS(check_workload(one, definition, "problem.workloads"));
    out.workloads.push_back(std::move(one));
  }
  out.body = std::move(definition);
  return out;
}

Status read_module_keys(ObjectReader& reader, PortableProblem& out) {
  KW_TRY(out.entry_point, reader.string_or("entry_point", out.entry_point));
  const Json* settings = reader.find("settings");
  if (settings == nullptr) return {};
  if (!settings->is_object())
    return fail(ErrorCode::kInvalidArgument, "{}: expected an object", reader.path("settings"));
  for (const auto& [name, value] : settings->items()) {
    if (!value.is_string())
      return fail(ErrorCode::kInvalidArgument, "{}.{}: expected a Python literal as text",
                  reader.path("settings"), printable(name, 80));
    out.settings.emplace_back(name, value.get<std::string>());
  }
  return {};
}

}  // namespace

Result<PortableProblem> portable_problem(const Problem& problem) {
  KW_TRY_STATUS(check_needs_no_file(problem));
  PortableProblem out{
      .name = problem.name, .hash = problem.hash, .is_module = problem.is_module(), .source = ""};
  if (out.is_module) {
    out.source = problem.module().source;
    out.entry_point = problem.module().entry_point;
    out.settings = problem.module().settings;
  } else {
    out.source = to_json(problem.definition()).dump();
    out.workloads = Json::array();
    for (const Workload& workload : problem.workloads) out.workloads.push_back(to_json(workload));
  }
  Json policy = to_json(problem.policy);
  if (policy != to_json(Policy{})) out.policy = std::move(policy);
  return out;
}

Result<Problem> problem_of(const PortableProblem& from, const std::string& origin) {
  KW_TRY(Problem out, from.is_module ? module_of(from, origin) : definition_of(from, origin));
  if (!from.policy.is_null()) {
    KW_TRY(out.policy, policy_from_json(from.policy, "problem.policy"));
  }
  if (!from.is_module) KW_TRY_STATUS(check_policy(out.policy, out.definition(), out.workloads));
  out.hash = problem_hash(out);
  if (!from.hash.empty() && out.hash != from.hash)
    return fail(ErrorCode::kDataLoss, "problem.hash: {} is not that of the source, {}",
                printable(from.hash, 80), out.hash);
  return out;
}

Json to_json(const PortableProblem& problem) {
  Json out = {{"name", problem.name},
              {"hash", problem.hash},
              {"form", problem.is_module ? "module" : "definition"},
              {"source", problem.source}};
  if (!problem.workloads.is_null()) out["workloads"] = problem.workloads;
  if (!problem.policy.is_null()) out["policy"] = problem.policy;
  if (problem.entry_point != "Model") out["entry_point"] = problem.entry_point;
  for (const auto& [name, value] : problem.settings) out["settings"][name] = value;
  return out;
}

Result<PortableProblem> read_portable_problem(ObjectReader& reader) {
  PortableProblem out;
  KW_TRY(out.name, reader.string("name"));
  KW_TRY(out.hash, reader.string_or("hash", ""));
  KW_TRY(const std::string form, reader.string("form"));
  if (form != "module" && form != "definition")
    return fail(ErrorCode::kInvalidArgument, "{}: expected module or definition, not \"{}\"",
                reader.path("form"), printable(form, 40));
  out.is_module = form == "module";
  KW_TRY(out.source, reader.string("source"));
  if (const Json* workloads = reader.find("workloads")) out.workloads = *workloads;
  if (const Json* policy = reader.find("policy")) out.policy = *policy;
  if (out.is_module) KW_TRY_STATUS(read_module_keys(reader, out));
  return out;
}

Result<PortableProblem> portable_problem_from_json(const Json& value, const std::string& where) {
  KW_TRY(ObjectReader reader, ObjectReader::make(value, where));
  KW_TRY(PortableProblem out, read_portable_problem(reader));
  KW_TRY_STATUS(reader.no_other_keys());
  return out;
}

Result<Problem> problem_from_json(const Json& value, const std::string& where) {
  KW_TRY(const PortableProblem portable, portable_problem_from_json(value, where));
  return problem_of(portable, where);
}

}  // namespace kw::task
