#include "kernelwright/service/submit.h"

#include <algorithm>
#include <utility>

#include "kernelwright/cli/settings.h"
#include "kernelwright/eval/eval.h"
#include "kernelwright/json_line.h"
#include "kernelwright/problems/folder.h"
#include "kernelwright/service/remote_judges.h"
#include "service/service_client.h"
#include "service/task_messages.h"
#include "service/work.h"

namespace kw::front {
namespace {

// parts: become those of the task.
Result<Json> task_of(const SubmitCommand& command, const task::Problem& problem,
                     task::Candidate candidate, service::WorkParts& parts) {
  gym::EvalRequest request;
  request.problem = problem;
  request.candidate = std::move(candidate);
  request.options = command.options;
  request.priority = command.priority;
  KW_TRY(Json body, gym::to_json(request));
  parts = service::take_parts(std::move(request), body);
  Json out = {{"request", std::move(body)}, {"submission", service::unique_name()}};
  if (command.isolation_at_least != sandbox::Level::kNone)
    out["isolation"] = sandbox::to_string(command.isolation_at_least);
  if (command.deadline_seconds > 0) out["timeout_seconds"] = command.deadline_seconds;
  return out;
}

}  // namespace

Result<int> run_submit(SubmitCommand command, const Services& services) {
  KW_TRY_STATUS(complete_options(command.baseline, command.set, command.options));
  KW_TRY(const task::Problem problem, read_problem(services, command.problem, command.set));
  KW_TRY(const std::vector<task::Candidate> candidates,
         read_candidates(command.candidates, command.language));
  KW_TRY(auto client, service::ServiceClient::make(client_options(command.server)));
  if (command.group.empty()) command.group = service::unique_name();
  service::WorkParts parts;
  Json ids = Json::array();
  for (std::size_t begin = 0; begin < candidates.size(); begin += service::kMaxTasksAtOnce) {
    Json body = {{"tasks", Json::array()}, {"group", command.group}};
    const std::size_t end = std::min(candidates.size(), begin + service::kMaxTasksAtOnce);
    for (std::size_t i = begin; i < end; ++i) {
      KW_TRY(Json task, task_of(command, problem, candidates[i], parts));
      body["tasks"].push_back(std::move(task));
    }
    if (begin == 0) KW_TRY_STATUS(service::send_parts(*client, parts, services.stop));
    KW_TRY(const Json accepted, client->call_patiently("POST", "/v1/tasks", body, services.stop));
    for (const Json& task : accepted.value("tasks", Json::array())) ids.push_back(task);
  }
  if (command.json) {
    KW_TRY_STATUS(services.console.out(json_line({{"group", command.group}, {"tasks", ids}})));
    return 0;
  }
  KW_TRY_STATUS(services.console.out(fmt::format("{}\n", command.group)));
  services.console.err(
      fmt::format("{} tasks; kernelwright queue --server {} --group {} --wait shows them\n",
                  ids.size(), client->url(), command.group));
  return 0;
}

}  // namespace kw::front
