// Fakes for the tests of this folder: a console that remembers, a gym without processes, tools by
// table, a clock set by hand.
#pragma once
#include <filesystem>
#include <fstream>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "kernelwright/data/commands.h"
#include "kernelwright/eval/commands.h"
#include "kernelwright/model/commands.h"
#include "kernelwright/report/commands.h"
#include "kernelwright/run.h"
#include "kernelwright/solve/commands.h"
#include "os/file.h"
#include "writer/graph/graph.h"

namespace kw::front {

class StringConsole : public Console {
 public:
  Status out(std::string_view text) override {
    std::lock_guard lock(mutex_);
    if (closed) return fail(ErrorCode::kUnavailable, "cannot print the result: closed");
    out_text += text;
    return {};
  }
  void err(std::string_view text) override {
    std::lock_guard lock(mutex_);
    err_text += text;
  }
  bool out_colour() const override { return false; }
  bool err_terminal() const override { return terminal; }
  int err_columns() const override { return columns; }

  std::string out_text, err_text;
  bool closed = false, terminal = false;
  int columns = 80;

 private:
  std::mutex mutex_;
};

class FakeTools : public ToolRunner {
 public:
  Result<ToolOutput> run(const std::vector<std::string>& argv, std::chrono::milliseconds) override {
    std::string name = std::filesystem::path(argv[0]).filename().string();
    if (name.starts_with("python")) name = "python3";  // KW_PYTHON may name another
    auto found = outputs.find(name);
    if (found == outputs.end()) return fail(ErrorCode::kNotFound, "cannot run {}", argv[0]);
    return ToolOutput{0, found->second};
  }
  std::map<std::string, std::string> outputs = {{"g++", "12.2.0\n"},
                                                {"python3", "3.11.2\n2.13.0\n\n"}};
};

inline task::Verdict fake_verdict(const gym::EvalRequest& request, task::Outcome outcome) {
  task::Verdict verdict;
  verdict.target = request.options.target;
  verdict.problem_name = request.problem.name;
  verdict.problem_hash = request.problem.hash;
  verdict.candidate_name = request.candidate.name;
  verdict.candidate_hash = request.candidate.hash;
  verdict.language = std::string(to_string(request.candidate.language));
  verdict.outcome = outcome;
  bool passed = outcome == task::Outcome::kPassed;
  verdict.kernelbench = {true, passed, passed ? 1.5 : -1};
  verdict.flashinfer.status = passed ? "PASSED" : "INCORRECT_NUMERICAL";
  for (const task::Workload& workload : request.problem.workloads) {
    task::WorkloadVerdict one;
    one.uuid = workload.uuid;
    one.outcome = outcome;
    one.kernelbench = verdict.kernelbench;
    one.flashinfer = verdict.flashinfer;
    if (passed) {
      one.times = task::Times{1.5, 3, {1.5, 1.5}, {3, 3}};
      one.speedup = task::Speedup{2, 1.9, 2.1};
    }
    verdict.workloads.push_back(std::move(one));
  }
  if (passed && !verdict.workloads.empty()) {
    verdict.times = verdict.workloads[0].times;
    verdict.speedup = verdict.workloads[0].speedup;
  }
  return verdict;
}

// The requests that the fake gym saw, and its answers by the candidate's name. A name without an
// answer has passed.
struct FakeGym {
  std::map<std::string, task::Outcome> outcomes;
  std::map<std::string, ErrorCode> errors;
  std::function<void(const gym::EvalRequest&)>
      on_judge;                                    // called under the lock, before the answer
  std::function<void(task::Verdict&)> on_verdict;  // the last word about what is answered
  std::vector<gym::EvalRequest> seen;
  std::map<std::string, gym::Quarantine> quarantines;  // by the problem's name: else admitted
  std::function<void(const gym::CheckRequest&)> on_check;
  std::vector<gym::CheckRequest> checked;
  std::vector<gym::TraceRequest> traced;
  std::optional<writer::Graph> graph;  // of every problem; none: its output is its one input
  std::vector<gym::GymOptions> started;
  std::mutex mutex;
};

class FakeJudge : public gym::Judge {
 public:
  explicit FakeJudge(FakeGym& gym) : gym_(gym) {}
  Result<task::Verdict> judge(gym::EvalRequest request, std::stop_token stop) override {
    std::lock_guard lock(gym_.mutex);
    if (stop.stop_requested()) return fail(ErrorCode::kCancelled, "cancelled");
    if (gym_.on_judge) gym_.on_judge(request);
    gym_.seen.push_back(request);
    if (stop.stop_requested()) return fail(ErrorCode::kCancelled, "cancelled");
    const std::string& name = request.candidate.name;
    if (gym_.errors.contains(name)) return fail(gym_.errors[name], "the fake fails");
    auto outcome = gym_.outcomes.find(name);
    task::Verdict verdict = fake_verdict(
        request, outcome == gym_.outcomes.end() ? task::Outcome::kPassed : outcome->second);
    if (gym_.on_verdict) gym_.on_verdict(verdict);
    return verdict;
  }
  // Every workload for the CPU has the same findings.
  Result<gym::ProblemCheck> check(const gym::CheckRequest& request,
                                  const std::stop_token& stop) override {
    std::lock_guard lock(gym_.mutex);
    if (gym_.on_check) gym_.on_check(request);
    if (stop.stop_requested()) return fail(ErrorCode::kCancelled, "cancelled");
    gym_.checked.push_back(request);
    const std::string& name = request.problem.name;
    if (gym_.errors.contains(name)) return fail(gym_.errors[name], "the fake fails");
    gym::ProblemCheck out;
    for (const task::Workload& workload : request.problem.workloads) {
      const auto& targets = request.problem.workload_policy(workload.uuid).targets;
      if (targets == std::vector{task::Target::kCuda}) {
        out.not_checked.push_back(workload.uuid);
      } else {
        out.workloads.push_back({workload.uuid, {}});
      }
    }
    if (out.workloads.empty()) return out;
    out.targets.push_back({task::Target::kCpu, std::nullopt});
    auto found = gym_.quarantines.find(name);
    if (found == gym_.quarantines.end()) return out;
    out.targets[0].quarantine = found->second;
    using Cause = gym::QuarantineCause;
    for (gym::ProblemCheck::Workload& workload : out.workloads) {
      gym::AdmissionFindings& findings = workload.findings;
      const gym::Quarantine& why = found->second;
      if (why.names.empty()) findings.failure = why.reason;
      findings.reference_failed = why.cause == Cause::kReferenceFailed;
      if (why.cause == Cause::kTrivialCandidate) findings.passing = why.names;
      if (why.cause == Cause::kInertInput) findings.inert = why.names;
      findings.reference_ms = 1.5;
    }
    return out;
  }
  Result<task::Signature> describe(const task::Problem&, task::Target) override {
    task::Signature signature;
    task::Argument x;
    x.name = "x";
    x.shape = {4};
    signature.inputs = {x};
    x.name = "out";
    x.role = task::Role::kOutput;
    signature.outputs = {x};
    return signature;
  }
  // The graph whose output is its one input.
  Result<std::string> trace(const gym::TraceRequest& request, const std::stop_token&) override {
    std::lock_guard lock(gym_.mutex);
    gym_.traced.push_back(request);
    const std::string& name = request.problem.name;
    if (gym_.errors.contains(name)) return fail(gym_.errors[name], "the fake fails");
    if (gym_.graph) return writer::to_json_text(*gym_.graph);
    writer::Graph graph;
    graph.sizes = {{"N", 8}};
    graph.inputs = {{"x",
                     writer::InputRole::kInput,
                     {tensor::DType::kFloat32, {writer::IntExpr::symbol("N")}}}};
    graph.outputs = {writer::ValueId::input(0)};
    return writer::to_json_text(graph);
  }
  Result<gym::Capabilities> capabilities(task::Target target) override {
    if (target != task::Target::kCpu)
      return fail(ErrorCode::kUnsupported, "target \"{}\" is not available in this build",
                  to_string(target));
    gym::Capabilities out;
    out.available = out.isolation = out.clock = true;
    out.languages = {"cpp", "python"};
    return out;
  }

