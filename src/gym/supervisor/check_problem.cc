// Workloads one after the other, then the rule of each target.
#include "gym/supervisor/check_problem.h"

#include <algorithm>
#include <array>
#include <utility>

#include "task/target.h"

namespace kw::gym {
namespace {

// Triton's interpreter runs on the CPU, and so does the reference of its workloads.
constexpr std::array<task::Target, 2> kTargetsHere = {task::Target::kCpu, task::Target::kInterpret};

Result<AdmissionFindings> findings_of(const ProblemSession::Context& context,
                                      const AdmissionCache& admissions, const CheckRequest& request,
                                      const task::Workload& workload, const std::stop_token& stop) {
  auto known = admissions.find(request.problem.hash, workload.uuid);
  if (known && known->failure.empty()) return std::move(*known);
  EvalOptions options;
  options.timing = false;
  ProblemSession::Opening opening;
  opening.admit = true;
  opening.judge = false;
  opening.oracle_timeout_seconds = request.timeout_seconds;
  opening.oracle_memory_bytes = request.memory_bytes;
  KW_TRY(auto session,
         ProblemSession::open(context, request.problem, workload, options, opening, stop));
  const AdmissionFindings& found = session->findings();
  // A failure under the caller's own limits does not tell whether the problem can be judged.
  bool own_limits = request.timeout_seconds > 0 || request.memory_bytes > 0;
  if (found.failure.empty() || !own_limits)
    admissions.store(request.problem.hash, workload.uuid, found);
  return found;
}

}  // namespace

Result<ProblemCheck> check_problem(const ProblemSession::Context& context,
                                   const AdmissionCache& admissions, const CheckRequest& request,
                                   const std::stop_token& stop) {
  const task::Problem& problem = request.problem;
  ProblemCheck out;
  for (const task::Workload& workload : problem.workloads) {
    bool here = std::any_of(kTargetsHere.begin(), kTargetsHere.end(), [&](task::Target target) {
      return problem.is_for(workload.uuid, target);
    });
    if (!here) {
      out.not_checked.push_back(workload.uuid);
      continue;
    }
    if (stop.stop_requested()) return fail(ErrorCode::kCancelled, "interrupted");
    KW_TRY(AdmissionFindings found, findings_of(context, admissions, request, workload, stop));
    out.workloads.push_back({workload.uuid, std::move(found)});
  }
  for (const task::Target target : kTargetsHere) {
    std::vector<AdmissionFindings> findings;
    for (const ProblemCheck::Workload& checked : out.workloads) {
      if (problem.is_for(checked.uuid, target)) findings.push_back(checked.findings);
    }
    if (!findings.empty()) out.targets.push_back({target, quarantine_of(findings)});
  }
  return out;
}

}  // namespace kw::gym
