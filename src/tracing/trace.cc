// The text of a hostile process, read.
#include "tracing/trace.h"

#include <string>

namespace kw::tracing {

Result<writer::Graph> trace(gym::Gym& gym, const gym::TraceRequest& request,
                            const std::stop_token& stop) {
  KW_TRY(std::string text, gym.trace(request, "cpu", stop));
  return writer::graph_from_json(text, "graph of " + request.problem.name);
}

}  // namespace kw::tracing
