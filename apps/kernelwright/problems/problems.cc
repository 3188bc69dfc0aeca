// A problem in full, and as a prompt.
#include "kernelwright/problems/problems.h"

#include <algorithm>

#include "base/text.h"
#include "kernelwright/json_line.h"
#include "kernelwright/problems/folder.h"
#include "kernelwright/prompt_machine.h"
#include "prompt/templates.h"
#include "task/definition_json.h"
#include "task/flags.h"
#include "task/workload_json.h"

namespace kw::front {
namespace {

using task::Problem;

constexpr std::size_t kShownSource = 64U << 10U;  // bytes

std::string shape_text(const task::TensorSpec& tensor) {
  return tensor.shape ? fmt::format("[{}]", join(*tensor.shape, ", ")) : "scalar";
}

Json whole(const Problem& problem) {
  Json out = problem_summary(problem);
  out["policy"] = to_json(problem.policy);
  out["workloads"] = Json::array();
  for (const task::Workload& workload : problem.workloads)
    out["workloads"].push_back(to_json(workload));
  if (problem.is_module()) {
    const task::Module& module = problem.module();
    Json settings = Json::object();
    for (const auto& [name, value] : module.settings) settings[name] = value;
    out["module"] = {{"level", module.level},
                     {"problem_id", module.problem_id},
                     {"entry_point", module.entry_point},
                     {"settings", settings},
                     {"source", module.source}};
    return out;
  }
  out["definition"] = to_json(problem.definition());
  return out;
}

void add_tensors(std::string& out, std::string_view label,
                 const std::vector<task::TensorSpec>& tensors) {
  for (const task::TensorSpec& tensor : tensors) {
    out += fmt::format("  {:<10} {}: {} {}{}{}\n", label, tensor.name, to_string(tensor.dtype),
                       shape_text(tensor), tensor.description.empty() ? "" : "  ",
                       printable(tensor.description, 200));
    label = "";
  }
}

std::string workload_text(const Problem& problem, const task::Workload& workload) {
  std::vector<std::string> parts;
  for (const auto& [name, value] : workload.axes)
    parts.push_back(fmt::format("{}={}", name, value));
  const task::WorkloadPolicy& policy = problem.workload_policy(workload.uuid);
  if (!policy.label.empty()) parts.push_back(fmt::format("({})", printable(policy.label, 60)));
  parts.emplace_back(policy.timed ? "timed" : "not timed");
  return join(parts, " ");
}

std::string text_of(const Problem& problem) {
  std::string out =
      fmt::format("{}  {}, {}\n", problem.name, kind_of(problem),
                  problem.policy.family.empty() ? "no family" : problem.policy.family);
  auto row = [&](std::string_view label, std::string_view text) {
    if (!text.empty()) out += fmt::format("  {:<10} {}\n", label, text);
  };
  row("hash", problem.hash);
  row("from", printable(problem.origin, 300));
  if (problem.is_module()) {
    for (const auto& [name, value] : problem.module().settings)
      row("set", fmt::format("{}={}", name, printable(value, 200)));
    return out + "\n" + printable(trim(problem.module().source), kShownSource) + "\n";
  }
  row("says", printable(problem.definition().description, 600));
  add_tensors(out, "inputs", problem.definition().inputs);
  add_tensors(out, "outputs", problem.definition().outputs);
  std::string_view label = "workloads";
  for (const task::Workload& workload : problem.workloads) {
    row(label,
        fmt::format("{}  {}", printable(workload.uuid, 36), workload_text(problem, workload)));
    label = "";
  }
  return out + "\n" + printable(trim(problem.definition().reference), kShownSource) + "\n";
}

}  // namespace

std::string_view kind_of(const Problem& problem) {
  return problem.is_module() ? "module" : "definition";
}

Json problem_summary(const Problem& problem) {
  auto timed = std::count_if(
      problem.workloads.begin(), problem.workloads.end(),
      [&](const task::Workload& workload) { return problem.workload_policy(workload.uuid).timed; });
  return {{"name", problem.name},
          {"kind", kind_of(problem)},
          {"family", problem.policy.family},
          {"workloads", problem.workloads.size()},
          {"timed_workloads", timed},
          {"hash", problem.hash},
          {"origin", problem.origin}};
}

Result<task::Signature> signature_for(const Problem& problem, const Services& services,
                                      task::Target target) {
  if (!problem.is_module()) {
    if (problem.workloads.empty())
      return fail(ErrorCode::kInvalidArgument, "{} has no workload", problem.origin);
    return task::signature_of(problem.definition(), problem.workloads[0], problem.policy.statics);
  }
  KW_TRY(std::unique_ptr<gym::Judge> judge, services.start_judge(gym::GymOptions{}));
  return judge->describe(problem, target);
}

Result<int> run_problems_show(const ProblemsShowCommand& command, const Services& services) {
  KW_TRY(Problem problem, read_problem(services, command.problem, command.set));
  if (!command.signature) {
    KW_TRY_STATUS(
        services.console.out(command.json ? json_line(whole(problem)) : text_of(problem)));
    return 0;
  }
  KW_TRY(task::Signature signature, signature_for(problem, services, task::Target::kCpu));
  Json json = whole(problem);
  json["signature"] = to_json(signature);
  json["problem_h"] = problem_header(signature, false);
  KW_TRY_STATUS(
      services.console.out(command.json ? json_line(json) : problem_header(signature, false)));
  return 0;
}

Result<int> run_prompt(const PromptCommand& command, const Services& services) {
  auto language = task::language_from_string(command.language);
  if (!language) {
    return fail(ErrorCode::kInvalidArgument,
                "--language: unknown language \"{}\"; there are cpp, python and triton",
                printable(command.language, 40));
  }
  KW_TRY(prompt::Template chosen, prompt::template_named(command.prompt_template));
  KW_TRY(Problem problem, read_problem(services, command.problem, command.set));
  KW_TRY(task::Signature signature, signature_for(problem, services, command.target));
  prompt::PromptOptions options;
  KW_TRY(options.hardware, prompt_machine(chosen, command.machine, *language, command.target,
                                          command.threads, services));
  options.target = command.target;
  options.threads = command.threads;
  options.build_flags = services.build_flags;
  options.optional_flags = task::allowed_flags();
  KW_TRY(prompt::ChatPrompt chat,
         prompt::chat_prompt(problem, signature, *language, chosen, options));
  KW_TRY_STATUS(services.console.out(command.json ? json_line(prompt::to_json(chat))
                                                  : chat.messages.front().content));
  return 0;
}

}  // namespace kw::front
