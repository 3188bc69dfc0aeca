// Names of problems to paths.
#include "kernelwright/problems/folder.h"

#include "base/text.h"
#include "kernelwright/tools.h"
#include "task/problem_source.h"
#include "task/settings.h"

namespace kw::front {
namespace fs = std::filesystem;

Result<fs::path> problems_folder(const Services& services) {
  std::error_code ignored;
  if (fs::is_directory("problems", ignored)) return fs::path("problems");
  fs::path checkout = find_checkout(services.program_folder);
  if (!checkout.empty()) return checkout / "problems";
  return fail(ErrorCode::kNotFound,
              "there is no folder ./problems, nor one beside the program; give one with --folder");
}

Result<std::string> locate_problem(const Services& services, const std::string& argument) {
  std::error_code ignored;
  std::string path = argument.substr(0, argument.rfind('#'));
  if (argument.empty())
    return fail(ErrorCode::kInvalidArgument, "PROBLEM is empty; expected a path or a name");
  bool is_path = fs::exists(argument, ignored) || fs::exists(path, ignored);
  if (is_path || argument.find('/') != std::string::npos) return argument;
  auto folder = problems_folder(services);
  if (!folder) return argument;
  if (fs::is_directory(*folder / argument, ignored)) return (*folder / argument).string();
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator(*folder, ignored))
    names.push_back(entry.path().filename().string());
  std::string hint = nearest(argument, names);
  return fail(ErrorCode::kNotFound, "{}: no such file, and no such problem in {}{}",
              printable(argument, 300), folder->string(),
              hint.empty() ? "; kernelwright problems list shows them"
                           : fmt::format(" (did you mean \"{}\"?)", hint));
}

Result<task::Problem> read_problem(const Services& services, const std::string& argument,
                                   const std::vector<std::string>& set) {
  KW_TRY(task::Settings settings, task::parse_settings(set));
  KW_TRY(std::string path, locate_problem(services, argument));
  return task::load_problem(path, settings);
}

}  // namespace kw::front
