// The problems of a folder by family, each with what it needs of a machine.
#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <set>
#include <string_view>
#include <tuple>

#include "base/text.h"
#include "kernelwright/problems/folder.h"
#include "kernelwright/problems/problems.h"
#include "task/policy_json.h"
#include "task/problem_source.h"
#include "task/target.h"

namespace kw::front {
namespace {

using task::Problem;

struct Needs {
  std::vector<task::Target> targets;  // that a workload is for
  std::vector<std::string> dtypes;    // of inputs and outputs; empty: unknown until a module runs
  // Inputs and outputs of the largest workload of a target that has one.
  std::map<task::Target, std::uint64_t> memory_bytes;
};

// A module has none, since its reference would have to run for it.
std::optional<std::uint64_t> bytes_of(const Problem& problem, const task::Workload& workload) {
  if (problem.is_module()) return std::nullopt;
  auto signature = task::signature_of(problem.definition(), workload, problem.policy.statics);
  if (!signature) return std::nullopt;
  std::uint64_t bytes = 0;
  for (const auto* list : {&signature->inputs, &signature->statics, &signature->outputs}) {
    for (const task::Argument& argument : *list)
      bytes += argument.role == task::Role::kScalar ? 0 : argument.bytes();
  }
  return bytes;
}

Needs needs_of(const Problem& problem) {
  Needs out;
  for (const task::Target target : task::all_targets()) {
    auto workloads = problem.workloads_for(target);
    for (const task::Workload* workload : workloads) {
      auto bytes = bytes_of(problem, *workload);
      if (!bytes) continue;
      auto& largest = out.memory_bytes[target];
      largest = std::max(largest, *bytes);
    }
    if (!workloads.empty()) out.targets.push_back(target);
  }
  if (problem.is_module()) return out;
  std::set<tensor::DType> dtypes;
  for (const auto* list : {&problem.definition().inputs, &problem.definition().outputs}) {
    for (const task::TensorSpec& tensor : *list) dtypes.insert(tensor.dtype);
  }
  for (tensor::DType dtype : dtypes) out.dtypes.emplace_back(to_string(dtype));
  return out;
}

Json summary_with_needs(const Problem& problem) {
  Needs needs = needs_of(problem);
  Json out = problem_summary(problem);
  out["targets"] = needs.targets;
  out["dtypes"] = needs.dtypes;
  for (const task::Target target : {task::Target::kCpu, task::Target::kCuda}) {
    auto found = needs.memory_bytes.find(target);
    out["memory_bytes"][to_string(target)] =
        found == needs.memory_bytes.end() ? Json(nullptr) : Json(found->second);
  }
  out["library"] = to_string(problem.policy.library);
  return out;
}

std::string memory_text(const Needs& needs, task::Target target) {
  auto found = needs.memory_bytes.find(target);
  return found == needs.memory_bytes.end() ? "-" : format_bytes(found->second);
}

std::vector<std::string> names_of(const std::vector<task::Target>& targets) {
  std::vector<std::string> out;
  for (const task::Target target : targets) out.emplace_back(to_string(target));
  return out;
}

std::string or_dash(const std::vector<std::string>& words) {
  return words.empty() ? "-" : join(words, ",");
}

using Row = std::array<std::string, 8>;

Row row_of(const Problem& problem) {
  Needs needs = needs_of(problem);
  Json counts = problem_summary(problem);
  return {"  " + problem.name,
          std::string(kind_of(problem)),
          fmt::format("{} ({} timed)", counts["workloads"].get<std::size_t>(),
                      counts["timed_workloads"].get<std::size_t>()),
          or_dash(names_of(needs.targets)),
          or_dash(needs.dtypes),
          memory_text(needs, task::Target::kCpu),
          memory_text(needs, task::Target::kCuda),
          std::string(to_string(problem.policy.library))};
}

std::string line_of(const Row& row, const std::array<std::size_t, 8>& widths) {
  std::string line;
  for (std::size_t i = 0; i < row.size(); ++i)
    line += fmt::format("{:<{}}{}", row[i], widths[i], i + 1 < row.size() ? "  " : "");
  return line.substr(0, line.find_last_not_of(' ') + 1) + "\n";
}

// problems: by family, then name.
std::string table(const std::vector<Problem>& problems) {
  Row head = {"NAME", "KIND", "WORKLOADS", "TARGETS", "DTYPES", "CPU", "CUDA", "LIBRARY"};
  std::vector<Row> rows;
  std::map<std::string, std::size_t> counts;
  for (const Problem& problem : problems) {
    rows.push_back(row_of(problem));
    ++counts[problem.policy.family];
  }
  std::array<std::size_t, 8> widths{};
  for (std::size_t i = 0; i < widths.size(); ++i) {
    widths[i] = head[i].size();
    for (const Row& row : rows) widths[i] = std::max(widths[i], row[i].size());
  }
  std::string out = line_of(head, widths);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const std::string& family = problems[i].policy.family;
    if (i == 0 || family != problems[i - 1].policy.family)
      out += fmt::format("{} ({})\n", family.empty() ? "no family" : printable(family, 60),
                         counts[family]);
    out += line_of(rows[i], widths);
  }
  return out;
}

// kNotFound with a suggestion.
Status keep_family(std::vector<Problem>& problems, const std::string& family,
                   const std::string& folder) {
  std::set<std::string> known;
  for (const Problem& problem : problems) known.insert(problem.policy.family);
  known.erase("");
  if (!known.contains(family)) {
    std::vector<std::string> names(known.begin(), known.end());
    std::string hint = nearest(family, names);
    return fail(ErrorCode::kNotFound, "--family: no problem in {} is of family \"{}\"{}", folder,
                printable(family, 60),
                !hint.empty()   ? fmt::format(" (did you mean \"{}\"?)", hint)
                : names.empty() ? "; none says its family"
                                : "; there are " + join(names, ", "));
  }
  std::erase_if(problems, [&](const Problem& problem) { return problem.policy.family != family; });
  return {};
}

}  // namespace

Result<int> run_problems_list(const ProblemsListCommand& command, const Services& services) {
  std::string folder = command.folder;
  if (folder.empty()) {
    KW_TRY(auto found, problems_folder(services));
    folder = found.string();
  }
  KW_TRY(std::vector<Problem> problems, task::load_problems(folder, {}));
  if (!command.family.empty()) KW_TRY_STATUS(keep_family(problems, command.family, folder));
  // Problems without a family come last.
  std::stable_sort(problems.begin(), problems.end(), [](const Problem& a, const Problem& b) {
    auto key = [](const Problem& p) {
      return std::tuple(p.policy.family.empty(), std::string_view(p.policy.family),
                        std::string_view(p.name));
    };
    return key(a) < key(b);
  });
  std::string out;
  if (command.json) {
    for (const Problem& problem : problems)
      out +=
          summary_with_needs(problem).dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
  } else {
    out = table(problems);
  }
  KW_TRY_STATUS(services.console.out(out));
  return 0;
}

}  // namespace kw::front
