#include "gym/evaluation/evaluation.h"

#include <algorithm>
#include <chrono>
#include <future>
#include <utility>
#include <vector>

#include "base/log.h"
#include "base/text.h"
#include "gym/evaluation/hidden_shape.h"
#include "gym/evaluation/process_pairs.h"
#include "gym/evidence.h"

namespace kw::gym {
namespace {

using Clock = std::chrono::steady_clock;

double ms_since(Clock::time_point start) {
  return std::chrono::duration<double, std::milli>(Clock::now() - start).count();
}

// The workloads for a target: correctness-only ones first, so that a wrong candidate costs little.
std::vector<const task::Workload*> in_order(const task::Problem& problem, task::Target target) {
  std::vector<const task::Workload*> chosen;
  for (const bool timed : {false, true}) {
    for (const task::Workload* workload : problem.workloads_for(target))
      if (problem.workload_policy(workload->uuid).timed == timed) chosen.push_back(workload);
  }
  return chosen;
}

std::vector<const task::Workload*> workloads_on(const Bench& bench, const task::Problem& problem) {
  auto chosen = in_order(problem, bench.workload_target());
  const auto other = bench.other_workload_target();
  return chosen.empty() && other ? in_order(problem, *other) : chosen;
}

bool is_disabled(const EvalOptions& options, std::string_view mechanism) {
  return std::ranges::find(options.disabled, mechanism) != options.disabled.end();
}

// A candidate is judged by the problem's workloads, and by a shape that its prompt does not show.
task::Problem judged_problem(const Bench& bench, const EvalRequest& request) {
  std::optional<task::Target> target = bench.workload_target();
  if (request.problem.workloads_for(*target).empty()) target = bench.other_workload_target();
  if (!target || is_disabled(request.options, "hidden_shape")) return request.problem;
  return with_hidden_shape(request.problem, *target, request.candidate.hash);
}

// A session depends on the problem, the workload and the options of all its judgements.
std::string session_key(const task::Problem& problem, const task::Workload& workload,
                        const EvalOptions& options) {
  return problem.hash + "/" + workload.uuid + "/" + canonical_json(session_options(options));
}

// Every workload asks for a build: the record has the last one, and the time of all.
void add_build(Evidence& evidence, const Build& build) {
  if (build.cached) evidence.build_cached = build.cached;
  if (!build.triton_version.empty()) evidence.triton_version = build.triton_version;
  if (build.program == nullptr) evidence.compile_error = build.mistake;
  if (!build.unsupported.empty()) evidence.unsupported = build.unsupported;
  evidence.cost.compile_ms = evidence.cost.compile_ms.value_or(0) + build.wall_ms;
}

Result<task::Verdict> finish(Evidence evidence, Clock::time_point begun, bool store,
                             const std::filesystem::path& folder) {
  evidence.cost.total_ms = ms_since(begun);
  // The verdict is made of the stored form, so reading it again gives the same verdict.
  const Json json = to_json(evidence);
  KW_TRY(task::Verdict verdict, verdict_from_evidence(json));
  if (!store) return verdict;
  // The judgement is worth more than its record: it is not lost with it.
  auto path = store_evidence(folder, json);
  if (path)
    verdict.evidence = path->string();
  else
    log::warning(fmt::format("the evidence is not stored (--no-evidence asks for that): {}",
                             path.error().message()));
  return verdict;
}

class Evaluation {
 public:
  Evaluation(const EvaluationParts& parts, const EvalRequest& request, std::stop_token stop)
      : parts_(parts),
        asked_(request),
        problem_(judged_problem(parts.bench, request)),
        options_(parts.bench.options_here(request.options)),
        stop_(std::move(stop)),
        evidence_(evidence_of(request)) {}

  Result<task::Verdict> run() {
    if (auto level = parts_.bench.evidence_level()) evidence_.evidence_level = level;
    KW_TRY_STATUS(judge());
    evidence_.made_with = parts_.bench.made_with();
    return finish(std::move(evidence_), begun_, options_.store_evidence, parts_.evidence_folder);
  }

