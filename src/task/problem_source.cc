// Recognises the forms of problems.
#include "task/problem_source.h"

#include <algorithm>
#include <filesystem>
#include <set>
#include <system_error>

#include "base/text.h"
#include "task/candidate_source.h"
#include "task/kernelbench.h"
#include "task/native_problem.h"
#include "text/jsonl.h"
#include "text/names.h"
#include "text/python_scan.h"
#include "text/text_file.h"

namespace kw::task {
namespace fs = std::filesystem;
namespace {

bool is_folder(const fs::path& path) {
  std::error_code ignored;
  return fs::is_directory(path, ignored);
}

bool is_there(const fs::path& path) {
  std::error_code ignored;
  return fs::exists(path, ignored);
}

// What --set asks for, and which of it some module had a use for.
class SettingsUse {
 public:
  // strict: the only problem, so that every setting must fit it.
  SettingsUse(const Settings& settings, bool strict) : settings_(settings), strict_(strict) {}

  Settings for_source(std::string_view source) {
    if (strict_) return settings_;
    Settings out;
    text::PythonScan scan(source);
    for (const auto& setting : settings_) {
      bool has = std::any_of(scan.assignments().begin(), scan.assignments().end(),
                             [&](const auto& a) { return a.name == setting.first; });
      if (!has) continue;
      out.push_back(setting);
      used_.insert(setting.first);
    }
    return out;
  }

  Status all_used() const {
    for (const auto& [name, value] : settings_) {
      if (!strict_ && !used_.contains(name)) {
        return fail(ErrorCode::kInvalidArgument,
                    "--set {}: none of the problems has such a constant", name);
      }
    }
    return {};
  }

