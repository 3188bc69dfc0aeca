#include "service/task_service.h"

#include <algorithm>
#include <utility>

namespace kw::service {
namespace {

constexpr std::size_t kMaxCallsARound = 256;
constexpr std::chrono::milliseconds kLongestSleep{60000};

Error ended() {
  return {ErrorCode::kUnavailable, "the server ends"};
}

}  // namespace

Result<std::unique_ptr<TaskService>> TaskService::start(std::unique_ptr<TaskStorage> storage,
                                                        TaskServiceOptions options) {
  KW_TRY(const Rows rows, storage->load());
  return std::unique_ptr<TaskService>(
      new TaskService(std::move(storage), std::move(options), rows));
}

TaskService::TaskService(std::unique_ptr<TaskStorage> storage, TaskServiceOptions options,
                         const Rows& rows)
    : options_(std::move(options)),
      storage_(std::move(storage)),
      table_(options_.tasks, rows, options_.now()),
      thread_([this](const std::stop_token& stop) { run(stop); }) {}

TaskService::~TaskService() {
  thread_.request_stop();
  thread_.join();
  const Status unfinished = tl::unexpected(ended());
  while (auto left = calls_.take_if_there()) {
    // The table changes, but nobody commits or is told so.
    if (Told told = (*left)(table_, options_.now())) told(unfinished);
  }
  for (Watcher& each : watchers_) each.reply(tl::unexpected(ended()));
  for (Idle& each : idle_) each.reply(tl::unexpected(ended()));
}

void TaskService::run(const std::stop_token& stop) {
  while (!stop.stop_requested()) {
    auto call = calls_.take(stop, time_to_next(options_.now()));
    if (stop.stop_requested()) {
      if (call) calls_.put(std::move(*call));
      return;
    }
    round(call ? std::move(*call) : Call());
  }
}

std::chrono::milliseconds TaskService::time_to_next(TaskTable::Time now) const {
  TaskTable::Time next = table_.next_deadline();
  for (const Watcher& each : watchers_) next = std::min(next, each.until);
  for (const Idle& each : idle_) next = std::min(next, each.until);
  if (next <= now) return std::chrono::milliseconds(0);
  if (next - now > kLongestSleep) return kLongestSleep;
  return std::chrono::ceil<std::chrono::milliseconds>(next - now);
}

void TaskService::round(Call first) {
  const TaskTable::Time now = options_.now();
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

// Leases to the workers that wait, the first that came first.
void TaskService::hand_out(TaskTable::Time now, std::vector<Told>& told) {
  std::erase_if(idle_, [&](Idle& each) {
    if (!each.is_replaced && !each.gone.stop_requested()) return false;
    told.push_back([reply = std::move(each.reply)](const Status&) { reply(std::nullopt); });
    return true;
  });
  while (!idle_.empty() && table_.counts().waiting > 0) {
    std::optional<Lease> lease = table_.lease(idle_.front().worker, idle_.front().name, now);
    if (!lease) break;
    told.push_back([reply = std::move(idle_.front().reply),
                    lease = std::move(lease)](const Status& committed) {
      if (!committed) return reply(tl::unexpected(committed.error()));
      reply(lease);
    });
    idle_.pop_front();
  }
  std::erase_if(idle_, [&](Idle& each) {
    if (each.until > now) return false;
    told.push_back([reply = std::move(each.reply)](const Status&) { reply(std::nullopt); });
    return true;
  });
}

void TaskService::look(TaskTable::Time now, std::vector<Told>& told) {
  std::erase_if(watchers_, [&](Watcher& each) {
    const bool is_over = each.until <= now || each.gone.stop_requested();
    if (!is_over && !table_.is_final(each.ticket)) return false;
    told.push_back([reply = std::move(each.reply),
                    status = table_.status(each.ticket)](const Status& committed) {
      if (!committed) return reply(tl::unexpected(committed.error()));
      reply(status);
    });
    return true;
  });
}

template <typename T, typename Do>
void TaskService::call(Reply<T> reply, Do act) {
  calls_.put([reply = std::move(reply), act = std::move(act)](TaskTable& table,
                                                              TaskTable::Time now) mutable -> Told {
    return [reply = std::move(reply), out = Result<T>(act(table, now))](const Status& committed) {
      if (!committed) return reply(tl::unexpected(committed.error()));
      reply(out);
    };
  });
}

void TaskService::submit(std::vector<Submission> submissions, Reply<std::vector<TicketId>> reply) {
  call<std::vector<TicketId>>(
      std::move(reply),
      [submissions = std::move(submissions)](
          TaskTable& table, TaskTable::Time now) mutable -> Result<std::vector<TicketId>> {
        KW_TRY_STATUS(table.has_room(submissions));
        std::vector<TicketId> out;
        for (Submission& each : submissions) out.push_back(table.submit(std::move(each), now));
        return out;
      });
}

void TaskService::status(TicketId ticket, std::chrono::milliseconds wait, std::stop_token gone,
                         Reply<TaskStatus> reply) {
  calls_.put([this, ticket, wait, gone = std::move(gone), reply = std::move(reply)](
                 TaskTable& /*table*/, TaskTable::Time now) mutable -> Told {
    watchers_.push_back({ticket, now + wait, std::move(gone), std::move(reply)});
    return {};
  });
}

void TaskService::cancel(TicketId ticket, Reply<TaskStatus> reply) {
  call<TaskStatus>(std::move(reply), [=](TaskTable& table, TaskTable::Time) -> Result<TaskStatus> {
    KW_TRY_STATUS(table.cancel(ticket));
    return table.status(ticket);
  });
}

void TaskService::lease(std::string worker, std::string name, std::chrono::milliseconds wait,
                        std::stop_token gone, Reply<std::optional<Lease>> reply) {
  calls_.put([this, worker = std::move(worker), name = std::move(name), wait,
              gone = std::move(gone),
              reply = std::move(reply)](TaskTable& table, TaskTable::Time now) mutable -> Told {
    if (auto lease = table.leased_as(name, now))
      return [reply = std::move(reply), lease = std::move(lease)](const Status& committed) {
        if (!committed) return reply(tl::unexpected(committed.error()));
        reply(lease);
      };
    // An older call of this name has lost its client, seen or not.
    for (Idle& each : idle_) each.is_replaced |= !name.empty() && each.name == name;
    idle_.push_back(
        {std::move(worker), std::move(name), now + wait, std::move(gone), std::move(reply)});
    return {};
  });
}

void TaskService::renew(JobId job, std::int64_t epoch, Reply<bool> reply) {
  call<bool>(std::move(reply),
             [=](TaskTable& table, TaskTable::Time now) { return table.renew(job, epoch, now); });
}

void TaskService::complete(JobId job, std::int64_t epoch, std::string answer, Reply<bool> reply) {
  call<bool>(std::move(reply),
             [job, epoch, answer = std::move(answer)](TaskTable& table,
                                                      TaskTable::Time now) mutable -> Result<bool> {
               KW_TRY_STATUS(table.complete(job, epoch, std::move(answer), now));
               return true;
             });
}

void TaskService::fail_job(JobId job, std::int64_t epoch, Error why, Reply<bool> reply) {
  call<bool>(std::move(reply),
             [job, epoch, why = std::move(why)](TaskTable& table, TaskTable::Time) -> Result<bool> {
               KW_TRY_STATUS(table.fail_job(job, epoch, why));
               return true;
             });
}

void TaskService::release(JobId job, std::int64_t epoch, Reply<bool> reply) {
  call<bool>(std::move(reply), [=](TaskTable& table, TaskTable::Time) -> Result<bool> {
    KW_TRY_STATUS(table.release(job, epoch));
    return true;
  });
}

void TaskService::counts(Reply<TaskCounts> reply) {
  call<TaskCounts>(std::move(reply), [](TaskTable& table, TaskTable::Time) -> Result<TaskCounts> {
    return table.counts();
  });
}

}  // namespace kw::service
