#include "gym/judge.h"

namespace kw::gym {

Result<ProblemCheck> Judge::check(const CheckRequest& request, const std::stop_token& /*stop*/) {
  return fail(ErrorCode::kUnsupported, "{}: problems are not checked here", request.problem.name);
}

Result<std::string> Judge::trace(const TraceRequest& request, const std::stop_token& /*stop*/) {
  return fail(ErrorCode::kUnsupported, "{}: references are not traced here", request.problem.name);
}

Result<Capabilities> Judge::capabilities(task::Target target) {
  return fail(ErrorCode::kUnsupported, "target \"{}\" is not available here", to_string(target));
}

}  // namespace kw::gym
