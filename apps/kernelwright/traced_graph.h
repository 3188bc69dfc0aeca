// A reference's operators as a graph, through a judge.
#pragma once
#include <stop_token>

#include "base/result.h"
#include "gym/judge.h"
#include "writer/graph/graph.h"

namespace kw::front {

// The errors of the judge's trace(), and kInvalidArgument for a text that is no graph.
Result<writer::Graph> traced_graph(gym::Judge& judge, const gym::TraceRequest& request,
                                   const std::stop_token& stop);

}  // namespace kw::front
