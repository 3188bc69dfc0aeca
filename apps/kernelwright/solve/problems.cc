#include "kernelwright/solve/problems.h"

#include <algorithm>
#include <map>

#include "base/text.h"
#include "task/problem_source.h"

namespace kw::front {
namespace {

// Gives each name once: "NAME", "NAME#2".
class Keys {
 public:
  std::string next(const std::string& name) {
    const int number = ++seen_[name];
    return number == 1 ? name : fmt::format("{}#{}", name, number);
  }

 private:
  std::map<std::string, int> seen_;
};

}  // namespace

Result<Problems> read_problems(const std::string& source, const std::vector<std::string>& set) {
  KW_TRY(task::Settings settings, task::parse_settings(set));
  KW_TRY(auto loaded, task::load_each_problem(source, settings));
  const bool some = std::any_of(loaded.begin(), loaded.end(),
                                [](const auto& one) { return one.problem.has_value(); });
  if (!some && !loaded.empty()) return tl::unexpected(std::move(loaded.front().problem).error());
  if (loaded.empty())
    return fail(ErrorCode::kNotFound, "{}: no problems in it", printable(source, 300));
  Keys keys;
  Problems out;
  // A broken row takes no name from one that can be read.
  for (task::LoadedProblem& one : loaded) {
    if (one.problem) out.read.push_back({keys.next(one.problem->name), std::move(*one.problem)});
  }
  for (const task::LoadedProblem& one : loaded) {
    if (!one.problem) out.unread.push_back({keys.next(one.name), one.problem.error().message()});
  }
  return out;
}

Status check_same(const std::vector<search::SearchProblem>& problems, const runlog::Run& run,
                  const std::string& source) {
  bool same = problems.size() == run.problems.size();
  for (std::size_t i = 0; same && i < problems.size(); ++i) {
    if (problems[i].key != run.problems[i].key) same = false;
    if (same && problems[i].problem.hash != run.problems[i].hash)
      return fail(ErrorCode::kInvalidArgument, "{} in {} has changed since the run began",
                  printable(problems[i].key, 200), source);
  }
  if (same) return {};
  return fail(ErrorCode::kInvalidArgument, "{} has other problems than when the run began", source);
}

}  // namespace kw::front
