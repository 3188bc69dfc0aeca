// One evaluation on the CPU, stage by stage: admission, build, then every workload, small ones
// first.
#include "gym/supervisor/cpu_target.h"

#include <algorithm>
#include <functional>
#include <future>
#include <optional>
#include <utility>

#include "base/log.h"
#include "base/text.h"
#include "gym/evidence.h"
#include "gym/supervisor/admission_cache.h"
#include "gym/supervisor/candidate_builder.h"
#include "gym/supervisor/check_problem.h"
#include "gym/supervisor/host_lease.h"
#include "gym/supervisor/launchers.h"
#include "gym/supervisor/library_policy.h"
#include "gym/supervisor/problem_session.h"
#include "gym/supervisor/process_pairs.h"
#include "gym/supervisor/programs.h"
#include "gym/supervisor/roles.h"
#include "gym/supervisor/session_pool.h"
#include "gym/supervisor/trace_problem.h"
#include "os/file.h"
#include "task/candidate_source.h"

namespace kw::gym {
namespace {

using Clock = std::chrono::steady_clock;
constexpr std::size_t kIdleSessions = 6;

double ms_since(Clock::time_point start) {
  return std::chrono::duration<double, std::milli>(Clock::now() - start).count();
}

// The workloads for a target: correctness-only ones first, so that a wrong candidate costs little.
std::vector<const task::Workload*> workloads_for(const task::Problem& problem,
                                                 std::string_view target) {
  std::vector<const task::Workload*> chosen;
  for (const bool timed : {false, true}) {
    for (const task::Workload* workload : problem.workloads_for(target))
      if (problem.workload_policy(workload->uuid).timed == timed) chosen.push_back(workload);
  }
  return chosen;
}

// The interpreter is slow, and no time of it means anything.
EvalRequest interpreted(EvalRequest request) {
  constexpr double kInterpreterTimeout = 60;  // seconds a call
  request.options.timing = false;
  if (request.options.timeout_seconds == 0) request.options.timeout_seconds = kInterpreterTimeout;
  return request;
}

bool has_passed(const Json& report) {
  return report.value("outcome", "") == task::to_string(task::Outcome::kPassed);
}

// Every workload asks for a build: the record has the last one, and the time of all.
void add_build(Json& evidence, const Build& build) {
  if (build.cached) evidence["build_cached"] = *build.cached;
  if (!build.triton_version.empty()) evidence["triton_version"] = build.triton_version;
  if (!build.executable) evidence["compile_error"] = build.mistake;
  Json& cost = evidence["cost"];
  cost["compile_ms"] = cost.value("compile_ms", 0.0) + build.wall_ms;
}

class CpuTarget : public Target {
 public:
  static Result<std::unique_ptr<Target>> start(GymOptions options);

  std::string name() const override { return "cpu"; }
  Capabilities capabilities() const override;
  Result<task::Verdict> judge(const EvalRequest& request, std::stop_token stop) override;
  Result<task::Signature> describe(const task::Problem& problem) override;
  Result<ProblemCheck> check(const CheckRequest& request, const std::stop_token& stop) override {
    return check_problem(context(), admissions_, request, stop);
  }
  Result<std::string> trace(const TraceRequest& request, const std::stop_token& stop) override {
    return trace_problem(*roles_, *lease_, request, stop);
  }

 private:
  // Everything one evaluation carries from stage to stage.
  struct Evaluation {
    const EvalRequest& request;
    std::stop_token stop;
    Json evidence;
    Clock::time_point begun = Clock::now();
  };

  CpuTarget(GymOptions options, Programs programs)
      : options_(std::move(options)),
        programs_(std::move(programs)),
        admissions_(options_.cache_folder / "admission"),
        idle_(kIdleSessions) {}

