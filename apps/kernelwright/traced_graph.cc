#include "kernelwright/traced_graph.h"

namespace kw::front {

Result<writer::Graph> traced_graph(gym::Judge& judge, const gym::TraceRequest& request,
                                   const std::stop_token& stop) {
  KW_TRY(const std::string text, judge.trace(request, stop));
  return writer::graph_from_json(text, "graph of " + request.problem.name);
}

}  // namespace kw::front
