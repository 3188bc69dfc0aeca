#include "kernelwright/service/queue.h"

#include <algorithm>

#include "base/text.h"
#include "kernelwright/error_text.h"
#include "kernelwright/eval/eval.h"
#include "kernelwright/json_line.h"
#include "kernelwright/service/remote_judges.h"
#include "net/url.h"
#include "service/service_client.h"

namespace kw::front {
namespace {

constexpr int kPollSeconds = 20;

std::string rows_text(const Json& rows, const char* title) {
  std::string out;
  for (const Json& row : rows)
    out += fmt::format("{} {:<24} {:>6} waiting {:>6} leased\n", title,
                       printable(row.value("name", ""), 60), row.value("waiting", 0),
                       row.value("leased", 0));
  return out;
}

Result<int> show_queue(const QueueCommand& command, const Services& services,
                       service::ServiceClient& client) {
  KW_TRY(const Json queue, client.call("GET", "/v1/queue", nullptr, services.stop));
  std::string text = json_line(queue);
  if (!command.json)
    text = fmt::format("waiting {}\nleased  {}\n", queue.value("waiting", 0),
                       queue.value("leased", 0)) +
           rows_text(queue.value("tenants", Json::array()), "tenant") +
           rows_text(queue.value("workers", Json::array()), "worker");
  KW_TRY_STATUS(services.console.out(text));
  return 0;
}

// One task that has ended: its line, and what it makes of the exit code.
struct Ended {
  std::string line;
  int code = 2;
};
Ended ended_of(const Json& task) {
  const std::string head = fmt::format("{:>8}  ", task.value("id", ""));
  if (task.contains("verdict")) {
    const auto verdict = task::verdict_from_json(task["verdict"], "verdict");
    if (!verdict) return {head + "an unreadable verdict: " + verdict.error().message() + "\n"};
    return {fmt::format("{}{:<20} {}\n", head, to_string(verdict->outcome),
                        verdict->candidate_hash.substr(0, 16)),
            exit_code_of(verdict->outcome)};
  }
  std::string why = task.value("state", "");
  if (task.contains("error") && task["error"].is_object())
    why += ": " + one_line(task["error"].value("message", ""));
  return {head + printable(why, 400) + "\n"};
}

Result<int> show_group(const QueueCommand& command, const Services& services,
                       service::ServiceClient& client) {
  const std::string path = "/v1/groups/" + net::percent_encode(command.group);
  std::string after;
  int code = 0;
  while (true) {
    KW_TRY(
        const Json group,
        client.call_patiently(
            "GET", fmt::format("{}?wait={}&after={}", path, command.wait ? kPollSeconds : 0, after),
            nullptr, services.stop));
    KW_TRY(ObjectReader reader, ObjectReader::make(group, "group"));
    KW_TRY(after, reader.string("next"));
    KW_TRY(const std::int64_t open, reader.integer("open"));
    KW_TRY(const Json* tasks, reader.get("ended"));
    for (const Json& task : *tasks) {
      const Ended ended = ended_of(task);
      code = std::max(code, ended.code);
      KW_TRY_STATUS(services.console.out(command.json ? json_line(task) : ended.line));
    }
    if (!tasks->empty()) continue;
    if (open == 0) return code;
    if (command.wait) continue;
    services.console.err(fmt::format("{} are under way\n", open));
    return code;
  }
}

}  // namespace

Result<int> run_queue(const QueueCommand& command, const Services& services) {
  if (command.wait && command.group.empty())
    return fail(ErrorCode::kInvalidArgument,
                "--wait goes with --group; see kernelwright queue --help");
  KW_TRY(auto client, service::ServiceClient::make(client_options(command.server)));
  return command.group.empty() ? show_queue(command, services, *client)
                               : show_group(command, services, *client);
}

}  // namespace kw::front
