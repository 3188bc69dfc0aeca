// The life of a task: submitted, leased, and ended.
#include "service/task_table.h"

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "base/json.h"
#include "base/text.h"

namespace kw::service {
namespace {

std::string error_answer(ErrorCode code, const std::string& message) {
  return Json{{"error", {{"code", to_string(code)}, {"message", message}}}}.dump(
      -1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace

TaskTable::TaskTable(TaskOptions options, const Rows& rows, Time now)
    : options_(options),
      shelf_(options.problems),
      next_(rows.next_id),
      retention_(options.held),
      retries_(options.retries),
      heard_(now) {
  restore(rows, now);
}

const std::string& TaskTable::text_of(const JobRow& job) {
  KW_CHECK(job.request.has_value());
  return *job.request;
}

gym::Queue::Accepted TaskTable::enter(const JobRow& job, const Submission& submission,
                                      Ticket& ticket, Time now) {
  gym::Queue::Wish wish{.key = job.key, .tenant = job.tenant, .affinity = job.problem};
  wish.priority = ticket.row.priority;
  wish.weight = submission.weight;
  const Needs needs = needs_of_text(job.needs);
  wish.pool = needs.target;
  wish.kind = needs.kind();
  if (ticket.row.timeout_ms > 0)
    wish.deadline = now + std::chrono::milliseconds(ticket.row.timeout_ms);
  wish.ages_at = now + options_.ageing;
  const gym::Queue::Accepted out = queue_.submit(std::move(wish));
  ticket.queued = out.ticket;
  ticket_of_queue_[out.ticket] = ticket.row.id;
  return out;
}

void TaskTable::put_part(const std::string& key, std::string text) {
  shelf_.put(key, std::move(text));
}

Result<std::string> TaskTable::part(const std::string& key) {
  if (const std::string* text = shelf_.find(key)) return *text;
  return fail(ErrorCode::kNotFound, "no {}: it never was, or it is forgotten", name_of_part(key));
}

void TaskTable::hold_parts(const Job& job) {
  if (!job.row.problem.empty()) shelf_.hold(job.row.problem);
  if (!job.baseline.empty()) shelf_.hold(baseline_key(job.baseline));
}

void TaskTable::let_go_parts(const Job& job) {
  if (!job.row.problem.empty()) shelf_.let_go(job.row.problem);
  if (!job.baseline.empty()) shelf_.let_go(baseline_key(job.baseline));
}

TicketId TaskTable::submit(Submission submission, Time now) {
  if (!submission.submission.empty()) {
    auto found = by_submission_.find(submission.submission);
    if (found != by_submission_.end()) return found->second;
  }
  const TicketId id = next_++;
  next_changed_ = true;
  Ticket& ticket = tickets_[id];
  ticket.row = {.id = id,
                .submission = submission.submission,
                .priority = submission.priority,
                .timeout_ms = submission.timeout_ms,
                .owner = submission.owner,
                .group = submission.group};
  ticket.bytes = submission.request.size();
  Open& open = open_[submission.owner];
  ++open.tickets;
  open.bytes += ticket.bytes;
  if (!submission.group.empty()) groups_.begin(submission.group, id);
  Job fresh;
  fresh.row.key = std::move(submission.key);
  fresh.row.tenant = std::move(submission.tenant);
  fresh.row.problem = std::move(submission.problem);
  fresh.row.needs = submission.needs.text();
  fresh.needs = submission.needs;
  const gym::Queue::Accepted accepted = enter(fresh.row, submission, ticket, now);
  JobId& job_id = of_queue_[accepted.job];
  if (accepted.is_new) {
    job_id = next_++;
    fresh.queued = accepted.job;
    fresh.row.id = job_id;
    fresh.row.request = std::move(submission.request);
    if (!submission.problem_text.empty())
      put_part(fresh.row.problem, std::move(submission.problem_text));
    fresh.baseline = std::move(submission.baseline);
    if (!submission.baseline_text.empty())
      put_part(baseline_key(fresh.baseline), std::move(submission.baseline_text));
    hold_parts(fresh);
    waiting_bytes_ += fresh.row.request->size();
    ++counts_.waiting;
    activity_.count_waiting(fresh.row.tenant, 1);
    count_want(fresh, 1);
    note_uncompiled(fresh, submission.priority);
    new_jobs_.insert(job_id);
    jobs_[job_id] = std::move(fresh);
  }
  ticket.row.job = job_id;
  jobs_.at(job_id).tickets.push_back(id);
  if (!ticket.row.submission.empty()) by_submission_[ticket.row.submission] = id;
  changed_tickets_.insert(id);
  ++counts_.submitted;
  return id;
}

void TaskTable::note_uncompiled(const Job& job, int priority) {
  if (is_compiled(job.needs)) uncompiled_.emplace(-priority, job.row.id);
}

std::vector<std::string> TaskTable::to_compile(std::size_t most, const Abilities& can) {
  std::vector<std::string> out;
  for (auto each = uncompiled_.begin(); each != uncompiled_.end() && out.size() < most;) {
    const auto found = jobs_.find(each->second);
    const bool waits = found != jobs_.end() && found->second.row.state == JobState::kWaiting;
    if (waits && !can.cover(found->second.needs)) {
      ++each;
      continue;
    }
    if (waits) out.push_back(text_of(found->second.row));
    each = uncompiled_.erase(each);
  }
  return out;
}

void TaskTable::leave(Ticket& ticket, TicketState state, const gym::Queue::Gone& gone) {
  ticket.row.state = state;
  ticket_of_queue_.erase(ticket.queued);
  changed_tickets_.insert(ticket.row.id);
  note_end(ticket);
  Job& job = jobs_.at(ticket.row.job);
  if (gone.stop) job.is_stopped = true;
  if (gone.dropped) end(job, JobState::kCancelled, std::nullopt);
}

Status TaskTable::cancel(TicketId id) {
  auto found = tickets_.find(id);
  if (found == tickets_.end()) return unknown_task(id);
  Ticket& ticket = found->second;
  if (ticket.row.state != TicketState::kOpen ||
      service::is_final(jobs_.at(ticket.row.job).row.state))
    return {};
  leave(ticket, TicketState::kCancelled, queue_.cancel(ticket.queued));
  return {};
}

Status TaskTable::let_expire(TicketId id, std::chrono::milliseconds after, Time now) {
  auto found = tickets_.find(id);
  if (found == tickets_.end()) return unknown_task(id);
  if (is_final(id)) return {};
  Ticket& ticket = found->second;
  queue_.bring_forward(ticket.queued, now + after);
  // For a server that starts again.
  const bool is_earlier = ticket.row.timeout_ms == 0 || after.count() < ticket.row.timeout_ms;
  if (is_earlier) ticket.row.timeout_ms = std::max<std::int64_t>(after.count(), 1);
  changed_tickets_.insert(id);
  return {};
}

std::optional<Lease> TaskTable::leased_as(const std::string& name, Time now) {
  auto found = by_lease_.find(name);
  if (found == by_lease_.end()) return std::nullopt;
  const Job& job = jobs_.at(found->second);
  if (!renew(job.row.id, job.row.epoch, now)) return std::nullopt;
  return Lease{job.row.id, job.row.epoch, text_of(job.row)};
}

std::optional<Lease> TaskTable::lease(const std::string& worker, const std::string& name, Time now,
                                      const std::string& problem, const Abilities& can) {
  queue_.age(now);
  const auto started =
      queue_.start_with(problem, [&](const std::string& pool, const std::string& kind) {
        return can.cover(pool, Retries::kind_in(kind)) && Retries::may_take(kind, worker);
      });
  if (!started) return std::nullopt;
  Job& job = jobs_.at(of_queue_.at(*started));
  job.row.worker = worker;
  set_state(job, JobState::kLeased);
  if (const auto is_elsewhere = retries_.begin(job.row.id, worker))
    ++(*is_elsewhere ? counts_.retried_elsewhere : counts_.retried_there);
  ++job.row.epoch;
  job.row.lease = name;
  if (!name.empty()) by_lease_[name] = job.row.id;
  job.lease_begin = now;
  job.lease_end = now + options_.lease;
  lease_ends_.emplace(job.lease_end, job.row.id);
  return Lease{job.row.id, job.row.epoch, text_of(job.row)};
}

Result<TaskTable::Job*> TaskTable::held(JobId id, std::int64_t epoch) {
  auto found = jobs_.find(id);
  if (found == jobs_.end()) return unknown_task(id);
  Job& job = found->second;
  if (job.row.state == JobState::kLeased && job.row.epoch == epoch) return &job;
  ++counts_.refused_answers;
  return fail(ErrorCode::kAlreadyExists,
              "task {}: the lease with epoch {} is over; the task is {}, its epoch is {}", id,
              epoch, to_string(job.row.state), job.row.epoch);
}

Result<bool> TaskTable::renew(JobId id, std::int64_t epoch, Time now) {
  KW_TRY(Job * job, held(id, epoch));
  lease_ends_.erase({job->lease_end, id});
  job->lease_end = now + options_.lease;
  lease_ends_.emplace(job->lease_end, id);
  hear(job->row.worker, now);
  return !job->is_stopped;
}

Status TaskTable::complete(JobId id, std::int64_t epoch, std::string answer, Time now,
                           AnswerSummary summary) {
  auto found = jobs_.find(id);
  const bool is_repeated = found != jobs_.end() && found->second.row.state == JobState::kDone &&
                           found->second.row.epoch == epoch && found->second.row.answer == answer;
  if (is_repeated) return {};
  KW_TRY(Job * job, held(id, epoch));
  hear(job->row.worker, now);
  activity_.count_answer(job->row.worker);
  const gym::Queue::Cost took = judged(*job, now);
  if (job->is_stopped) {
    end(*job, JobState::kCancelled, std::nullopt, took);
  } else {
    job->summary = std::move(summary);
    end(*job, JobState::kDone, std::move(answer), took);
  }
  return {};
}

Status TaskTable::fail_job(JobId id, std::int64_t epoch, const Error& why, Time now) {
  KW_TRY(Job * job, held(id, epoch));
  ++job->row.failures;
  if (!may_retry(why.code()) || job->row.failures >= kMaxFailures) {
    end(*job, job->is_stopped ? JobState::kCancelled : JobState::kFailed,
        error_answer(why.code(), why.message()));
    return {};
  }
  ++counts_.retries;
  try_again(*job, {}, now);
  return {};
}

Status TaskTable::release(JobId id, std::int64_t epoch) {
  KW_TRY(Job * job, held(id, epoch));
  give_back(*job, {});
  return {};
}

Status TaskTable::lost(JobId id, std::int64_t epoch, Time now) {
  KW_TRY(Job * job, held(id, epoch));
  lose(*job, now);
  return {};
}

void TaskTable::end_lease(Job& job) {
  lease_ends_.erase({job.lease_end, job.row.id});
  job.lease_end = Time::max();
  by_lease_.erase(job.row.lease);
}

void TaskTable::set_state(Job& job, JobState state) {
  const auto count = [&](int change) {
    if (job.row.state == JobState::kWaiting) {
      counts_.waiting += static_cast<std::size_t>(change);
      activity_.count_waiting(job.row.tenant, change);
      count_want(job, change);
    }
    if (job.row.state == JobState::kLeased) {
      counts_.leased += static_cast<std::size_t>(change);
      activity_.count_leased(job.row.tenant, job.row.worker, change);
    }
  };
  count(-1);
  job.row.state = state;
  count(1);
  changed_jobs_.insert(job.row.id);
}

// Counts the time since the lease began as the tenant's.
gym::Queue::Cost TaskTable::judged(const Job& job, Time now) {
  const auto out = std::chrono::duration_cast<gym::Queue::Cost>(now - job.lease_begin);
  judging_.add(job.row.tenant, out, now);
  return out;
}

// cost: what it costs its tenant that the job was begun.
void TaskTable::give_back(Job& job, gym::Queue::Cost cost) {
  end_lease(job);
  const gym::Queue::JobId queued = job.queued;
  if (queue_.give_back(queued, cost)) {
    set_state(job, JobState::kWaiting);
    return;
  }
  set_state(job, JobState::kWaiting);
  end(job, JobState::kCancelled, std::nullopt);
}

void TaskTable::try_again(Job& job, gym::Queue::Cost cost, Time now) {
  give_back(job, cost);
  if (job.row.state == JobState::kWaiting) pause(job, now);
}

// Before the retry of a waiting job.
void TaskTable::pause(Job& job, Time now) {
  retries_.pause(job.row.id, job.row.failures + job.row.lost, job.row.epoch, job.row.worker, now);
  queue_.set_kind(job.queued, retries_.kind_of(job.row.id, job.needs.kind()));
}

void TaskTable::end(Job& job, JobState state, std::optional<std::string> answer,
                    std::optional<gym::Queue::Cost> took) {
  if (job.row.state == JobState::kLeased) {
    end_lease(job);
    for (gym::Queue::TicketId ticket : queue_.finish(job.queued, took))
      ticket_of_queue_.erase(ticket);
  }
  of_queue_.erase(job.queued);
  retries_.forget(job.row.id);
  for (TicketId ticket : job.tickets)
    if (tickets_.at(ticket).row.state == TicketState::kOpen) note_end(tickets_.at(ticket));
  waiting_bytes_ -= text_of(job.row).size();
  let_go_parts(job);
  set_state(job, state);
  switch (state) {
    case JobState::kDone:
      ++counts_.done;
      break;
    case JobState::kFailed:
      ++counts_.failed;
      break;
    case JobState::kDead:
      ++counts_.dead;
      break;
    default:
      ++counts_.cancelled;
      break;
  }
  if (answer) {
    job.row.answer = std::move(answer);
    answered_jobs_.insert(job.row.id);
  }
  job.row.ended = ++ends_;
  retention_.end(job.row.id, open_groups_of(job));
}

std::vector<std::string> TaskTable::open_groups_of(const Job& job) const {
  std::vector<std::string> out;
  for (TicketId ticket : job.tickets) {
    const std::string& group = tickets_.at(ticket).row.group;
    if (!group.empty() && groups_.is_open(group)) out.push_back(group);
  }
  std::ranges::sort(out);
  out.erase(std::ranges::unique(out).begin(), out.end());
  return out;
}

void TaskTable::note_end(const Ticket& ended) {
  const TicketRow& ticket = ended.row;
  ended_.push_back(ticket.id);
  const auto open = open_.find(ticket.owner);
  open->second.bytes -= ended.bytes;
  if (--open->second.tickets == 0) open_.erase(open);
  if (ticket.group.empty()) return;
  groups_.end(ticket.group, ticket.id);
  if (!groups_.is_open(ticket.group)) retention_.close(ticket.group);
}

void TaskTable::lose(Job& job, Time now) {
  ++counts_.lost_workers;
  ++job.row.lost;
  const gym::Queue::Cost took = judged(job, now);
  if (job.is_stopped || job.row.lost < kMaxLost) return try_again(job, took, now);
  end(job, JobState::kDead,
      error_answer(ErrorCode::kInternal,
                   fmt::format("{} workers were lost while they judged task {}, the last one "
                               "being {}: it is not tried again",
                               job.row.lost, job.row.id, job.row.worker)));
}

void TaskTable::expire(Time now) {
  heard_ = std::max(heard_, now);
  while (!lease_ends_.empty() && lease_ends_.begin()->first <= now)
    lose(jobs_.at(lease_ends_.begin()->second), now);
  for (const auto& [queued, gone] : queue_.expire(now))
    leave(tickets_.at(ticket_of_queue_.at(queued)), TicketState::kExpired, gone);
  look_at_retries(now);
  look_at_wants(now);
}

void TaskTable::look_at_retries(Time now) {
  const Time since = now - options_.lease;
  const auto is_there = [&](JobId id, const std::vector<std::string>& none_of) {
    const Needs& needs = jobs_.at(id).needs;
    return activity_.has_worker(since, [&](const std::string& worker) {
      return roster_.can(worker, needs) && std::ranges::find(none_of, worker) == none_of.end();
    });
  };
  for (JobId id : retries_.due(now, is_there)) {
    const Job& job = jobs_.at(id);
    queue_.set_kind(job.queued, retries_.kind_of(id, job.needs.kind()));
  }
}

void TaskTable::count_want(const Job& job, int change) {
  Want& want = wants_[job.needs.text()];
  want.needs = job.needs;
  want.waiting += static_cast<std::size_t>(change);
}

// A worker that is silent for a lease is not here. What nobody can judge fails when it was so for
// long enough, and then at once until somebody comes; without workers everything waits.
void TaskTable::look_at_wants(Time now) {
  const Time since = now - options_.lease;
  std::set<std::string> hopeless;
  for (auto& [text, want] : wants_) {
    if (!roster_.has_anybody(since) || roster_.covers(want.needs, since)) {
      want.unserved_since.reset();
      continue;
    }
    if (!want.unserved_since) want.unserved_since = now;
    const bool is_over =
        options_.unserved.count() > 0 && now - *want.unserved_since >= options_.unserved;
    if (is_over && want.waiting > 0) hopeless.insert(text);
  }
  if (hopeless.empty()) return;
  for (auto& [id, job] : jobs_)
    if (job.row.state == JobState::kWaiting && hopeless.contains(job.needs.text())) refuse(job);
}

void TaskTable::refuse(Job& job) {
  for (TicketId id : job.tickets) {
    const Ticket& ticket = tickets_.at(id);
    if (ticket_of_queue_.erase(ticket.queued) > 0) queue_.cancel(ticket.queued);
  }
  end(job, JobState::kFailed,
      error_answer(
          ErrorCode::kUnsupported,
          fmt::format("it needs {}, and none has been here for {} seconds", worker_for(job.needs),
                      std::chrono::floor<std::chrono::seconds>(options_.unserved).count())));
}

void TaskTable::extend_leases(std::chrono::nanoseconds by) {
  std::set<std::pair<Time, JobId>> later;
  for (const auto& [end, id] : lease_ends_) {
    jobs_.at(id).lease_end = end + by;
    later.emplace(end + by, id);
  }
  lease_ends_ = std::move(later);
}

TaskTable::Time TaskTable::next_deadline() const {
  const Time lease = lease_ends_.empty() ? Time::max() : lease_ends_.begin()->first;
  return std::min({lease, queue_.next_deadline(), retries_.next()});
}

void TaskTable::see_worker(const std::string& worker, Time now, const Abilities& can,
                           const std::string& unfit) {
  activity_.see_worker(worker, now);
  activity_.note_fitness(worker, unfit);
  if (unfit.empty()) roster_.see(worker, can, now);
}

void TaskTable::hear(const std::string& worker, Time now) {
  activity_.see_worker(worker, now);
  roster_.see(worker, now);
}

}  // namespace kw::service
