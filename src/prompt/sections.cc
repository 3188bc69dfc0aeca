// Description, workloads and rules of a problem in words.
#include "prompt/sections.h"

#include <algorithm>
#include <vector>

#include "base/text.h"

namespace kw::prompt {
namespace {

using task::CheckKind;
using task::Language;
using task::Problem;

constexpr std::size_t kMaxWorkloadsShown = 16;

std::string library_rule(task::Library library, Language language) {
  bool cpp = language == Language::kCpp;
  switch (library) {
    case task::Library::kKernelOnly:
      return cpp ? "Write the computation yourself: no library of kernels (BLAS, oneDNN, ...) may "
                   "do it."
                 : "Write the computation yourself: no operator of torch or of another library may "
                   "compute a part of the result.";
    case task::Library::kLibrariesAllowed:
      return cpp ? "The C++ standard library, intrinsics and OpenMP are available; nothing else "
                   "can be linked."
                 : "Operators of torch may be used.";
    case task::Library::kAnything:
      return "Any installed library may be used.";
  }
  return {};
}

// Whole-number and index outputs need a sentence of their own; values are covered by the general
// rule.
std::string check_rule(const std::string& output, const task::OutputPolicy& policy) {
  std::string which = policy.of.empty() ? std::string("its input") : "`" + policy.of + "`";
  switch (policy.check) {
    case CheckKind::kValues:
      return {};
    case CheckKind::kExact:
      return fmt::format("`{}` must be exactly equal.", output);
    case CheckKind::kArgmaxOf:
      return fmt::format(
          "`{}` holds indices of the {} of {} along axis {}; any index whose value is equally good "
          "is accepted.",
          output, policy.largest ? "maximum" : "minimum", which, policy.axis);
    case CheckKind::kTopkOf:
      return fmt::format(
          "`{}` holds indices of the {} values of {} along axis {}; ties may be resolved either "
          "way.",
          output, policy.largest ? "largest" : "smallest", which, policy.axis);
    case CheckKind::kSet:
      return fmt::format("`{}` is compared as a set: the order does not matter.", output);
    case CheckKind::kSampling:
      return fmt::format("`{}` holds samples; their distribution is tested.", output);
  }
  return {};
}

std::string shape_rule(const Problem& problem) {
  if (problem.is_module())
    return "Shapes are fixed to those of this problem; you may rely on them.";
  if (problem.policy.any_shape)
    return "Any values of the variable axes must work, not only those listed: odd, tiny and large "
           "sizes are tried.";
  return "Only the workloads listed are judged; others need not work.";
}

void add(std::string& out, const std::string& rule) {
  if (!rule.empty()) out += "- " + rule + "\n";
}

void add_build_rules(std::string& out, const PromptOptions& options) {
  if (!options.build_flags.empty())
    add(out, fmt::format("It is built with `g++ {}`.", join(options.build_flags, " ")));
  if (!options.optional_flags.empty()) {
    add(out, fmt::format("A comment `// flags: ...` at the top adds flags; allowed are {}. They do "
                         "not change what is accepted as correct.",
                         join(options.optional_flags, " ")));
  }
}

std::string axes_of(const task::Workload& workload) {
  std::vector<std::string> out;
  for (const auto& [name, value] : workload.axes)
    out.push_back(fmt::format("{} = {}", name, value));
  for (const auto& [name, source] : workload.inputs) {
    if (const auto* scalar = std::get_if<task::ScalarInput>(&source))
      out.push_back(fmt::format("{} = {}", name, scalar->value.dump()));
  }
  return out.empty() ? "all axes constant" : join(out, ", ");
}

}  // namespace

std::string description_section(const Problem& problem) {
  if (problem.is_module()) return {};
  const task::Definition& definition = problem.definition();
  std::string out;
  if (!definition.description.empty()) out += "\n" + printable(definition.description, 4000) + "\n";
  std::string axes;
  for (const task::Axis& axis : definition.axes) {
    axes += fmt::format("- axis `{}`: {}{}{}\n", axis.name,
                        axis.value ? fmt::format("{}", *axis.value) : "variable",
                        axis.description.empty() ? "" : ", ", printable(axis.description, 300));
  }
  for (const std::string& constraint : definition.constraints)
    axes += fmt::format("- constraint: `{}`\n", printable(constraint, 300));
  if (!axes.empty()) out += "\n" + axes;
  return out;
}

std::string workloads_section(const Problem& problem, task::Target target) {
  if (problem.is_module())
    return "One: the inputs that `get_inputs` makes, with fresh random values on every call.\n";
  std::vector<const task::Workload*> shown = problem.workloads_for(target);
  if (shown.empty())
    for (const task::Workload& workload : problem.workloads) shown.push_back(&workload);
  std::string out;
  for (std::size_t i = 0; i < shown.size() && i < kMaxWorkloadsShown; ++i) {
    bool timed = problem.workload_policy(shown[i]->uuid).timed;
    out += fmt::format("- {}{}\n", axes_of(*shown[i]), timed ? ", timed" : "");
  }
  if (shown.size() > kMaxWorkloadsShown)
    out += fmt::format("- and {} more\n", shown.size() - kMaxWorkloadsShown);
  return out;
}

std::string rules_section(const Problem& problem, Language language, const PromptOptions& options) {
  std::string out;
  add(out,
      "Inputs are new on every call and read-only. Every timed call is checked against the "
      "reference: there is no call that only measures.");
  add(out,
      "Outputs must be as accurate as a careful implementation in the declared types: the error "
      "allowed per element comes from a float64 reference. NaN never passes. "
      "Do not compute in a lower precision than the inputs and outputs have.");
  for (const auto& [output, policy] : problem.policy.outputs) add(out, check_rule(output, policy));
  add(out, shape_rule(problem));
  if (problem.policy.deterministic) add(out, "Equal inputs must give equal bits.");
  if (problem.policy.state_checked) add(out, "Updates of buffers are checked too.");
  add(out, library_rule(problem.policy.library, language));
  add(out, fmt::format("It is timed with {} thread{}.", options.threads,
                       options.threads == 1 ? "" : "s"));
  if (language == Language::kCpp) add_build_rules(out, options);
  add(out,
      "The code runs in a sandbox without network, other processes or files of ours. Work left "
      "behind for after the call, results kept from earlier calls and changes to the clock are "
      "found, "
      "and count as a violation.");
  return out;
}

}  // namespace kw::prompt