  // Takes an idle session, or opens one. Findings that are not known yet are stored.
  Result<std::unique_ptr<BenchSession>> session(const task::Workload& workload) {
    if (auto kept = parts_.sessions.take(key(workload)); kept != nullptr) return kept;
    if (is_hidden(workload)) return parts_.bench.open(problem_, workload, options_, false, stop_);
    const auto known = parts_.admissions.find(problem_.hash, workload.uuid);
    KW_TRY(auto opened, parts_.bench.open(problem_, workload, options_, !known, stop_));
    if (!known) parts_.admissions.store(problem_.hash, workload.uuid, opened->findings());
    return opened;
  }
  void give_back(const task::Workload& workload, std::unique_ptr<BenchSession> session) {
    parts_.sessions.give_back(key(workload), std::move(session));
  }

 private:
  struct Opened {
    const task::Workload* workload;
    std::unique_ptr<BenchSession> session;
  };

  void enter(std::string_view stage) const {
    if (parts_.enter) parts_.enter(asked_, stage);
  }
  std::string key(const task::Workload& workload) const {
    return session_key(problem_, workload, options_);
  }
  // Not by its name: workloads have the names that their author gave them.
  bool is_hidden(const task::Workload& workload) const {
    return problem_.workloads.size() > asked_.problem.workloads.size() &&
           &workload == &problem_.workloads.back();
  }
  bool timed(const task::Workload& workload) const {
    return is_timed(problem_, workload, options_);
  }

  Status judge() {
    const auto workloads = workloads_on(parts_.bench, problem_);
    if (workloads.empty()) {
      evidence_.unsupported = "a problem without a workload for this target";
      return {};
    }
    KW_TRY(std::string reason, admit(workloads));
    if (!reason.empty()) {
      evidence_.quarantined = reason;
      return {};
    }
    return judge_workloads(workloads);
  }

  // The reason for the problem's quarantine, or "". Opens the workloads whose findings are not
  // known yet and keeps them open.
  Result<std::string> admit(const std::vector<const task::Workload*>& workloads) {
    std::vector<AdmissionFindings> all;
    for (const task::Workload* workload : workloads) {
      if (is_hidden(*workload)) continue;
      auto known = parts_.admissions.find(problem_.hash, workload->uuid);
      if (!known) {
        enter("admission");
        KW_TRY(auto opened, session(*workload));
        known = opened->findings();
        if (known->failure.empty()) give_back(*workload, std::move(opened));
      }
      all.push_back(*known);
      if (!known->failure.empty()) break;
    }
    if (is_disabled(options_, "admission") && all.back().failure.empty()) return std::string();
    return quarantine_reason(all);
  }

  // One after the other, until the candidate is at fault. The baselines of timed workloads start
  // while the untimed ones, which come first, are judged. Builds that are made side by side are
  // made while others run: nothing is timed then.
  Status judge_workloads(const std::vector<const task::Workload*>& workloads) {
    std::vector<Opened> open;
    for (const task::Workload* workload : workloads) {
      KW_TRY(auto opened, session(*workload));
      // Sizes that the reference cannot take are no part of the contract.
      if (is_hidden(*workload) && !opened->findings().failure.empty()) continue;
      if (timed(*workload) && opened->findings().failure.empty())
        KW_TRY_STATUS(provide_baseline(*opened, true, PairMemory::kDrawn));
      open.push_back({workload, std::move(opened)});
    }
    std::vector<std::future<Result<Build>>> builds;  // end before what they borrow
    if (parts_.bench.builds_side_by_side()) {
      for (const Opened& each : open)
        builds.push_back(std::async(std::launch::async, [this, &each] { return build(each); }));
    }
    for (std::size_t i = 0; i < open.size(); ++i) {
      KW_TRY(Build built, builds.empty() ? build(open[i]) : builds[i].get());
      KW_TRY_STATUS(judge_workload(open[i], std::move(built)));
      if (task::is_candidates_fault(evidence_.workloads.back().outcome)) break;
    }
    KW_TRY_STATUS(compare_with_rivals(open));
    for (Opened& each : open) give_back(*each.workload, std::move(each.session));
    return {};
  }

  Result<Build> build(const Opened& opened) const {
    if (asked_.candidate.language != task::Language::kPython) enter("compile");
    return opened.session->build(asked_.candidate, BuildFor::kCandidate);
  }

