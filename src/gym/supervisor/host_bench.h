// The common part of the benches of this machine's processor: sessions whose oracle, baseline and
// candidates are sandboxed processes (problem_session.h).
#pragma once
#include <memory>
#include <string>
#include <utility>

#include "base/result.h"
#include "gym/evaluation/bench.h"
#include "gym/supervisor/candidate_builder.h"
#include "gym/supervisor/problem_session.h"

namespace kw::gym {

// Something for an executor process.
class HostProgram : public Program {
 public:
  explicit HostProgram(Executable program) : executable(std::move(program)) {}
  Executable executable;
};

// The part of its problem that a session keeps: the problem may not outlive it.
struct SessionProblem {
  bool is_module = false;
  std::string reference, entry;  // Python source and the name in it
  task::Library library = task::Library::kAnything;
};

class HostSession : public BenchSession {
 public:
  // Borrows the builder.
  HostSession(std::unique_ptr<ProblemSession> session, CandidateBuilder& builder,
              SessionProblem problem)
      : session_(std::move(session)), builder_(builder), problem_(std::move(problem)) {}

  const task::Signature& signature() const override { return session_->signature(); }
  const AdmissionFindings& findings() const override { return session_->findings(); }
  std::uint64_t resident_bytes() const override { return session_->resident_bytes(); }
  Result<Build> build(const task::Candidate& candidate, BuildFor side) override;
  Result<std::unique_ptr<Program>> reference_program(Compilation compilation) override;
  Status start_baseline(const Program& baseline, PairMemory memory) override;
  bool has_baseline(bool unused) const override {
    return unused ? session_->has_unused_baseline() : session_->has_baseline();
  }
  int process_pairs(const EvalOptions& options) const override {
    return session_->process_pairs(options);
  }
  Result<WorkloadReport> judge(const Program& candidate, const EvalOptions& options, int pair,
                               const std::stop_token& stop) override;

 protected:
  ProblemSession& session() { return *session_; }
  CandidateBuilder& builder() { return builder_; }
  static Build build_of(HostBuild built);
  const SessionProblem& problem() const { return problem_; }

 private:
  std::unique_ptr<ProblemSession> session_;
  CandidateBuilder& builder_;
  SessionProblem problem_;
};

// Borrows what the context and the builder are of.
class HostBench : public Bench {
 public:
  HostBench(ProblemSession::Context context, CandidateBuilder& builder)
      : context_(std::move(context)), builder_(builder) {}
  std::optional<std::string> lacks(const task::Candidate& candidate,
                                   const std::string& told) const override;
  task::MadeWith made_with() const override { return builder_.made_with(); }
  Status require_quiet() const override;
  Result<std::unique_ptr<BenchSession>> open(const task::Problem& problem,
                                             const task::Workload& workload,
                                             const EvalOptions& options, bool admit,
                                             const std::stop_token& stop) override;

 protected:
  virtual std::unique_ptr<BenchSession> session(std::unique_ptr<ProblemSession> opened,
                                                CandidateBuilder& builder,
                                                SessionProblem problem) const = 0;

 private:
  ProblemSession::Context context_;
  CandidateBuilder& builder_;
};

}  // namespace kw::gym