 private:
  const Settings& settings_;
  bool strict_;
  std::set<std::string> used_;
};

struct Selection {
  fs::path path;
  std::string key;  // "": all
};

// "DATA.jsonl#1/19". A file whose own name has "#" in it is taken as it stands.
Selection parse_argument(const std::string& argument) {
  auto hash = argument.rfind('#');
  if (hash == std::string::npos || is_there(argument)) return {argument, ""};
  return {argument.substr(0, hash), argument.substr(hash + 1)};
}

bool matches(const Problem& problem, const std::string& key) {
  if (key.empty() || problem.name == key) return true;
  return problem.is_module() &&
         fmt::format("{}/{}", problem.module().level, problem.module().problem_id) == key;
}

std::string some_names(const std::vector<std::string>& names) {
  std::vector<std::string> shown(
      names.begin(),
      names.begin() + static_cast<std::ptrdiff_t>(std::min<std::size_t>(names.size(), 8)));
  return printable(join(shown, ", "), 400) +
         (names.size() > shown.size() ? fmt::format(", ... ({} in all)", names.size()) : "");
}

template <typename Named>
std::vector<std::string> names_of(const std::vector<Named>& problems) {
  std::vector<std::string> out;
  for (const Named& problem : problems) out.push_back(problem.name);
  return out;
}

LoadedProblem loaded(std::string name, std::string origin, Result<Problem> problem) {
  if (problem) name = problem->name;
  return {std::move(name), std::move(origin), std::move(problem)};
}

// GPU MODE's form: task.yml, reference.py with ref_kernel and generate_input.
Error gpu_mode_task(const fs::path& folder) {
  return {ErrorCode::kUnsupported,
          fmt::format("{}: a task of GPU MODE, which is not read: write KernelBench's form around "
                      "it, a class Model whose forward calls ref_kernel, get_inputs that calls "
                      "generate_input with a test's numbers, and get_init_inputs",
                      (folder / "task.yml").string())};
}

bool is_gpu_mode_task(const fs::path& folder) {
  return is_there(folder / "task.yml") || is_there(folder / "task.yaml");
}

Error parquet_file(const fs::path& path) {
  const std::string rows = fs::path(path).replace_extension(".jsonl").string();
  return {ErrorCode::kUnsupported,
          fmt::format("{}: Parquet is not read as problems; its rows as lines are: python3 -c "
                      "\"import pandas; pandas.read_parquet('{}').to_json('{}', orient='records', "
                      "lines=True)\"",
                      path.string(), path.string(), rows)};
}

Result<Problem> module_file(const fs::path& path, SettingsUse& use) {
  const fs::path folder = path.has_parent_path() ? path.parent_path() : fs::path(".");
  if (is_gpu_mode_task(folder)) return tl::unexpected(gpu_mode_task(folder));
  KW_TRY(std::string source, text::read_text(path, text::kMaxSourceFile));
  return module_from_file(path, use.for_source(source));
}

std::string text_column(const Json& row, const char* column) {
  bool there = row.is_object() && row.contains(column) && row[column].is_string();
  return there ? row[column].get<std::string>() : "";
}

Result<Problem> problem_row(const Json& row, const fs::path& path, SettingsUse& use) {
  if (is_definition_row(row)) return problem_from_row(row, path);
  std::string source = text_column(row, "python_code");
  if (source.empty()) source = text_column(row, "code");
  return module_from_row(row, path.string(), use.for_source(source));
}

// With a key, a broken line is an error: it may be the one that is meant.
Result<std::vector<LoadedProblem>> rows(const Selection& selection, SettingsUse& use) {
  KW_TRY(std::string text, text::read_text(selection.path, text::kMaxDataFile));
  std::vector<LoadedProblem> out;
  std::vector<std::string> names;
  KW_TRY_STATUS(text::for_each_line(text, [&](std::size_t number, Result<Json> row) -> Status {
    std::string where = fmt::format("{}:{}", selection.path.string(), number);
    std::string name = row ? text_column(*row, "name") : "";
    if (!name.empty()) names.push_back(name);
    if (row && !selection.key.empty() && !row_matches(*row, selection.key)) return {};
    Result<Problem> problem = row ? problem_row(*row, selection.path, use)
                                  : Result<Problem>(tl::unexpected(std::move(row).error()));
    if (!problem) problem = tl::unexpected(std::move(problem).error().with_context(where));
    if (!problem && !selection.key.empty()) return tl::unexpected(std::move(problem).error());
    if (name.empty()) name = fmt::format("line {}", number);
    out.push_back(loaded(std::move(name), std::move(where), std::move(problem)));
    return {};
  }));
  if (out.empty()) {
    return fail(ErrorCode::kNotFound, "{}: no problem \"{}\"{}; it has {}", selection.path.string(),
                printable(selection.key, 80), text::suggestion(selection.key, names),
                some_names(names));
  }
  return out;
}

Result<std::vector<LoadedProblem>> single(Result<Problem> problem) {
  if (!problem) return tl::unexpected(std::move(problem).error());
  std::string origin = problem->origin;
  std::vector<LoadedProblem> out;
  out.push_back(loaded("", std::move(origin), std::move(problem)));
  return out;
}

// A definition under a name of its own, whose workloads lie beside it.
bool has_workloads_beside(const fs::path& definition) {
  return is_there(fs::path(definition).replace_extension(".jsonl"));
}

// Every problem folder, definition and module below a folder. A data set's definitions/ hides its
// other files.
Result<std::vector<LoadedProblem>> folder(const fs::path& path, SettingsUse& use) {
  if (is_there(path / "definition.json")) return single(problem_from_folder(path));
  if (is_gpu_mode_task(path)) return tl::unexpected(gpu_mode_task(path));
  std::vector<LoadedProblem> out;
  bool data_set = is_folder(path / "definitions");
  KW_TRY(auto definitions,
         text::files_with_extension(data_set ? path / "definitions" : path, ".json", true));
  for (const fs::path& file : definitions) {
    const bool is_folder_form = !data_set && file.filename() == "definition.json";
    if (!data_set && !is_folder_form && !has_workloads_beside(file)) continue;
    const fs::path problem = is_folder_form ? file.parent_path().filename() : file.stem();
    out.push_back(loaded(
        problem.string(), file.string(),
        is_folder_form ? problem_from_folder(file.parent_path()) : problem_from_definition(file)));
  }
  if (data_set) return out;
  KW_TRY(auto modules, text::files_with_extension(path, ".py", true));
  std::set<fs::path> tasks;
  for (const fs::path& file : modules) {
    const fs::path beside = file.parent_path();
    if (file.filename() == "__init__.py") continue;
    if (is_there(beside / "definition.json")) continue;          // the reference, or a solution
    if (kernelbench_sample(file.filename().string())) continue;  // a solution
    if (is_gpu_mode_task(beside)) {
      if (tasks.insert(beside).second)
        out.push_back(
            {beside.filename().string(), beside.string(), tl::unexpected(gpu_mode_task(beside))});
      continue;
    }
    out.push_back(loaded(file.stem().string(), file.string(), module_file(file, use)));
  }
  return out;
}

Result<std::vector<LoadedProblem>> load(const Selection& selection, SettingsUse& use) {
  const fs::path& path = selection.path;
  if (!is_there(path))
    return fail(ErrorCode::kNotFound, "{}: no such file or folder", printable(path.string(), 300));
  if (is_folder(path)) return folder(path, use);
  std::string extension = path.extension().string();
  if (extension == ".jsonl") return rows(selection, use);
  if (extension == ".py") return single(module_file(path, use));
  if (extension == ".json" && path.filename() == "definition.json" &&
      is_there(workloads_in(path.parent_path()))) {
    return single(problem_from_folder(path.has_parent_path() ? path.parent_path() : fs::path(".")));
  }
  if (extension == ".json") return single(problem_from_definition(path));
  if (extension == ".parquet") return tl::unexpected(parquet_file(path));
  if (path.filename() == "task.yml" || path.filename() == "task.yaml")
    return tl::unexpected(gpu_mode_task(path.has_parent_path() ? path.parent_path() : "."));
  return fail(ErrorCode::kInvalidArgument,
              "{}: not a problem; expected a folder, a definition .json, a KernelBench .py or a "
              ".jsonl of rows",
              path.string());
}

}  // namespace

Result<std::vector<LoadedProblem>> load_each_problem(const std::string& argument,
                                                     const Settings& settings) {
  Selection selection = parse_argument(argument);
  bool strict = !is_folder(selection.path) &&
                (selection.path.extension() != ".jsonl" || !selection.key.empty());
  SettingsUse use(settings, strict);
  KW_TRY(std::vector<LoadedProblem> problems, load(selection, use));
  if (problems.empty()) {
    return fail(ErrorCode::kNotFound,
                "{}: no problems in it (no definition.json, definitions/ or .py)",
                selection.path.string());
  }
  // Rows were picked while they were read: their entry points and uuids are keys too.
  if (selection.path.extension() != ".jsonl") {
    std::vector<std::string> names = names_of(problems);
    std::erase_if(problems, [&](const LoadedProblem& one) {
      return one.problem && !matches(*one.problem, selection.key);
    });
    if (problems.empty()) {
      return fail(ErrorCode::kNotFound, "{}: no problem \"{}\"{}; it has {}",
                  selection.path.string(), printable(selection.key, 80),
                  text::suggestion(selection.key, names), some_names(names));
    }
  }
  // One that cannot be read may be a module with the constant.
  bool perhaps = std::any_of(problems.begin(), problems.end(), [](const LoadedProblem& one) {
    return !one.problem || one.problem->is_module();
  });
  if (!settings.empty() && !perhaps) {
    return fail(ErrorCode::kInvalidArgument,
                "--set {}: a definition has no constants to set; its sizes are in its workloads",
                settings[0].first);
  }
  KW_TRY_STATUS(use.all_used());
  return problems;
}

Result<std::vector<Problem>> load_problems(const std::string& argument, const Settings& settings) {
  KW_TRY(std::vector<LoadedProblem> all, load_each_problem(argument, settings));
  std::vector<Problem> out;
  for (LoadedProblem& one : all) {
    KW_TRY(Problem problem, std::move(one.problem));
    out.push_back(std::move(problem));
  }
  return out;
}

Result<Problem> load_problem(const std::string& argument, const Settings& settings) {
  KW_TRY(std::vector<Problem> problems, load_problems(argument, settings));
  if (problems.size() == 1) return std::move(problems[0]);
  return fail(ErrorCode::kInvalidArgument,
              "{}: expected one problem, found {}; pick one with \"#NAME\": {}", argument,
              problems.size(), some_names(names_of(problems)));
}

}  // namespace kw::task