  Status judge_workload(const Opened& opened, Build build) {
    BenchSession& session = *opened.session;
    if (!session.findings().failure.empty())
      return fail(ErrorCode::kUnavailable, "the reference fails now: {}",
                  session.findings().failure);
    add_build(evidence_, build);
    WorkloadReport report;
    report.outcome = task::Outcome::kCompileError;
    if (build.program != nullptr) {
      KW_TRY(report, measure(*opened.workload, session, *build.program));
      KW_TRY_STATUS(session.complete(*build.program, report,
                                     {.options = options_,
                                      .is_first = evidence_.workloads.empty(),
                                      .enter = [this](std::string_view stage) { enter(stage); },
                                      .stop = stop_}));
    }
    report.uuid = opened.workload->uuid;
    name_what_is_missing(report);
    evidence_.workloads.push_back(std::move(report));
    return {};
  }

  // A failure for want of something that this machine lacks is nobody's fault: the verdict is
  // `unsupported`.
  void name_what_is_missing(const WorkloadReport& report) {
    if (report.outcome != task::Outcome::kRuntimeError &&
        report.outcome != task::Outcome::kCompileError)
      return;
    std::string told = report.log + evidence_.compile_error;
    for (const task::Diagnostic& diagnostic : report.diagnostics) told += diagnostic.message;
    if (auto missing = parts_.bench.lacks(asked_.candidate, told)) evidence_.unsupported = *missing;
  }

  // Noise is nobody's fault: once more.
  Result<WorkloadReport> measure(const task::Workload& workload, BenchSession& session,
                                 Program& candidate) {
    if (timed(workload) && options_.precise) KW_TRY_STATUS(parts_.bench.require_quiet());
    KW_TRY_STATUS(tune(session, candidate));
    KW_TRY(WorkloadReport report, judge_pairs(session, candidate, timed(workload)));
    if (report.outcome != task::Outcome::kNoisy) return report;
    return judge_pairs(session, candidate, timed(workload));
  }

  // Untimed workloads too: on a GPU the fastest configuration is what runs there.
  Status tune(BenchSession& session, Program& candidate) {
    if (!options_.timing || !session.wants_tuning(candidate)) return {};
    KW_TRY_STATUS(provide_baseline(session, false, PairMemory::kDrawn));
    enter("tune");
    return session.tune(candidate, stop_);
  }

  // Others than the baseline that a candidate has to beat, on all timed workloads: once it has
  // passed and is faster than the baseline on one of them. `open` has the workloads of the
  // evidence.
  Status compare_with_rivals(const std::vector<Opened>& open) {
    const std::vector<Compilation> rivals = rivals_of(options_);
    const auto& reports = evidence_.workloads;
    if (rivals.empty() || !std::ranges::all_of(reports, &WorkloadReport::has_passed) ||
        std::ranges::none_of(reports, is_faster_than_baseline))
      return {};
    for (std::size_t i = 0; i < reports.size(); ++i) {
      if (!timed(*open[i].workload)) continue;
      BenchSession& session = *open[i].session;
      for (const Compilation rival : rivals) {
        KW_TRY(RivalReport found, session.rivals().find(rival, [&](Compilation chosen) {
          return judge_rival(session, chosen);
        }));
        evidence_.workloads[i].rivals.push_back(std::move(found));
      }
    }
    return {};
  }

  // One pair of processes: a rival's own process compiles for seconds.
  Result<WorkloadReport> judge_rival(BenchSession& session, Compilation rival) {
    EvalOptions options = options_;
    options.precise = false;
    options.process_pairs = 1;
    KW_TRY_STATUS(provide_baseline(session, true, PairMemory::kDrawn));
    enter("rival");
    KW_TRY(const auto program, session.reference_program(rival));
    KW_TRY(WorkloadReport report, session.judge(*program, options, 0, stop_));
    refuse_noise(report);
    return report;
  }

