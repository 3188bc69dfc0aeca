#include "service/task_service.h"

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "base/random.h"

namespace kw::service {
namespace {

constexpr std::size_t kMaxCallsARound = 256;
constexpr int kUnheard = 10;  // parts of a lease

Error ended() {
  return {ErrorCode::kUnavailable, "the server ends"};
}

// Hands out a result when the changes behind it are on disk.
template <typename T>
auto after_commit(TaskService::Reply<T> reply, Result<T> result) {
  return [reply = std::move(reply), result = std::move(result)](const Status& committed) mutable {
    if (!committed) return reply(tl::unexpected(committed.error()));
    reply(std::move(result));
  };
}

// The table's name of a lease among those that a call gets.
std::string name_in(const LeaseCall& call, std::size_t number) {
  if (call.name.empty() || number == 0) return call.name;
  return fmt::format("{}#{}", call.name, number);
}

Result<bool> carried_out(TaskTable& table, LeaseReport report, TaskTable::Time now) {
  switch (report.kind) {
    case ReportKind::kRenew:
      return table.renew(report.job, report.epoch, now);
    case ReportKind::kComplete:
      KW_TRY_STATUS(table.complete(report.job, report.epoch, std::move(report.answer), now,
                                   std::move(report.summary)));
      break;
    case ReportKind::kFail:
      KW_CHECK(report.why.has_value());
      KW_TRY_STATUS(table.fail_job(report.job, report.epoch, *report.why, now));
      break;
    case ReportKind::kRelease:
      KW_TRY_STATUS(table.release(report.job, report.epoch));
      break;
    case ReportKind::kLost:
      KW_TRY_STATUS(table.lost(report.job, report.epoch, now));
      break;
  }
  return true;
}

}  // namespace

Result<std::unique_ptr<TaskService>> TaskService::start(std::unique_ptr<TaskStorage> storage,
                                                        TaskServiceOptions options) {
  KW_TRY(auto out, start_without_thread(std::move(storage), std::move(options)));
  out->thread_ =
      std::jthread([service = out.get()](const std::stop_token& stop) { service->run(stop); });
  return out;
}

Result<std::unique_ptr<TaskService>> TaskService::start_without_thread(
    std::unique_ptr<TaskStorage> storage, TaskServiceOptions options) {
  KW_TRY(const Rows rows, storage->load());
  KW_TRY_STATUS(check_rows(rows));
  return std::unique_ptr<TaskService>(
      new TaskService(std::move(storage), std::move(options), rows));
}

TaskService::TaskService(std::unique_ptr<TaskStorage> storage, TaskServiceOptions options,
                         const Rows& rows)
    : options_(std::move(options)),
      start_name_(fmt::format("{:016x}", entropy_seed())),
      storage_(std::move(storage)),
      table_(options_.tasks, rows, options_.now()),
      heard_until_(options_.now()) {}

TaskService::~TaskService() {
  thread_.request_stop();
  if (thread_.joinable()) thread_.join();
  const Status unfinished = tl::unexpected(ended());
  while (auto left = calls_.take_if_there()) {
    // The table changes, but nobody commits or is told so.
    if (Told told = (*left)(table_, options_.now())) told(unfinished);
  }
  for (auto& [id, each] : watchers_) each.reply(tl::unexpected(ended()));
  for (auto& [id, each] : group_watchers_) each.reply(tl::unexpected(ended()));
  for (Idle& each : idle_) each.reply(tl::unexpected(ended()));
}

void TaskService::run(const std::stop_token& stop) {
  while (!stop.stop_requested()) {
    auto call = calls_.take(stop, rest());
    if (stop.stop_requested()) {
      if (call) calls_.put(std::move(*call));
      return;
    }
    round(call ? std::move(*call) : Call());
  }
}

std::chrono::milliseconds TaskService::rest() {
  const TaskTable::Time now = options_.now();
  make_up(now);
  const std::chrono::milliseconds out = time_to_next(now);
  heard_until_ = now + out;
  return out;
}

void TaskService::make_up(TaskTable::Time now) {
  if (now - heard_until_ >= options_.tasks.lease / kUnheard)
    table_.extend_leases(now - heard_until_);
  heard_until_ = now;
}

std::chrono::milliseconds TaskService::time_to_next(TaskTable::Time now) const {
  TaskTable::Time next = table_.next_deadline();
  if (!watch_ends_.empty()) next = std::min(next, watch_ends_.begin()->first);
  for (const Idle& each : idle_) next = std::min(next, each.until);
  if (next <= now) return std::chrono::milliseconds(0);
  // Of a longer sleep nobody could say whether the process was paused in it.
  const std::chrono::milliseconds longest = options_.tasks.lease / kUnheard;
  if (next - now > longest) return longest;
  return std::chrono::ceil<std::chrono::milliseconds>(next - now);
}

void TaskService::round(Call first) {
  const TaskTable::Time now = options_.now();
  make_up(now);
  std::vector<Told> told;
  table_.expire(now);
  std::optional<Call> next;
  if (first) next = std::move(first);
  for (std::size_t calls = 0; calls < kMaxCallsARound; ++calls) {
    if (!next) next = calls_.take_if_there();
    if (!next) break;
    if (Told each = (*next)(table_, now)) told.push_back(std::move(each));
    next.reset();
  }
  hand_out(now, told);
  look(now, told);
  Status committed;
  if (broken_) {
    committed = tl::unexpected(*broken_);
  } else if (const Changes changes = table_.take_changes(); !changes.empty()) {
    committed = storage_->commit(changes);
    if (!committed) {
      broken_ = committed.error();
      options_.on_broken(*broken_);
    }
  }
  for (const Told& each : told) each(committed);
}

std::vector<Lease> TaskService::lease_all(const LeaseCall& call, TaskTable::Time now) {
  std::vector<Lease> out;
  std::string problem = call.problem;
  while (out.size() < call.most) {
    auto lease = table_.lease(call.worker, name_in(call, out.size()), now, problem, call.can);
    if (!lease) break;
    // The worker will have opened it.
    if (const std::string& own = table_.problem_of(lease->job); !own.empty()) problem = own;
    out.push_back(std::move(*lease));
  }
  return out;
}

// Leases to the workers that wait, the first that came first.
void TaskService::hand_out(TaskTable::Time now, std::vector<Told>& told) {
  auto end = [&](Idle& each, std::vector<Lease> leases) {
    told.emplace_back(after_commit<std::vector<Lease>>(std::move(each.reply), std::move(leases)));
  };
  std::erase_if(idle_, [&](Idle& each) {
    if (!each.is_replaced && !each.gone.stop_requested()) return false;
    end(each, {});
    return true;
  });
  std::set<Abilities> in_vain;  // nothing waits for these
  std::erase_if(idle_, [&](Idle& each) {
    const bool is_avoided = table_.is_avoided(each.call.worker);
    if (table_.waiting() == 0 || (!is_avoided && in_vain.contains(each.call.can))) return false;
    std::vector<Lease> leases = lease_all(each.call, now);
    if (leases.empty()) {
      if (!is_avoided) in_vain.insert(each.call.can);
      return false;
    }
    end(each, std::move(leases));
    return true;
  });
  std::erase_if(idle_, [&](Idle& each) {
    if (each.until > now) return false;
    end(each, {});
    return true;
  });
}

void TaskService::tell(WatcherId id, std::vector<Told>& told) {
  const auto found = watchers_.find(id);
  Watcher& each = found->second;
  told.emplace_back(after_commit(std::move(each.reply), table_.status(each.ticket)));
  by_ticket_.erase({each.ticket, id});
  watch_ends_.erase({each.until, id});
  watchers_.erase(found);
}

bool TaskService::is_due(const GroupCall& call) const {
  const auto found = table_.group(call.name, call.after, 0);
  return !found || found->open == 0 || found->in_all - found->next >= call.least;
}

void TaskService::tell_group(WatcherId id, std::vector<Told>& told) {
  const auto found = group_watchers_.find(id);
  GroupWatcher& each = found->second;
  told.emplace_back(after_commit(std::move(each.reply),
                                 table_.group(each.call.name, each.call.after, each.call.most)));
  by_group_.erase({each.call.name, id});
  watch_ends_.erase({each.until, id});
  group_watchers_.erase(found);
}

void TaskService::look(TaskTable::Time now, std::vector<Told>& told) {
  std::set<std::string> groups;
  for (TicketId ticket : table_.take_ended(now)) {
    if (!by_group_.empty()) groups.insert(table_.group_of(ticket));
    for (auto each = by_ticket_.lower_bound({ticket, 0});
         each != by_ticket_.end() && each->first == ticket;
         each = by_ticket_.lower_bound({ticket, 0}))
      tell(each->second, told);
  }
  for (const std::string& name : groups) {
    std::vector<WatcherId> due;
    for (auto each = by_group_.lower_bound({name, 0});
         each != by_group_.end() && each->first == name; ++each)
      if (is_due(group_watchers_.at(each->second).call)) due.push_back(each->second);
    for (WatcherId id : due) tell_group(id, told);
  }
  while (!watch_ends_.empty() && watch_ends_.begin()->first <= now) {
    const WatcherId id = watch_ends_.begin()->second;
    if (watchers_.contains(id)) {
      tell(id, told);
    } else {
      tell_group(id, told);
    }
  }
}

template <typename T, typename Do>
void TaskService::call(Reply<T> reply, Do act) {
  calls_.put([reply = std::move(reply), act = std::move(act)](TaskTable& table,
                                                              TaskTable::Time now) mutable -> Told {
    return after_commit<T>(std::move(reply), act(table, now));
  });
}

void TaskService::submit(std::vector<Submission> submissions, Reply<Submitted> reply) {
  call<Submitted>(std::move(reply),
                  [submissions = std::move(submissions)](
                      TaskTable& table, TaskTable::Time now) mutable -> Result<Submitted> {
                    KW_TRY_STATUS(table.knows_parts(submissions));
                    Submitted out{.no_room = table.lacks_room(submissions, now)};
                    if (out.no_room) return out;
                    for (Submission& each : submissions)
                      out.tickets.push_back(table.submit(std::move(each), now));
                    return out;
                  });
}

void TaskService::put_part(std::string key, std::string text, Reply<std::string> reply) {
  call<std::string>(std::move(reply),
                    [key = std::move(key), text = std::move(text)](
                        TaskTable& table, TaskTable::Time) mutable -> Result<std::string> {
                      table.put_part(key, std::move(text));
                      return std::move(key);
                    });
}

void TaskService::part(std::string key, Reply<std::string> reply) {
  call<std::string>(std::move(reply), [key = std::move(key)](TaskTable& table, TaskTable::Time) {
    return table.part(key);
  });
}

void TaskService::status(TicketId ticket, const std::string& tenant, std::chrono::milliseconds wait,
                         Reply<TaskStatus> reply) {
  calls_.put([this, ticket, tenant, wait, reply = std::move(reply)](
                 TaskTable& table, TaskTable::Time now) mutable -> Told {
    if (!table.is_of(ticket, tenant))
      return after_commit<TaskStatus>(std::move(reply), unknown_task(ticket));
    if (wait.count() == 0 || table.is_final(ticket))
      return after_commit(std::move(reply), table.status(ticket));
    const WatcherId id = next_watcher_++;
    by_ticket_.emplace(ticket, id);
    watch_ends_.emplace(now + wait, id);
    watchers_.emplace(id, Watcher{ticket, now + wait, std::move(reply)});
    return {};
  });
}

void TaskService::group(GroupCall call, Reply<GroupStatus> reply) {
  calls_.put([this, call = std::move(call), reply = std::move(reply)](
                 TaskTable& table, TaskTable::Time now) mutable -> Told {
    if (call.wait.count() == 0 || is_due(call))
      return after_commit(std::move(reply), table.group(call.name, call.after, call.most));
    const WatcherId id = next_watcher_++;
    const TaskTable::Time until = now + call.wait;
    by_group_.emplace(call.name, id);
    watch_ends_.emplace(until, id);
    group_watchers_.emplace(id, GroupWatcher{std::move(call), until, std::move(reply)});
    return {};
  });
}

void TaskService::newest(std::vector<std::string> groups,
                         Reply<std::vector<std::optional<TaskTable::Newest>>> reply) {
  using Found = std::vector<std::optional<TaskTable::Newest>>;
  call<Found>(std::move(reply),
              [groups = std::move(groups)](TaskTable& table, TaskTable::Time) -> Result<Found> {
                Found out;
                for (const std::string& each : groups) out.push_back(table.newest_of(each));
                return out;
              });
}

void TaskService::cancel(TicketId ticket, const std::string& tenant, Reply<TaskStatus> reply) {
  call<TaskStatus>(std::move(reply), [=](TaskTable& table, TaskTable::Time) -> Result<TaskStatus> {
    if (!table.is_of(ticket, tenant)) return unknown_task(ticket);
    KW_TRY_STATUS(table.cancel(ticket));
    return table.status(ticket);
  });
}

void TaskService::let_expire(TicketId ticket, const std::string& tenant,
                             std::chrono::milliseconds after) {
  calls_.put([=](TaskTable& table, TaskTable::Time now) -> Told {
    if (table.is_of(ticket, tenant)) (void)table.let_expire(ticket, after, now);
    return {};
  });
}

void TaskService::lease(LeaseCall call, std::stop_token gone, Reply<std::vector<Lease>> reply) {
  calls_.put([this, call = std::move(call), gone = std::move(gone), reply = std::move(reply)](
                 TaskTable& table, TaskTable::Time now) mutable -> Told {
    std::vector<Lease> leases;
    table.see_worker(call.worker, now, call.can, call.unfit);
    if (!call.unfit.empty())
      return after_commit<std::vector<Lease>>(std::move(reply), std::move(leases));
    for (std::size_t i = 0; i < call.most && !call.name.empty(); ++i)
      if (auto lease = table.leased_as(name_in(call, i), now)) leases.push_back(std::move(*lease));
    if (!leases.empty())
      return after_commit<std::vector<Lease>>(std::move(reply), std::move(leases));
    // An older call of this name has lost its client, seen or not.
    for (Idle& each : idle_) each.is_replaced |= !call.name.empty() && each.call.name == call.name;
    const TaskTable::Time until = now + call.wait;
    idle_.push_back({std::move(call), until, std::move(gone), std::move(reply)});
    return {};
  });
}

void TaskService::compile(LeaseCall asked, Reply<std::vector<std::string>> reply) {
  using Requests = std::vector<std::string>;
  call<Requests>(std::move(reply),
                 [asked = std::move(asked)](TaskTable& table, TaskTable::Time) -> Result<Requests> {
                   return table.to_compile(asked.most, asked.can);
                 });
}

void TaskService::report(std::vector<LeaseReport> reports, Reply<std::vector<Result<bool>>> reply) {
  call<std::vector<Result<bool>>>(
      std::move(reply),
      [reports = std::move(reports)](
          TaskTable& table, TaskTable::Time now) mutable -> Result<std::vector<Result<bool>>> {
        std::vector<Result<bool>> out;
        for (LeaseReport& each : reports) out.push_back(carried_out(table, std::move(each), now));
        return out;
      });
}

void TaskService::view(Reply<QueueView> reply) {
  call<QueueView>(std::move(reply), [](TaskTable& table, TaskTable::Time) -> Result<QueueView> {
    return table.view();
  });
}

void TaskService::overview(const std::string& tenant, std::uint64_t after, Reply<Seen> reply) {
  call<Seen>(std::move(reply), [=](TaskTable& table, TaskTable::Time now) -> Result<Seen> {
    return Seen{
        .overview = table.overview(tenant, after, now), .counts = table.counts(), .now = now};
  });
}

void TaskService::request(TicketId ticket, const std::string& tenant, Reply<std::string> reply) {
  call<std::string>(std::move(reply),
                    [=, this](TaskTable& table, TaskTable::Time) -> Result<std::string> {
                      if (!table.is_of(ticket, tenant)) return unknown_task(ticket);
                      KW_TRY(auto kept, table.request_of(ticket));
                      if (kept.text) return std::move(*kept.text);
                      return storage_->request(kept.job);
                    });
}

void TaskService::counts(Reply<TaskCounts> reply) {
  call<TaskCounts>(std::move(reply), [](TaskTable& table, TaskTable::Time) -> Result<TaskCounts> {
    return table.counts();
  });
}

}  // namespace kw::service
