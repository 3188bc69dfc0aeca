// A problem's reference as a graph of torch's operators: the gym runs it, the writer's reader
// checks what comes back. docs/tracing.md.
#pragma once
#include <stop_token>

#include "base/result.h"
#include "gym/gym.h"
#include "writer/graph/graph.h"

namespace kw::tracing {

// Errors are those of gym::Gym::trace(). Its operators are not looked at: what the writer lacks is
// found by the writer.
Result<writer::Graph> trace(gym::Gym& gym, const gym::TraceRequest& request,
                            const std::stop_token& stop);

}  // namespace kw::tracing
