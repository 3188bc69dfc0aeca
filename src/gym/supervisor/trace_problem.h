// The operators of a problem's reference, as the tracer's leaf writes them down (docs/tracing.md).
#pragma once
#include <stop_token>
#include <string>

#include "base/result.h"
#include "gym/gym.h"
#include "gym/supervisor/host_lease.h"
#include "gym/supervisor/roles.h"

namespace kw::gym {

// The implementation of Gym::trace(). The lease freezes the tracer, and the tracer's limit moves by
// that time. Any thread.
Result<std::string> trace_problem(Roles& roles, const HostLease& lease, const TraceRequest& request,
                                  const std::stop_token& stop);

}  // namespace kw::gym
