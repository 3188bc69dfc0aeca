#include "service/overview_json.h"

#include <algorithm>

#include "service/task_messages.h"

namespace kw::service {
namespace {

double seconds_since(TaskTable::Time then, TaskTable::Time now) {
  return std::max(0.0, std::chrono::duration<double>(now - then).count());
}

Json ended_json(const EndedTask& task, const std::string& tenant, TaskTable::Time now) {
  Json out = {{"id", std::to_string(task.id)},
              {"state", task.state},
              {"outcome", task.answer.outcome},
              {"problem", task.answer.problem},
              {"candidate", task.answer.candidate},
              {"language", task.answer.language},
              {"target", task.answer.target},
              {"group", task.group},
              {"seconds_ago", seconds_since(task.at, now)}};
  out["speedup"] = task.answer.speedup > 0 ? Json(task.answer.speedup) : Json(nullptr);
  if (tenant.empty()) {
    out["worker"] = task.worker;
  } else if (task.group.size() > tenant.size()) {
    out["group"] = task.group.substr(tenant.size() + 1);
  }
  return out;
}

Json worker_json(const WorkerActivity& worker, TaskTable::Time now) {
  Json out = {{"name", worker.name}, {"leased", worker.leased}, {"answers", worker.answers}};
  if (!worker.unfit.empty()) out["unfit"] = worker.unfit;
  // One that has a lease of an earlier start of the server may not have been heard yet.
  out["seconds_ago"] =
      worker.seen == TaskTable::Time{} ? Json(nullptr) : Json(seconds_since(worker.seen, now));
  return out;
}

}  // namespace

Json overview_json(const TaskService::Seen& seen, const std::string& tenant,
                   const std::string& start_name) {
  const Overview& from = seen.overview;
  Json out = {{"next", cursor_of(from.next, start_name)}, {"in_all", from.next}};
  if (tenant.empty()) {
    out["waiting"] = seen.counts.waiting;
    out["leased"] = seen.counts.leased;
    out["lost_workers"] = seen.counts.lost_workers;
    out["retries"] = seen.counts.retries;
    out["judged_seconds"] = from.judged_seconds;
    Json& workers = out["workers"] = Json::array();
    for (const WorkerActivity& each : from.workers) workers.push_back(worker_json(each, seen.now));
  } else {
    out["waiting"] = from.tenants.empty() ? 0 : from.tenants.front().waiting;
    out["leased"] = from.tenants.empty() ? 0 : from.tenants.front().leased;
  }
  Json& tenants = out["tenants"] = Json::array();
  for (const TaskShare& each : from.tenants)
    tenants.push_back({{"name", each.name},
                       {"waiting", each.waiting},
                       {"leased", each.leased},
                       {"judged_seconds", each.judged_seconds}});
  Json& outcomes = out["outcomes"] = Json::object();
  for (const auto& [name, count] : from.outcomes) outcomes[name] = count;
  out["ends"] = {{"seconds", Overview::kSpan.count()}, {"counts", from.ends}};
  Json& ended = out["ended"] = Json::array();
  for (const EndedTask& each : from.ended) ended.push_back(ended_json(each, tenant, seen.now));
  return out;
}

}  // namespace kw::service
