// One reader a format; read_run.h chooses. Private to this folder.
#pragma once
#include <filesystem>
#include <map>
#include <string>
#include <utility>

#include "report/run.h"

namespace kw::report {

// Problems in the order in which they are first seen.
class ProblemList {
 public:
  explicit ProblemList(Run& run) : run_(run) {}
  // By name; a name that comes with another hash is another problem, "NAME (0123abcd)".
  ProblemRecord& at(const std::string& name, const std::string& hash);

 private:
  Run& run_;
  std::map<std::pair<std::string, std::string>, std::size_t> places_;
  std::map<std::string, std::size_t> names_;
};

Result<Run> read_verdicts(const std::filesystem::path& file);
Result<Run> read_traces(const std::filesystem::path& file);
Result<Run> read_run_folder(const std::filesystem::path& folder, bool texts);

// The attempt that a verdict is about, without id and parent.
Attempt attempt_of(const task::Verdict& verdict);

}  // namespace kw::report
