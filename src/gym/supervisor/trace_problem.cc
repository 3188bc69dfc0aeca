// One request to a sandboxed process that ends after its answer.
#include "gym/supervisor/trace_problem.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "base/text.h"
#include "gym/protocol.h"
#include "gym/supervisor/problem_session.h"
#include "os/memory.h"
#include "os/message.h"
#include "task/signature.h"

namespace kw::gym {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::size_t kTraceBytes = std::size_t{16} << 20U;
constexpr std::size_t kMaxTraceFailure = 2000;
constexpr std::uint64_t kMemory = 6ULL << 30U;
constexpr std::chrono::milliseconds kSlice{100};  // between looks at a stop
enum TracerStatus : std::uint32_t { kDone = 0, kReferenceFailed = 1, kUnsupportedProblem = 3 };

Result<const task::Workload*> chosen_workload(const TraceRequest& request) {
  const task::Problem& problem = request.problem;
  if (problem.workloads.empty())
    return fail(ErrorCode::kInvalidArgument, "{} has no workload", problem.origin);
  if (request.workload.empty()) {
    std::vector<const task::Workload*> here = problem.workloads_for(task::Target::kCpu);
    return here.empty() ? &problem.workloads[0] : here[0];
  }
  for (const task::Workload& workload : problem.workloads) {
    if (workload.uuid == request.workload) return &workload;
  }
  return fail(ErrorCode::kNotFound, "{} has no workload {}", problem.name,
              printable(request.workload, 40));
}

// Axes and inputs of a definition at one workload.
Result<Json> definition_request(const task::Problem& problem, const task::Workload& workload) {
  const task::Definition& definition = problem.definition();
  KW_TRY(task::Signature signature,
         task::signature_of(definition, workload, problem.policy.statics));
  Json axes = Json::array(), inputs = Json::array();
  for (const task::Axis& axis : definition.axes) {
    auto given = std::find_if(workload.axes.begin(), workload.axes.end(),
                              [&](const auto& item) { return item.first == axis.name; });
    axes.push_back({axis.name, axis.value ? *axis.value : given->second});
  }
  for (const task::TensorSpec& tensor : definition.inputs) {
    const auto& statics = problem.policy.statics;
    bool is_static = std::find(statics.begin(), statics.end(), tensor.name) != statics.end();
    Json input = {{"name", tensor.name},
                  {"dtype", tensor::to_string(tensor.dtype)},
                  {"shape", tensor.shape ? Json(*tensor.shape) : Json(nullptr)},
                  {"static", is_static},
                  {"value", nullptr}};
    for (const task::Argument& argument : signature.inputs) {
      if (argument.name == tensor.name && argument.role == task::Role::kScalar)
        input["value"] = argument.value;
    }
    inputs.push_back(std::move(input));
  }
  return Json{{"kind", "definition"},
              {"entry", "run"},
              {"axes", axes},
              {"inputs", inputs},
              {"output_count", definition.outputs.size()}};
}

// seconds: of the time that the tracer is not frozen.
Status receive_reply(RunningRole& role, const HostLease& lease, OracleReply& reply, double seconds,
                     const std::stop_token& stop) {
  const auto timeout = std::chrono::milliseconds(static_cast<std::int64_t>(seconds * 1e3));
  const Clock::time_point end = Clock::now() + timeout - lease.held();
  while (true) {
    if (stop.stop_requested()) return fail(ErrorCode::kCancelled, "interrupted");
    Status received = os::receive_struct(role.control.get(), &reply, sizeof reply, kSlice);
    bool waits = !received && received.error().code() == ErrorCode::kDeadlineExceeded;
    if (!waits) return received;
    if (Clock::now() > end + lease.held())
      return fail(ErrorCode::kDeadlineExceeded, "the trace did not finish within {:.0f} s",
                  seconds);
  }
}

Error why_no_reply(RunningRole& role, const Error& error) {
  if (error.code() == ErrorCode::kCancelled || error.code() == ErrorCode::kDeadlineExceeded)
    return error;
  const std::optional<sandbox::Exit> exit = role.sandbox->monitor().exited();
  if (exit && exit->out_of_memory)
    return {ErrorCode::kResourceExhausted,
            "the trace ran out of memory (smaller sizes: --set NAME=VALUE)"};
  return {ErrorCode::kInvalidArgument, fmt::format("the problem's code ended the tracer: {}",
                                                   printable(role.log->text(), kMaxTraceFailure))};
}

}  // namespace

Result<std::string> trace_problem(Roles& roles, const HostLease& lease, const TraceRequest& request,
                                  const std::stop_token& stop) {
  const task::Problem& problem = request.problem;
  KW_TRY(const task::Workload* workload, chosen_workload(request));
  Json body = {{"kind", "module"}};
  if (problem.is_module()) {
    body["entry"] = problem.module().entry_point;
  } else {
    KW_TRY(body, definition_request(problem, *workload));
  }
  body["op"] = "trace";
  body["fds"] = {"text", "source"};
  KW_TRY(std::string reference, reference_source(problem));
  KW_TRY(os::UniqueFd source, os::make_sealed_file("reference", reference));
  KW_TRY(os::UniqueFd text_fd, os::make_memory_file("text", kTraceBytes));
  KW_TRY(os::Mapping text, os::Mapping::shared(text_fd.get(), kTraceBytes, true));
  RoleLimits limits{request.memory_bytes == 0 ? kMemory : request.memory_bytes, 1};
  KW_TRY(RunningRole role, roles.start_tracer(limits));

  // A tracer that has ended already takes no request.
  OracleReply reply{};
  Status replied = os::send_message(role.control.get(), body, {text_fd.get(), source.get()});
  if (replied) replied = receive_reply(role, lease, reply, request.timeout_seconds, stop);
  if (!replied) return tl::unexpected(why_no_reply(role, replied.error()));
  // A copy: the process may still write.
  std::string answer(reinterpret_cast<const char*>(text.data()),
                     std::min<std::size_t>(reply.text_bytes, kTraceBytes));
  if (reply.status == kDone) return answer;
  answer = printable(answer, kMaxTraceFailure);
  if (reply.status == kUnsupportedProblem)
    return fail(ErrorCode::kUnsupported, "{}: no graph: {}", problem.name, answer);
  return fail(ErrorCode::kInvalidArgument, "{}: the reference fails: {}", problem.name, answer);
}

}  // namespace kw::gym
