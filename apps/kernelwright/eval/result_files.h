// The files of a run over a data set: trace lines in OUT, every verdict in OUT.verdicts.jsonl.
// docs/cli.md, "Files of a run".
#pragma once
#include <filesystem>
#include <functional>
#include <map>
#include <string>

#include "base/json.h"
#include "base/result.h"
#include "os/journal.h"
#include "task/problem.h"
#include "task/target.h"
#include "task/trace.h"
#include "task/verdict.h"

namespace kw::front {

// A stored verdict stands for a new request if this is equal.
struct ResumeKey {
  std::string problem_hash, candidate_hash, candidate_name;
  task::Target target = task::Target::kCpu;
  auto operator<=>(const ResumeKey&) const = default;
};

// A file of results, before anything is made: kInvalidArgument for a folder or device,
// kAlreadyExists for one with content unless it is to be gone on with.
Status check_out_path(const std::filesystem::path& path, bool resume);

// One line of the verdict log is the commit of one evaluation: its trace lines are written before
// it, and the line says how long OUT was then. After a crash OUT is cut back to the last commit, so
// that nothing stands in it twice. A lock keeps two runs apart. One thread at a time.
class ResultFiles {
 public:
  struct Options {
    std::filesystem::path out;
    bool resume = false;
    Json judged_with;  // the options that a verdict depends on: others do not stand for these
  };
  using Visit = std::function<Status(const task::Verdict&)>;

  // kAlreadyExists when the files are there without resume, or another run holds them; kDataLoss
  // when they do not fit each other. visit is called for every verdict stored under this version of
  // the gym and with these options. A cut last line is dropped.
  static Result<ResultFiles> open(const Options& options, const Visit& visit);

  // Trace lines, then the verdict, each synced.
  Status append(const task::Verdict& verdict, const std::vector<task::Trace>& traces);

  const std::filesystem::path& traces() const { return out_; }
  std::filesystem::path verdicts() const { return verdict_log(out_); }
  static std::filesystem::path verdict_log(const std::filesystem::path& out) {
    return out.string() + ".verdicts.jsonl";
  }

 private:
  ResultFiles(const Options& options, os::Journal journal, std::uint64_t trace_bytes)
      : out_(options.out),
        judged_with_(options.judged_with),
        journal_(std::move(journal)),
        trace_bytes_(trace_bytes) {}

  std::filesystem::path out_;
  Json judged_with_;
  os::Journal journal_;
  std::uint64_t trace_bytes_ = 0;
};

}  // namespace kw::front
