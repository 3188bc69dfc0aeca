// Gym: judges candidates. submit() is asynchronous: compile and check stages run on `jobs` workers,
// timing is exclusive on the host (a lease). A failing candidate is a Verdict; an Error means that
// we or the machine failed.
#pragma once
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <future>
#include <memory>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "gym/capabilities.h"
#include "gym/eval_request.h"
#include "gym/problem_check.h"
#include "gym/version.h"
#include "sandbox/sandbox.h"
#include "task/candidate.h"
#include "task/problem.h"
#include "task/signature.h"
#include "task/target.h"
#include "task/verdict.h"

namespace kw::gym {

// One run of a problem's reference that writes down its operators (docs/tracing.md).
struct TraceRequest {
  task::Problem problem;
  task::Target target = task::Target::kCpu;
  std::string workload;  // uuid, of definitions; empty: the first for the CPU
  double timeout_seconds = 120;
  std::uint64_t memory_bytes = 0;  // 0: 6 GiB
};

// Called from any thread.
class Progress {
 public:
  virtual ~Progress() = default;
  virtual void stage(const EvalRequest& request, std::string_view stage) = 0;
};

// Work of the caller's that can stand still while something is timed: a language model on the same
// machine. Called from any thread, pause() and resume() in turn, many times a second.
class Background {
 public:
  virtual ~Background() = default;
  virtual void pause() = 0;  // returns when nothing of it runs
  virtual void resume() = 0;
};

struct GymOptions {
  sandbox::Level isolation_at_least = sandbox::Level::kNone;
  int jobs = 1;                           // evaluations in flight; timing is never parallel
  std::filesystem::path cache_folder;     // empty: os::cache_home()
  std::filesystem::path evidence_folder;  // empty: os::data_home() / "evidence"
  std::filesystem::path
      programs_folder;  // of checker, executor, ...; empty: beside the running program
  std::filesystem::path
      python_folder;   // of zygote.py and the other leaves; empty: found from the programs' folder
  std::string python;  // interpreter; empty: .venv of the checkout, else python3
  Progress* progress = nullptr;      // borrowed
  Background* background = nullptr;  // borrowed
};

// One way to judge (cpu, cuda, a fake one in tests). judge() runs on a worker thread and may
// be called from several.
class Target {
 public:
  virtual ~Target() = default;
  virtual task::Target target() const = 0;
  virtual Capabilities capabilities() const = 0;
  virtual Result<task::Verdict> judge(const EvalRequest& request, std::stop_token stop) = 0;
  // The session that a judgement of this request begins with; empty: none, or not known yet.
  virtual std::string session_key(const EvalRequest& /*request*/) const { return {}; }
  // Whether such a session is open: its requests go first. A hint, which may be out of date at
  // once.
  virtual bool is_open(const std::string& /*session_key*/) const { return false; }
  // The concrete interface of a module problem needs its reference to run; definitions need no
  // process.
  virtual Result<task::Signature> describe(const task::Problem& problem) = 0;
  // The admission battery by itself; from several threads, like judge().
  virtual Result<ProblemCheck> check(const CheckRequest& request, const std::stop_token& stop);
  // As Gym::trace(). Several threads may call it, as they may call judge().
  virtual Result<std::string> trace(const TraceRequest& request, const std::stop_token& stop);
};

class Gym {
 public:
  // The gym with the targets of this machine.
  static Result<std::unique_ptr<Gym>> start(GymOptions options);
  // The gym over given targets: a seam for tests.
  static std::unique_ptr<Gym> with_targets(std::vector<std::unique_ptr<Target>> targets, int jobs);
  ~Gym();  // stops what runs, and waits for it

  // Judges on one of the gym's threads, in the order of gym/queue/queue.h. The same request
  // submitted again while in flight shares one judgement, which stops when its last submitter has
  // stopped. Each submitter gets kCancelled soon after its own stop, or when the gym is destroyed,
  // and kDeadlineExceeded at its own deadline. kUnsupported for a target that is not here.
  std::future<Result<task::Verdict>> submit(EvalRequest request,
                                            std::chrono::steady_clock::time_point deadline,
                                            std::stop_token stop);
  Result<Capabilities> capabilities(task::Target target) const;
  Result<task::Signature> describe(const task::Problem& problem, task::Target target);
  // On the caller's thread. A problem at fault is in the findings; kUnsupported for a target that
  // checks nothing, kCancelled after stop.
  Result<ProblemCheck> check(const CheckRequest& request, task::Target target,
                             const std::stop_token& stop);
  // A text of docs/formats/graph.md, written by the problem's own process: at most 16 MiB, not to
  // be trusted (writer::graph_from_json() reads it). On the caller's thread. kInvalidArgument for a
  // reference that fails, kUnsupported for what has no graph: both say why and on which line.
  // kDeadlineExceeded and kResourceExhausted at the request's limits, kCancelled after stop.
  Result<std::string> trace(const TraceRequest& request, task::Target target,
                            const std::stop_token& stop);

 private:
  Gym();
  struct State;
  std::unique_ptr<State> state_;
};

// Recomputes the verdict from a stored evidence bundle: outcomes from the recorded comparisons,
// times and interval from the raw samples.
Result<task::Verdict> rejudge(const std::filesystem::path& evidence);

}  // namespace kw::gym
