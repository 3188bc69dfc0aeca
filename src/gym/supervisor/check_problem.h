// The admission battery over all workloads of a problem that a CPU can run, without a candidate.
#pragma once
#include <stop_token>

#include "base/result.h"
#include "gym/evaluation/admission_cache.h"
#include "gym/problem_check.h"
#include "gym/supervisor/problem_session.h"

namespace kw::gym {

// Checks all workloads, also behind one that fails. Stored findings are reused, but failures are
// not: the machine or the limits may have caused them. Any thread. kCancelled after a stop.
Result<ProblemCheck> check_problem(const ProblemSession::Context& context,
                                   const AdmissionCache& admissions, const CheckRequest& request,
                                   const std::stop_token& stop);

}  // namespace kw::gym
