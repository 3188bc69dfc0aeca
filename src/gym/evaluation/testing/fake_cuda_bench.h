// For tests: a bench as a GPU's will be, without one. Its memory is vectors, its clock stands still
// until it is moved, and its kernels are functions. The judgement is the checker's own.
#pragma once
#include <algorithm>
#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>

#include "gym/checker/judgement.h"
#include "gym/checker/testing/fake_workload.h"
#include "gym/evaluation/bench.h"

namespace kw::gym::testing {

class ScriptedProgram : public Program {
 public:
  explicit ScriptedProgram(ExecutorScript chosen) : script(std::move(chosen)) {}
  ExecutorScript script;
  std::string source = {};  // of a candidate
};

// Scripts the bench by the text of a candidate's source. It outlives bench and sessions.
struct FakeGpu {
  std::map<std::string, ExecutorScript> kernels;   // a source that is missing here does not compile
  std::map<std::string, ErrorCode> broken_builds;  // sources whose build is cut: our failure
  std::map<std::string, std::string> refused;      // sources that nobody can build, and why
  AdmissionFindings findings;                      // of every workload
  std::uint64_t resident_bytes = 1;
  std::function<void(FakeWorkload&)> before_judge;
  std::map<std::string, ExecutorScript> tuned;  // sources with autotuners, and what they take
  std::map<Compilation, std::chrono::nanoseconds> reference_takes = {
      {Compilation::kNone, std::chrono::milliseconds(2)},
      {Compilation::kDefault, std::chrono::milliseconds(2)},
      {Compilation::kMaxAutotune, std::chrono::milliseconds(2)}};
  // By its forms as candidates.
  std::function<void(const ScriptedCall&)> reference_computes = compute_workload;
  // Calls so far.
  std::atomic<int> opened{0}, baselines{0}, judged{0}, completed{0}, quiet{0}, tunings{0};
  std::atomic<int> last_pair{-1};  // of process_pairs()
};

class FakeCudaSession : public BenchSession {
 public:
  FakeCudaSession(FakeGpu& gpu, SessionOptions options) : gpu_(gpu), workload_(options) {}

  const task::Signature& signature() const override { return workload_.signature; }
  const AdmissionFindings& findings() const override { return gpu_.findings; }
  std::uint64_t resident_bytes() const override { return gpu_.resident_bytes; }

  Result<Build> build(const task::Candidate& candidate, BuildFor) override {
    const std::string& source = candidate.sources.at(0).content;
    if (auto broken = gpu_.broken_builds.find(source); broken != gpu_.broken_builds.end())
      return fail(broken->second, "the compiler is gone");
    Build out;
    out.wall_ms = 5;
    if (auto refused = gpu_.refused.find(source); refused != gpu_.refused.end()) {
      out.unsupported = refused->second;
      return out;
    }
    auto found = gpu_.kernels.find(source);
    if (found == gpu_.kernels.end()) {
      out.mistake = "there is no kernel " + source;
      return out;
    }
    auto program = std::make_unique<ScriptedProgram>(found->second);
    program->source = source;
    out.program = std::move(program);
    return out;
  }
  bool wants_tuning(const Program& program) const override {
    return gpu_.tuned.contains(static_cast<const ScriptedProgram&>(program).source);
  }
  Status tune(Program& program, const std::stop_token&) override {
    if (workload_.baseline == nullptr) return fail(ErrorCode::kInternal, "tuning before baseline");
    ++gpu_.tunings;
    auto& scripted = static_cast<ScriptedProgram&>(program);
    scripted.script = gpu_.tuned.at(scripted.source);
    return {};
  }
  Result<std::unique_ptr<Program>> reference_program(Compilation compilation) override {
    ExecutorScript script;
    script.wall = gpu_.reference_takes.at(compilation);
    script.kernel = gpu_.reference_computes;
    return std::make_unique<ScriptedProgram>(std::move(script));
  }
  Status start_baseline(const Program& baseline, PairMemory) override {
    ++gpu_.baselines;
    if (!std::exchange(is_taught_, true)) workload_.learn_from_oracle();
    workload_.start_baseline(static_cast<const ScriptedProgram&>(baseline).script);
    is_used_ = false;
    return {};
  }
  bool has_baseline(bool unused) const override {
    return workload_.baseline != nullptr && !(unused && is_used_);
  }
  int process_pairs(const EvalOptions& options) const override {
    return std::max(1, options.process_pairs);
  }
  Result<WorkloadReport> judge(const Program& candidate, const EvalOptions& options, int pair,
                               const std::stop_token& stop) override {
    if (stop.stop_requested()) return fail(ErrorCode::kCancelled, "stopped");
    ++gpu_.judged;
    gpu_.last_pair = pair;
    if (gpu_.before_judge) gpu_.before_judge(workload_);
    is_used_ = true;
    workload_.goal = {options.half_width_percent / 100, options.max_seconds, process_pairs(options),
                      pair};
    JudgingContext context = workload_.context();
    auto turn = TurnScope::begin(workload_.turn);
    auto side = workload_.candidate(static_cast<const ScriptedProgram&>(candidate).script);
    return Judgement(context, std::move(side)).run();
  }
  Status complete(Program&, WorkloadReport&, const Completion& completion) override {
    ++gpu_.completed;
    completion.enter("coverage");
    return {};
  }

 private:
  FakeGpu& gpu_;
  FakeWorkload workload_;
  bool is_taught_ = false, is_used_ = false;
};

class FakeCudaBench : public Bench {
 public:
  explicit FakeCudaBench(FakeGpu& gpu) : gpu_(gpu) {}
  task::Target workload_target() const override { return task::Target::kCuda; }
  Status require_quiet() const override {
    ++gpu_.quiet;
    return {};
  }
  Result<std::unique_ptr<BenchSession>> open(const task::Problem& problem,
                                             const task::Workload& workload,
                                             const EvalOptions& options, bool,
                                             const std::stop_token&) override {
    ++gpu_.opened;
    SessionOptions chosen;
    chosen.timeout_seconds = options.timeout_seconds;
    chosen.timing = is_timed(problem, workload, options);
    KW_TRY(chosen.mechanisms, Mechanisms::without(options.disabled));
    return std::make_unique<FakeCudaSession>(gpu_, chosen);
  }

 private:
  FakeGpu& gpu_;
};

}  // namespace kw::gym::testing