  ProblemSession::Context context() { return {&programs_, roles_.get(), lease_.get()}; }
  void stage(const EvalRequest& request, std::string_view name) {
    if (options_.progress != nullptr) options_.progress->stage(request, name);
  }
  std::string session_key(const EvalRequest& request, const task::Workload& workload) const;
  Result<std::unique_ptr<ProblemSession>> session(const EvalRequest& request,
                                                  const task::Workload& workload,
                                                  const std::stop_token& stop);
  Result<std::string> admit(Evaluation& evaluation,
                            const std::vector<const task::Workload*>& workloads);
  Result<Build> build(const EvalRequest& request, const ProblemSession& session);
  Result<Executable> baseline(Evaluation& evaluation, const ProblemSession& session, bool timed);
  Result<Json> judge_pair(Evaluation& evaluation, ProblemSession& session,
                          const Executable& candidate, bool timed, PairMemory memory);
  Result<Json> judge_pairs(Evaluation& evaluation, ProblemSession& session,
                           const Executable& candidate, bool timed);
  Status provide_baseline(Evaluation& evaluation, ProblemSession& session, bool timed,
                          PairMemory memory);
  Status add_kernelbench(Evaluation& evaluation, ProblemSession& session,
                         const Executable& candidate, Json& report);
  Status judge_kernels(Evaluation& evaluation, ProblemSession& session, Executable candidate,
                       Json& report);
  Status judge_workload(Evaluation& evaluation, const task::Workload& workload,
                        ProblemSession& open, Build build);
  Status judge_workloads(Evaluation& evaluation,
                         const std::vector<const task::Workload*>& workloads);
  Status judge_on(Evaluation& evaluation, const std::vector<const task::Workload*>& workloads);
  Result<task::Verdict> finish(Evaluation& evaluation);

