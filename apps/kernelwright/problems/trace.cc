// A problem in, its graph out.
#include "kernelwright/problems/trace.h"

#include <utility>

#include "kernelwright/cli/settings.h"
#include "kernelwright/problems/folder.h"
#include "kernelwright/traced_graph.h"

namespace kw::front {
Result<int> run_problems_trace(const ProblemsTraceCommand& command, const Services& services) {
  KW_TRY_STATUS(check_range("--timeout", command.timeout_seconds, 0, kLongestTimeout));
  gym::TraceRequest request;
  KW_TRY(request.problem, read_problem(services, command.problem, command.set));
  request.workload = command.workload;
  request.memory_bytes = command.memory_bytes;
  if (command.timeout_seconds > 0) request.timeout_seconds = command.timeout_seconds;
  gym::GymOptions options;
  options.isolation_at_least = command.isolation_at_least;
  KW_TRY(std::unique_ptr<gym::Judge> judge, services.start_judge(std::move(options)));
  KW_TRY(writer::Graph graph, traced_graph(*judge, request, services.stop));
  KW_TRY_STATUS(
      services.console.out(command.json ? writer::to_json_text(graph) : writer::to_text(graph)));
  return 0;
}

}  // namespace kw::front