 private:
  FakeGym& gym_;
};

// A folder of its own with two definitions in problems/ and room for candidates, in which the test
// runs, and everything a command needs.
class FrontTest : public testing::Test {
 protected:
  FrontTest() : folder(std::move(*os::TempDir::make("kw_front_test"))) {
    std::filesystem::current_path(folder.path());
    write(
        "problems/double/definition.json",
        R"({"name": "double", "op_type": "elementwise", "axes": {"N": {"type": "var"}}, "inputs": {"x": {"shape": ["N"], "dtype": "float32"}},
              "outputs": {"y": {"shape": ["N"], "dtype": "float32"}}, "reference": "def run(x):\n    return 2 * x\n"})");
    write("problems/double/workloads.jsonl",
          "{\"definition\": \"double\", \"solution\": null, \"workload\": {\"uuid\": \"w-double\", "
          "\"axes\": {\"N\": 8}, \"inputs\": {\"x\": "
          "{\"type\": \"random\"}}}, \"evaluation\": null}\n");
    write("problems/double/policy.toml", "schema = 1\nfamily = \"elementwise\"\n");
    write(
        "problems/halve/definition.json",
        R"({"name": "halve", "op_type": "elementwise", "axes": {"N": {"type": "var"}}, "inputs": {"x": {"shape": ["N"], "dtype": "float32"}},
              "outputs": {"y": {"shape": ["N"], "dtype": "float32"}}, "reference": "def run(x):\n    return x / 2\n"})");
    write("problems/halve/workloads.jsonl",
          "{\"definition\": \"halve\", \"solution\": null, \"workload\": {\"uuid\": \"w-halve\", "
          "\"axes\": {\"N\": 8}, \"inputs\": {\"x\": "
          "{\"type\": \"random\"}}}, \"evaluation\": null}\n");
  }

 public:
  ~FrontTest() override { std::filesystem::current_path(before); }

 protected:
  std::string path(const std::string& name) const { return (folder.path() / name).string(); }
  std::string write(const std::string& name, const std::string& text) const {
    std::filesystem::create_directories((folder.path() / name).parent_path());
    std::ofstream(folder.path() / name) << text;
    return path(name);
  }
  std::string read(const std::string& name) const {
    auto text = os::read_file(folder.path() / name);
    return text ? *text : "";
  }

  int kernelwright(const std::vector<std::string>& arguments) {
    Services services{
        .console = console,
        .tools = tools,
        .start_judge = [this](gym::GymOptions options) -> Result<std::unique_ptr<gym::Judge>> {
          if (start_error) return tl::unexpected(*start_error);
          gym.started.push_back(std::move(options));
          return std::make_unique<FakeJudge>(gym);
        },
        .rejudge = [](const std::filesystem::path& evidence) -> Result<task::Verdict> {
          if (evidence != "stored.json")
            return fail(ErrorCode::kNotFound, "{}: no such file", evidence.string());
          gym::EvalRequest request;
          request.candidate.name = "stored";
          return fake_verdict(request, task::Outcome::kWrongValue);
        },
        .inspect_sandbox =
            [] {
              return std::vector<sandbox::HealthCheck>{{"isolation level",
                                                        sandbox::HealthCheck::State::kWarn,
                                                        "namespaces", "needs root"}};
            },
        .inspect_gpus =
            [] {
              return std::vector<sandbox::HealthCheck>{
                  {"GPU", sandbox::HealthCheck::State::kMissing, "no NVIDIA driver", ""}};
            },
        .now = [this] { return std::chrono::steady_clock::time_point(time); },
        .wall_time =
            [] {
              return std::chrono::system_clock::time_point(std::chrono::seconds(1'700'000'000));
            },
        .become =
            [this](const std::vector<std::string>& argv) {
              became = argv;
              return become_error;
            },
        .start_program = [this](const std::vector<std::string>& argv) -> Result<os::ChildProgram> {
          started_program = argv;
          return fail(ErrorCode::kUnavailable, "not in tests");
        },
        .build_flags = {"-O3"},
        .cpu_card =
            [](int threads) {
              prompt::HardwareCard card;
              card.name = "Test CPU";
              card.cores = threads;
              return card;
            },
        .program_folder = folder.path() / "bin",
        .cache_folder = folder.path() / "cache",
        .data_folder = folder.path() / "data",
        .stop = stop.get_token(),
    };
    static constexpr CommandGroup kAll[] = {&run_eval_command, &run_solve_command,
                                            &run_report_command, &run_model_command,
                                            &run_data_command};
    return run(arguments, services, groups ? *groups : std::span<const CommandGroup>(kAll));
  }

  std::filesystem::path before = std::filesystem::current_path();
  os::TempDir folder;
  StringConsole console;
  FakeTools tools;
  FakeGym gym;
  std::optional<Error> start_error;
  std::optional<std::span<const CommandGroup>> groups;  // those of the program; without: all
  Error become_error = Error(ErrorCode::kUnavailable, "not in tests");
  std::stop_source stop;
  std::vector<std::string> became;           // the program that this one wanted to be
  std::vector<std::string> started_program;  // that it wanted as a child
  std::chrono::nanoseconds time{0};
};

}  // namespace kw::front