  GymOptions options_;
  Programs programs_;
  std::unique_ptr<Launchers> launchers_;
  std::unique_ptr<Roles> roles_;
  std::unique_ptr<HostLease> lease_;
  std::unique_ptr<CandidateBuilder> builder_;
  AdmissionCache admissions_;
  SessionPool idle_;  // last: sessions end before the launchers do
};

Result<std::unique_ptr<Target>> CpuTarget::start(GymOptions options) {
  if (options.cache_folder.empty()) options.cache_folder = os::cache_home();
  if (options.evidence_folder.empty()) options.evidence_folder = os::data_home() / "evidence";
  KW_TRY(Programs programs, find_programs(options));
  std::unique_ptr<CpuTarget> target(new CpuTarget(std::move(options), std::move(programs)));
  KW_TRY(target->launchers_,
         Launchers::start(target->programs_, target->options_.isolation_at_least));
  target->roles_ = std::make_unique<Roles>(*target->launchers_, target->programs_);
  KW_TRY(TimingLock lock, TimingLock::open());
  target->lease_ = std::make_unique<HostLease>(std::move(lock), *target->launchers_,
                                               target->options_.background);
  target->builder_ =
      std::make_unique<CandidateBuilder>(target->programs_, *target->roles_, *target->lease_,
                                         target->options_.cache_folder / "builds");
  return std::unique_ptr<Target>(std::move(target));
}

Capabilities CpuTarget::capabilities() const {
  Capabilities c;
  c.available = !programs_.python.empty();
  if (!c.available) c.why_not = "no Python with torch: references cannot run";
  c.isolation = launchers_->level() >= sandbox::Level::kNamespaces;
  c.freeze = launchers_->level() >= sandbox::Level::kNamespaces;
  c.clock = true;
  c.languages = builder_->languages();
  return c;
}

std::string CpuTarget::session_key(const EvalRequest& request,
                                   const task::Workload& workload) const {
  return request.problem.hash + "/" + workload.uuid + "/" +
         canonical_json(to_json(request.options));
}

Result<std::unique_ptr<ProblemSession>> CpuTarget::session(const EvalRequest& request,
                                                           const task::Workload& workload,
                                                           const std::stop_token& stop) {
  if (auto kept = idle_.take(session_key(request, workload)); kept != nullptr) return kept;
  auto known = admissions_.find(request.problem.hash, workload.uuid);
  KW_TRY(auto opened, ProblemSession::open(context(), request.problem, workload, request.options,
                                           {.admit = !known}, stop));
  if (!known) admissions_.store(request.problem.hash, workload.uuid, opened->findings());
  return opened;
}

// The reason for the problem's quarantine, or "". Opens the workloads whose findings are not known
// yet and keeps them open.
Result<std::string> CpuTarget::admit(Evaluation& evaluation,
                                     const std::vector<const task::Workload*>& workloads) {
  const EvalRequest& request = evaluation.request;
  std::vector<AdmissionFindings> all;
  for (const task::Workload* workload : workloads) {
    auto known = admissions_.find(request.problem.hash, workload->uuid);
    if (!known) {
      stage(evaluation.request, "admission");
      KW_TRY(auto opened, session(request, *workload, evaluation.stop));
      known = opened->findings();
      if (known->failure.empty())
        idle_.give_back(session_key(request, *workload), std::move(opened));
    }
    all.push_back(*known);
    if (!known->failure.empty()) break;
  }
  bool skip = std::find(request.options.disabled.begin(), request.options.disabled.end(),
                        "admission") != request.options.disabled.end();
  if (skip && all.back().failure.empty()) return std::string();
  return quarantine_reason(all);
}

Result<Build> CpuTarget::build(const EvalRequest& request, const ProblemSession& session) {
  if (request.candidate.language != task::Language::kPython) stage(request, "compile");
  return builder_->build(request.candidate, session);
}

// What is not timed needs no compiler: it is compared with float64.
Result<Executable> CpuTarget::baseline(Evaluation& evaluation, const ProblemSession& session,
                                       bool timed) {
  const EvalRequest& request = evaluation.request;
  Executable reference;
  if (request.options.baseline == "eager" || request.options.baseline == "compile") {
    reference.python = true;
    KW_TRY(std::string source, reference_source(request.problem));
    reference.files = {{"reference.py", std::move(source)}};
    reference.entry_file = "reference.py";
    reference.entry = request.problem.is_module() ? request.problem.module().entry_point : "run";
    if (!request.problem.is_module()) reference.destination_passing = false;
    reference.compile = timed && request.options.baseline == "compile";
    return reference;
  }
  KW_TRY(task::Candidate candidate, task::load_candidate(request.options.baseline));
  KW_TRY(Build built, builder_->build(candidate, session));
  if (!built.executable)
    return fail(ErrorCode::kInvalidArgument, "the baseline {} does not build: {}",
                request.options.baseline, built.mistake);
  return std::move(*built.executable);
}

// Begins to start a baseline where the next judgement needs one. A timed candidate gets a baseline
// as young as itself: a process that has run for some seconds is faster by a percent where memory
// is the limit. Only torch.compile takes too long for that. Other memory than that of the session
// always takes a new one.
Status CpuTarget::provide_baseline(Evaluation& evaluation, ProblemSession& session, bool timed,
                                   PairMemory memory) {
  bool young = timed && evaluation.request.options.baseline != "compile";
  bool any = memory == PairMemory::kDrawn;
  if (any && (young ? session.has_unused_baseline() : session.has_baseline())) return {};
  stage(evaluation.request, "baseline");
  KW_TRY(Executable reference, baseline(evaluation, session, timed));
  return session.start_baseline(reference, memory);
}

// One candidate process beside one baseline process.
Result<Json> CpuTarget::judge_pair(Evaluation& evaluation, ProblemSession& session,
                                   const Executable& candidate, bool timed, PairMemory memory) {
  KW_TRY_STATUS(provide_baseline(evaluation, session, timed, memory));
  stage(evaluation.request, "judge");
  return session.judge(candidate, evaluation.stop);
}

// All pairs of a measurement.
Result<Json> CpuTarget::judge_pairs(Evaluation& evaluation, ProblemSession& session,
                                    const Executable& candidate, bool timed) {
  KW_TRY(Json report, judge_pair(evaluation, session, candidate, timed, PairMemory::kDrawn));
  const bool precise = evaluation.request.options.precise;
  const int pairs = timed ? session.process_pairs() : 1;
  for (int pair = 1; pair < pairs && has_passed(report); ++pair) {
    auto again = precise ? PairMemory::kNew : PairMemory::kKept;
    auto memory = pair % 2 == 0 ? again : PairMemory::kExchanged;
    KW_TRY(Json part, judge_pair(evaluation, session, candidate, timed, memory));
    add_process_pair(report, part);
  }
  refuse_noise(report);
  return report;
}

// Whatever our own verdict is: theirs may differ. Not where a candidate would only take its time or
// memory once more.
Status CpuTarget::add_kernelbench(Evaluation& evaluation, ProblemSession& session,
                                  const Executable& candidate, Json& report) {
  auto outcome = task::outcome_from_string(report.value("outcome", ""));
  bool hopeless = outcome == task::Outcome::kTimeout || outcome == task::Outcome::kMemoryLimit ||
                  outcome == task::Outcome::kOutputLimit || outcome == task::Outcome::kUnsupported;
  bool correct = false;
  if (!hopeless) {
    stage(evaluation.request, "compat");
    KW_TRY(correct, session.passes_kernelbench(candidate, evaluation.stop));
  }
  report["kernelbench"] = {{"compiled", true}, {"correctness", correct}};
  return {};
}

// Whether a Triton candidate's own kernels did the work. The last question is: are the outputs
// still right when the kernels write nothing? Once is enough where host code sees no values.
Status CpuTarget::judge_kernels(Evaluation& evaluation, ProblemSession& session,
                                Executable candidate, Json& report) {
  const task::Library library = evaluation.request.problem.policy.library;
  if (!candidate.triton) return {};
  TritonRun& run = *candidate.triton;
  apply_library_policy(report, run.build, library);
  bool passed = has_passed(report);
  bool asked = run.hide_values && !evaluation.evidence["workloads"].empty();
  if (!passed || asked || library == task::Library::kAnything) return {};
  stage(evaluation.request, "kernels");
  run.drop_stores = true;
  KW_TRY(Json without, session.judge(candidate, evaluation.stop));
  report["call_ms"] = report.value("call_ms", 0.0) + without.value("call_ms", 0.0);
  if (has_passed(without)) report_token_kernel(report);
  return {};
}

Status CpuTarget::judge_workload(Evaluation& evaluation, const task::Workload& workload,
                                 ProblemSession& open, Build build) {
  const EvalRequest& request = evaluation.request;
  if (!open.findings().failure.empty())
    return fail(ErrorCode::kUnavailable, "the reference fails now: {}", open.findings().failure);
  add_build(evaluation.evidence, build);
  std::optional<Executable>& executable = build.executable;
  Json report = {{"uuid", workload.uuid},
                 {"outcome", task::to_string(task::Outcome::kCompileError)}};
  if (executable && executable->triton)
    executable->triton->hide_values = request.problem.policy.library == task::Library::kKernelOnly;
  if (executable) {
    bool timed = is_timed(request.problem, workload, request.options);
    if (timed && request.options.precise) KW_TRY_STATUS(require_quiet_machine());
    for (int tries = 0; tries < 2; ++tries) {  // noise is nobody's fault: once more
      KW_TRY(report, judge_pairs(evaluation, open, *executable, timed));
      if (report.value("outcome", "") != task::to_string(task::Outcome::kNoisy)) break;
    }
    report["uuid"] = workload.uuid;
    if (executable->triton)
      KW_TRY_STATUS(judge_kernels(evaluation, open, std::move(*executable), report));
    else if (request.problem.is_module())
      KW_TRY_STATUS(add_kernelbench(evaluation, open, *executable, report));
  }
  evaluation.evidence["workloads"].push_back(std::move(report));
  return {};
}

// One after the other, until the candidate is at fault. The baselines of timed workloads start
// while the untimed ones, which come first, are judged. Triton's builds, one a workload, are made
// side by side, and while others are interpreted: nothing is timed then.
Status CpuTarget::judge_workloads(Evaluation& evaluation,
                                  const std::vector<const task::Workload*>& workloads) {
  const EvalRequest& request = evaluation.request;
  std::vector<std::unique_ptr<ProblemSession>> open;
  for (const task::Workload* workload : workloads) {
    KW_TRY(auto one, session(request, *workload, evaluation.stop));
    bool timed = is_timed(request.problem, *workload, request.options);
    if (timed && one->findings().failure.empty())
      KW_TRY_STATUS(provide_baseline(evaluation, *one, timed, PairMemory::kDrawn));
    open.push_back(std::move(one));
  }
  std::vector<std::future<Result<Build>>> builds;  // end before what they borrow
  if (request.candidate.language == task::Language::kTriton)
    for (const auto& one : open)
      builds.push_back(std::async(std::launch::async, &CpuTarget::build, this, std::cref(request),
                                  std::cref(*one)));
  for (std::size_t i = 0; i < workloads.size(); ++i) {
    KW_TRY(Build built, builds.empty() ? build(request, *open[i]) : builds[i].get());
    KW_TRY_STATUS(judge_workload(evaluation, *workloads[i], *open[i], std::move(built)));
    auto outcome =
        task::outcome_from_string(evaluation.evidence["workloads"].back().value("outcome", ""));
    if (!outcome || task::is_candidates_fault(*outcome)) break;
  }
  for (std::size_t i = 0; i < workloads.size(); ++i)
    idle_.give_back(session_key(request, *workloads[i]), std::move(open[i]));
  return {};
}

Result<task::Verdict> CpuTarget::finish(Evaluation& evaluation) {
  evaluation.evidence["cost"]["total_ms"] = ms_since(evaluation.begun);
  KW_TRY(task::Verdict verdict, verdict_from_evidence(evaluation.evidence));
  if (evaluation.request.options.store_evidence) {
    // The judgement is worth more than its record: it is not lost with it.
    auto path = store_evidence(options_.evidence_folder, evaluation.evidence);
    if (path)
      verdict.evidence = path->string();
    else
      log::warning(fmt::format("the evidence is not stored (--no-evidence asks for that): {}",
                               path.error().message()));
  }
  return verdict;
}

Status CpuTarget::judge_on(Evaluation& evaluation,
                           const std::vector<const task::Workload*>& workloads) {
  if (workloads.empty()) {
    evaluation.evidence["unsupported"] = "a problem without a workload for this target";
    return {};
  }
  KW_TRY(std::string reason, admit(evaluation, workloads));
  if (!reason.empty()) {
    evaluation.evidence["quarantined"] = reason;
    return {};
  }
  return judge_workloads(evaluation, workloads);
}

Result<task::Verdict> CpuTarget::judge(const EvalRequest& request, std::stop_token stop) {
  const task::Language language = request.candidate.language;
  bool triton = language == task::Language::kTriton;
  const EvalRequest judged = triton ? interpreted(request) : request;
  Evaluation evaluation{judged, std::move(stop), evidence_header(request)};
  bool supported =
      triton || language == task::Language::kCpp || language == task::Language::kPython;
  if (!supported || !request.candidate.binding.empty()) {
    evaluation.evidence["unsupported"] = supported
                                             ? "binding " + request.candidate.binding
                                             : "language " + std::string(task::to_string(language));
    return finish(evaluation);
  }
  auto workloads = workloads_for(judged.problem, triton ? "interpret" : "cpu");
  if (triton && workloads.empty()) workloads = workloads_for(judged.problem, "cpu");
  if (triton)
    evaluation.evidence["evidence_level"] = task::to_string(task::EvidenceLevel::kInterpreted);
  KW_TRY_STATUS(judge_on(evaluation, workloads));
  return finish(evaluation);
}

Result<task::Signature> CpuTarget::describe(const task::Problem& problem) {
  if (problem.workloads.empty())
    return fail(ErrorCode::kInvalidArgument, "{} has no workload", problem.name);
  if (!problem.is_module())
    return task::signature_of(problem.definition(), problem.workloads.front(),
                              problem.policy.statics);
  EvalRequest request;
  request.problem = problem;
  KW_TRY(auto opened, session(request, problem.workloads.front(), {}));
  if (!opened->findings().failure.empty())
    return fail(ErrorCode::kInvalidArgument, "{}: {}", problem.name, opened->findings().failure);
  task::Signature signature = opened->signature();
  idle_.give_back(session_key(request, problem.workloads.front()), std::move(opened));
  return signature;
}

}  // namespace

Result<std::unique_ptr<Target>> make_cpu_target(GymOptions options) {
  return CpuTarget::start(std::move(options));
}

}  // namespace kw::gym
