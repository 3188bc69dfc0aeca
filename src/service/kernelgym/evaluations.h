// Evaluations: requests of one caller that are carried out together, and answered when all have
// ended.
//
// A request whose task_id was asked for before, with the same content, gets the verdict that there
// is; another content or force_refresh is judged anew. When the caller goes away, its own tasks are
// cancelled, and a judgement stops when nobody else waits for it.
#pragma once
#include <chrono>
#include <functional>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "service/kernelgym/evaluation_request.h"
#include "service/task_service.h"
#include "service/tokens.h"

namespace kw::service::kernelgym {

struct Options {
  std::function<std::string()> timestamp;  // the time of day: "2026-01-31T12:00:00Z"
  std::function<std::chrono::steady_clock::time_point()> now = std::chrono::steady_clock::now;
  // So long a task waits for a caller that has gone: one whose patience has ended asks again.
  std::chrono::milliseconds kept_for{60000};
  std::stop_token ending = {};  // the server's end: callers that are cut off then cancel nothing
};

// The group of a task_id's tasks. Before it is made the caller's own.
std::string group_of_task(const std::string& task_id);

// Evaluation responses in the order of the requests, each with its times; none where there is no
// room for them. An error is kUnavailable at the server's end.
struct Answers {
  std::vector<Json> responses = {};
  std::optional<service::NoRoom> no_room = {};
};
using Evaluated = std::function<void(Result<Answers>)>;

// done is called once, on the service's thread, and must not wait. The service must outlive the
// call. Any thread.
void evaluate(service::TaskService& service, const service::Identity& who,
              std::vector<EvaluationRequest> requests, const Options& options,
              const std::stop_token& gone, Evaluated done);

}  // namespace kw::service::kernelgym
