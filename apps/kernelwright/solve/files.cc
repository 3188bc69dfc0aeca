#include "kernelwright/solve/files.h"

#include "base/hash.h"
#include "base/text.h"
#include "os/file.h"
#include "runlog/stored.h"
#include "task/drop_in.h"
#include "task/solution_json.h"

namespace kw::front {
namespace fs = std::filesystem;
namespace {

// A form that this candidate does not have is left out; other errors pass.
Status write_form(const fs::path& path, const Result<std::string>& text) {
  if (text) return os::write_file_atomic(path, *text);
  if (text.error().code() == ErrorCode::kUnsupported) return {};
  return tl::unexpected(text.error());
}

bool is_plain(char c) {
  return is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || c == '-' ||
         c == '.' || c == '#';
}

}  // namespace

// Characters that no folder's name may have become "_". A hash of the whole key tells such names
// apart.
fs::path solution_folder(const fs::path& run, const std::string& key) {
  std::string name;
  for (char c : key) name += is_plain(c) ? c : '_';
  if (name.empty() || name[0] == '.') name.insert(0, "_");
  if (name != key) name += "-" + sha256_hex(key).substr(0, 8);
  return run / "solutions" / name;
}

Status write_solution(const runlog::RunFolder& folder, const search::SearchProblem& problem,
                      const task::Signature* signature, const runlog::ProblemTree& tree,
                      const std::vector<std::string>& build_flags) {
  const runlog::Attempt* best = tree.best();
  if (best == nullptr || !best->extracted || signature == nullptr) return {};
  KW_TRY(task::Candidate candidate,
         runlog::stored_candidate(folder.path(), best->extracted->candidate));
  const fs::path below = solution_folder(folder.path(), tree.key);
  std::error_code error;
  fs::create_directories(below, error);
  if (error)
    return fail(ErrorCode::kPermissionDenied, "cannot make the folder {}: {}", below.string(),
                error.message());
  const std::string solution = task::solution_to_json(candidate, problem.problem.name)
                                   .dump(2, ' ', false, Json::error_handler_t::replace);
  KW_TRY_STATUS(os::write_file_atomic(below / "solution.json", solution + "\n"));
  KW_TRY_STATUS(write_form(below / ("kernel" + task::source_extension(candidate)),
                           task::standalone_source(candidate, *signature, build_flags)));
  return write_form(below / "model_new.py",
                    task::drop_in_module(problem.problem, candidate, *signature, build_flags));
}

}  // namespace kw::front
