// Shared parts of the tests of filter and teach: samples of a small problem, a gym that judges by a
// comment, a folder of files, and every length that a kill may leave a log at.
#pragma once
#include <csignal>
#include <fstream>
#include <map>
#include <mutex>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <sys/resource.h>

#include "base/text.h"
#include "data/filter.h"
#include "data/sample.h"
#include "gym/judge.h"
#include "os/file.h"
#include "task/definition_json.h"
#include "task/workload_json.h"

namespace kw::data {

inline task::Problem double_problem(const std::string& name = "double") {
  task::Problem out;
  out.name = name;
  Json definition = *parse_json(
      R"({"name": "double", "op_type": "elementwise", "axes": {"N": {"type": "var"}},
        "inputs": {"x": {"shape": ["N"], "dtype": "float32"}},
        "outputs": {"y": {"shape": ["N"], "dtype": "float32"}},
        "reference": "def run(x):\n    return 2 * x\n"})");
  definition["name"] = name;
  out.body = *task::definition_from_json(definition, "");
  out.workloads = {*task::workload_from_json(
      *parse_json(R"({"uuid": "w", "axes": {"N": 8}, "inputs": {"x": {"type": "random"}}})"), "")};
  out.hash = task::problem_hash(out);
  return out;
}

inline std::string code(const std::string& mark) {
  return "Plan.\n```cpp\nextern \"C\" void run(const float* x, float* y, int64_t N) {}  // " +
         mark + "\n```";
}

inline Sample sample_with(const std::string& mark, Kind kind = Kind::kDefinition) {
  Sample out;
  out.kind = kind;
  out.language = "cpp";
  out.problem = sample_problem(double_problem()).value();
  out.messages = {{"user", "Double it."}, {"assistant", code(mark)}};
  out.group = mark;
  return out;
}

// Judges by the comment in the code.
class MarkJudge : public gym::Judge {
 public:
  Result<task::Verdict> judge(gym::EvalRequest request, std::stop_token stop) override {
    if (stop.stop_requested()) return fail(ErrorCode::kCancelled, "stopped");
    const std::string& text = request.candidate.entry_source()->content;
    std::string mark = text.substr(text.find("// ") + 3);
    mark = std::string(trim(mark));
    std::lock_guard lock(mutex);
    const int number = ++judged[mark];
    timed[mark] = request.options.timing;
    if (mark.starts_with("flaky") && number == 1) return fail(ErrorCode::kUnavailable, "gone");
    if (mark.starts_with("broken")) return fail(ErrorCode::kInternal, "a bug of ours");
    task::Verdict out;
    out.outcome = outcome_of(mark, request.problem);
    if (out.outcome == task::Outcome::kViolation) out.violation = "library";
    out.evidence = "/store/" + mark;
    task::WorkloadVerdict workload;
    workload.uuid = "w";
    workload.outcome = out.outcome;
    if (out.outcome != task::Outcome::kPassed)
      workload.diagnostics = {{"mismatch", "y[3] is off in " + mark}};
    if (mark.starts_with("near") || (mark.starts_with("almost") && is_small(request.problem))) {
      workload.borderline = task::Borderline{1.03, {0.97, 1.02}};
      workload.diagnostics = {{"borderline", "two further draws decided on " + mark}};
    }
    out.workloads = {std::move(workload)};
    const double speedup = mark.starts_with("slow") ? 0.5 : 2;
    if (out.outcome == task::Outcome::kPassed && request.options.timing)
      out.speedup = task::Speedup{speedup, speedup * 0.9, speedup * 1.1};
    return out;
  }
  Result<task::Signature> describe(const task::Problem& problem, task::Target) override {
    return task::signature_of(problem.definition(), problem.workloads[0]);
  }

  static bool is_small(const task::Problem& problem) {
    return problem.is_module() && problem.module().source.find("64") != std::string::npos;
  }
  // "elsewhere": wrong for modules of 64 elements; "near": borderline, "almost": for these modules.
  static task::Outcome outcome_of(const std::string& mark, const task::Problem& problem) {
    using task::Outcome;
    if (mark.starts_with("wrong") || (is_small(problem) && mark.starts_with("elsewhere")))
      return Outcome::kWrongValue;
    if (mark.starts_with("quarantined")) return Outcome::kQuarantined;
    if (mark.starts_with("noisy")) return Outcome::kNoisy;
    if (mark.starts_with("cheats")) return Outcome::kViolation;
    return Outcome::kPassed;
  }

  std::mutex mutex;
  std::map<std::string, int> judged;
  std::map<std::string, bool> timed;
};

class SessionTest : public ::testing::Test {
 protected:
  std::string path(const std::string& name) const { return (folder.path() / name).string(); }
  void write(const std::string& name, const std::vector<Sample>& samples) const {
    std::ofstream file(path(name));
    for (const Sample& sample : samples) file << to_line(sample) << "\n";
  }
  std::string read(const std::string& name) const { return *os::read_file(path(name)); }
  std::vector<Sample> samples_in(const std::string& name) const {
    std::vector<Sample> out;
    auto status = for_each_sample(path(name), [&](Sample sample, std::string_view) {
      out.push_back(std::move(sample));
      return Status();
    });
    EXPECT_TRUE(status) << status.error().message();
    return out;
  }
  std::vector<std::string> groups_in(const std::string& name) const {
    std::vector<std::string> out;
    for (const Sample& sample : samples_in(name)) out.push_back(sample.group);
    return out;
  }

  Result<FilterReport> filter(const std::string& log, const std::string& to = "out.jsonl") {
    auto out = OutputFile::create(path(to), true);
    auto rejected = OutputFile::create(path("rejected.jsonl"), true);
    auto report = filter_dataset({path("in.jsonl"), path(log), *out, &*rejected}, settings, judge,
                                 {}, stop.get_token());
    if (report) {
      EXPECT_TRUE(out->close() && rejected->close());
    }
    return report;
  }

  // Every length at which a kill may leave the log: behind each line, and in the middle of one.
  std::vector<std::string> cuts_of(const std::string& log) const {
    const std::string whole = read(log);
    std::vector<std::string> out = {""};
    for (std::size_t end = whole.find('\n'); end != std::string::npos;
         end = whole.find('\n', end + 1)) {
      out.push_back(whole.substr(0, end - 5));
      out.push_back(whole.substr(0, end + 1));
    }
    return out;
  }

  os::TempDir folder = std::move(*os::TempDir::make("kw_data_test"));
  FilterSettings settings = [] {
    FilterSettings out;
    out.eval.timing = false;
    out.jobs = 2;
    out.retry_seconds = 0;
    return out;
  }();
  MarkJudge judge;
  std::stop_source stop;
};

// Files may have so many bytes while it lives.
class FullDisk {
 public:
  explicit FullDisk(std::size_t bytes) {
    ::getrlimit(RLIMIT_FSIZE, &usual_);
    rlimit small = usual_;
    small.rlim_cur = bytes;
    handler_ = std::signal(SIGXFSZ, SIG_IGN);
    ::setrlimit(RLIMIT_FSIZE, &small);
  }
  ~FullDisk() {
    ::setrlimit(RLIMIT_FSIZE, &usual_);
    std::signal(SIGXFSZ, handler_);
  }
  FullDisk(const FullDisk&) = delete;
  FullDisk& operator=(const FullDisk&) = delete;

 private:
  rlimit usual_{};
  void (*handler_)(int) = nullptr;
};

}  // namespace kw::data
