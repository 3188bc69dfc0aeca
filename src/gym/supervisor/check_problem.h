// The admission battery over all workloads of a problem that a CPU can run, without a candidate.
#pragma once
#include <stop_token>

#include "base/result.h"
#include "gym/problem_check.h"
#include "gym/supervisor/admission_cache.h"
#include "gym/supervisor/problem_session.h"

namespace kw::gym {

// A failing workload does not keep the others from being checked. What is stored is taken, but for
// failures: they may have been the machine's or the limits'. Any thread. kCancelled after a stop.
Result<ProblemCheck> check_problem(const ProblemSession::Context& context,
                                   const AdmissionCache& admissions, const CheckRequest& request,
                                   const std::stop_token& stop);

}  // namespace kw::gym