  // All pairs of a measurement.
  Result<WorkloadReport> judge_pairs(BenchSession& session, const Program& candidate, bool timed) {
    KW_TRY(WorkloadReport report, judge_pair(session, candidate, timed, 0, PairMemory::kDrawn));
    const int pairs = timed ? session.process_pairs(options_) : 1;
    for (int pair = 1; pair < pairs && report.has_passed(); ++pair) {
      auto again = options_.precise ? PairMemory::kNew : PairMemory::kKept;
      auto memory = pair % 2 == 0 ? again : PairMemory::kExchanged;
      KW_TRY(WorkloadReport part, judge_pair(session, candidate, timed, pair, memory));
      add_process_pair(report, part);
    }
    refuse_noise(report);
    return report;
  }

  // One candidate process beside one baseline process.
  Result<WorkloadReport> judge_pair(BenchSession& session, const Program& candidate, bool timed,
                                    int pair, PairMemory memory) {
    KW_TRY_STATUS(provide_baseline(session, timed, memory));
    enter("judge");
    return session.judge(candidate, options_, pair, stop_);
  }

  // Begins to start a baseline where the next judgement needs one. A timed candidate gets a
  // baseline as young as itself: a process that has run for some seconds is faster by a percent
  // where memory is the limit. Only torch.compile takes too long for that. Other memory than that
  // of the session always takes a new one.
  Status provide_baseline(BenchSession& session, bool timed, PairMemory memory) {
    const bool young = timed && !is_compiled(options_.baseline);
    if (memory == PairMemory::kDrawn && session.has_baseline(young)) return {};
    enter("baseline");
    KW_TRY(const auto program, baseline(session, timed));
    return session.start_baseline(*program, memory);
  }

  // Untimed workloads use the eager reference: torch.compile would only matter for the time.
  Result<std::unique_ptr<Program>> baseline(BenchSession& session, bool timed) {
    const auto* candidate = std::get_if<task::Candidate>(&options_.baseline);
    if (candidate == nullptr)
      return session.reference_program(timed ? std::get<Compilation>(options_.baseline)
                                             : Compilation::kNone);
    KW_TRY(Build built, session.build(*candidate, BuildFor::kBaseline));
    if (built.program == nullptr)
      return fail(ErrorCode::kInvalidArgument, "the baseline {} does not build: {}",
                  candidate->name, built.mistake + built.unsupported);
    if (timed && session.wants_tuning(*built.program)) {
      KW_TRY(const auto reference, session.reference_program(Compilation::kNone));
      KW_TRY_STATUS(session.start_baseline(*reference, PairMemory::kDrawn));
      enter("tune");
      KW_TRY_STATUS(session.tune(*built.program, stop_));
    }
    return std::move(built.program);
  }

  const EvaluationParts& parts_;
  const EvalRequest& asked_;
  const task::Problem problem_;
  const EvalOptions options_;
  const std::stop_token stop_;
  Evidence evidence_;
  Clock::time_point begun_ = Clock::now();
};

}  // namespace

bool is_timed(const task::Problem& problem, const task::Workload& workload,
              const EvalOptions& options) {
  return options.timing && problem.workload_policy(workload.uuid).timed;
}

Result<task::Verdict> evaluate(const EvaluationParts& parts, const EvalRequest& request,
                               const std::stop_token& stop) {
  return Evaluation(parts, request, stop).run();
}

Result<task::Verdict> unsupported(const EvalRequest& request, const std::string& reason,
                                  const std::filesystem::path& evidence_folder) {
  Evidence evidence = evidence_of(request);
  evidence.unsupported = reason;
  return finish(std::move(evidence), Clock::now(), request.options.store_evidence, evidence_folder);
}

std::string first_session_key(const Bench& bench, const EvalRequest& request) {
  const auto workloads = workloads_on(bench, request.problem);
  if (workloads.empty()) return {};
  return session_key(request.problem, *workloads.front(), bench.options_here(request.options));
}

Result<task::Signature> describe_module(const EvaluationParts& parts,
                                        const task::Problem& problem) {
  EvalRequest request;
  request.problem = problem;
  Evaluation evaluation(parts, request, {});
  const task::Workload& workload = request.problem.workloads.front();
  KW_TRY(auto opened, evaluation.session(workload));
  if (!opened->findings().failure.empty())
    return fail(ErrorCode::kInvalidArgument, "{}: {}", problem.name, opened->findings().failure);
  task::Signature signature = opened->signature();
  evaluation.give_back(workload, std::move(opened));
  return signature;
}

}  // namespace kw::gym
