// Which form a path has, and names.
#include "report/read_run.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <system_error>

#include "report/json_lines.h"
#include "report/readers.h"

namespace kw::report {
namespace fs = std::filesystem;
namespace {

constexpr std::string_view kVerdicts = ".verdicts.jsonl";

// Whether the first line is a trace.
Result<bool> holds_traces(const fs::path& file) {
  std::optional<bool> out;
  auto look = [&](const Json& line) -> Status {
    out = line.is_object() && line.contains("definition") && line.contains("workload");
    return fail(ErrorCode::kCancelled, "seen");
  };
  auto read = read_json_lines(file, look);
  if (out) return *out;
  if (!read) return tl::unexpected(std::move(read).error());
  return fail(ErrorCode::kInvalidArgument, "{}: no whole line in it", file.string());
}

std::string name_of(const fs::path& path) {
  fs::path clean = path.lexically_normal();
  std::string name =
      clean.has_filename() ? clean.filename().string() : clean.parent_path().filename().string();
  for (std::string_view suffix : {kVerdicts, std::string_view(".jsonl")}) {
    if (name.size() > suffix.size() && name.ends_with(suffix))
      name.resize(name.size() - suffix.size());
  }
  return name == "." || name.empty()
             ? fs::absolute(path).lexically_normal().parent_path().filename().string()
             : name;
}

Result<Run> read_file(const fs::path& path) {
  fs::path log = path.string() + std::string(kVerdicts);
  std::error_code error;
  if (fs::exists(log, error)) return read_verdicts(log);
  KW_TRY(bool traces, holds_traces(path));
  return traces ? read_traces(path) : read_verdicts(path);
}

}  // namespace

ProblemRecord& ProblemList::at(const std::string& name, const std::string& hash) {
  auto [place, is_new] = places_.try_emplace({name, hash}, run_.problems.size());
  if (is_new) {
    std::size_t same = names_[name]++;
    ProblemRecord& record = run_.problems.emplace_back();
    record.name = same == 0 ? name : fmt::format("{} ({})", name, hash.substr(0, 8));
    record.hash = hash;
  }
  return run_.problems[place->second];
}

Result<Run> read_run(const fs::path& path, bool texts) {
  std::error_code error;
  if (!fs::exists(path, error))
    return fail(ErrorCode::kNotFound, "{}: no such file or folder", path.string());
  auto run = fs::is_directory(path, error) ? read_run_folder(path, texts) : read_file(path);
  if (!run) return run;
  if (run->problems.empty())
    return fail(ErrorCode::kInvalidArgument, "{}: no problem in it", path.string());
  run->path = path.string();
  run->name = name_of(path);
  return run;
}

std::size_t add_problems_asked(Run& run, const std::vector<std::string>& names) {
  std::set<std::string> known;
  for (const ProblemRecord& problem : run.problems) known.insert(problem.name);
  std::size_t added = 0;
  for (const std::string& name : names) {
    if (!known.insert(name).second) continue;
    run.problems.emplace_back().name = name;
    ++added;
  }
  return added;
}

void name_apart(std::vector<Run>& runs) {
  auto count = [&](const std::string& name) {
    return std::count_if(runs.begin(), runs.end(),
                         [&](const Run& run) { return run.name == name; });
  };
  std::vector<std::string> names;
  for (const Run& run : runs) {
    std::string parent = fs::path(run.path).lexically_normal().parent_path().filename().string();
    names.push_back(count(run.name) > 1 && !parent.empty() ? parent + "/" + run.name : run.name);
  }
  std::map<std::string, int> used;
  for (std::size_t i = 0; i < runs.size(); ++i) {
    int number = ++used[names[i]];
    runs[i].name = number == 1 ? names[i] : fmt::format("{}#{}", names[i], number);
  }
}

}  // namespace kw::report
