#include "service/task_table.h"

#include <algorithm>
#include <string_view>
#include <unordered_set>

#include "base/check.h"
#include "base/json.h"
#include "base/text.h"

namespace kw::service {
namespace {

std::string error_answer(ErrorCode code, const std::string& message) {
  return Json{{"error", {{"code", to_string(code)}, {"message", message}}}}.dump(
      -1, ' ', false, Json::error_handler_t::replace);
}

// The request of a job that is not final, which has it.
const std::string& text_of(const JobRow& job) {
  KW_CHECK(job.request.has_value());
  return *job.request;
}

std::string_view state_of(const TicketRow& ticket, const JobRow& job) {
  if (ticket.state == TicketState::kOpen) return to_string(job.state);
  return ticket.state == TicketState::kExpired ? "expired" : "cancelled";
}

}  // namespace

TaskTable::TaskTable(TaskOptions options, const Rows& rows, Time now)
    : options_(options), shelf_(options.problems), next_(rows.next_id), heard_(now) {
  restore(rows, now);
}

gym::Queue::Accepted TaskTable::enter(const JobRow& job, const Submission& submission,
                                      Ticket& ticket, Time now) {
  gym::Queue::Wish wish{.key = job.key, .tenant = job.tenant, .affinity = job.problem};
  wish.priority = ticket.row.priority;
  wish.weight = submission.weight;
  if (ticket.row.timeout_ms > 0)
    wish.deadline = now + std::chrono::milliseconds(ticket.row.timeout_ms);
  wish.ages_at = now + options_.ageing;
  const gym::Queue::Accepted out = queue_.submit(std::move(wish));
  ticket.queued = out.ticket;
  ticket_of_queue_[out.ticket] = ticket.row.id;
  return out;
}

// The leased jobs enter the queue first: while there are no others, start() can only begin these.
void TaskTable::restore(const Rows& rows, Time now) {
  for (const ProblemRow& row : rows.problems) shelf_.restore(row.hash, row.text);
  for (const JobRow& row : rows.jobs) {
    jobs_[row.id].row = row;
    if (!row.problem.empty() && !service::is_final(row.state)) shelf_.hold(row.problem);
  }
  for (const TicketRow& row : rows.tickets) {
    tickets_[row.id].row = row;
    jobs_.at(row.job).tickets.push_back(row.id);
    if (!row.submission.empty()) by_submission_[row.submission] = row.id;
  }
  for (const JobState state : {JobState::kLeased, JobState::kWaiting}) {
    for (auto& [id, job] : jobs_) {
      if (job.row.state != state) continue;
      for (TicketId ticket : job.tickets)
        if (tickets_.at(ticket).row.state == TicketState::kOpen)
          job.queued = enter(job.row, {}, tickets_.at(ticket), now).job;
      if (job.queued == 0) {  // its worker was to stop
        job.row.state = JobState::kCancelled;
        if (!job.row.problem.empty()) shelf_.let_go(job.row.problem);
        changed_jobs_.insert(id);
        continue;
      }
      of_queue_[job.queued] = id;
      waiting_bytes_ += text_of(job.row).size();
      if (state == JobState::kWaiting) {
        ++counts_.waiting;
        activity_.count_waiting(job.row.tenant, 1);
        continue;
      }
      KW_CHECK(queue_.start({}).has_value());
      ++counts_.leased;
      activity_.count_leased(job.row.tenant, job.row.worker, 1);
      job.lease_begin = now;
      job.lease_end = now + options_.lease;
      lease_ends_.emplace(job.lease_end, id);
      if (!job.row.lease.empty()) by_lease_[job.row.lease] = id;
    }
  }
  for (auto& [id, job] : jobs_) {
    if (!service::is_final(job.row.state)) continue;
    ends_ = std::max(ends_, job.row.ended);
    finished_.push_back(id);
  }
  std::ranges::stable_sort(finished_, {}, [&](JobId id) { return jobs_.at(id).row.ended; });
  for (auto& [id, ticket] : tickets_) {
    if (!is_final(id)) {
      ticket.bytes = text_of(jobs_.at(ticket.row.job).row).size();
      Open& open = open_[ticket.row.owner];
      ++open.tickets;
      open.bytes += ticket.bytes;
    }
    if (ticket.row.group.empty()) continue;
    Group& group = groups_[ticket.row.group];
    ++group.known;
    group.newest = id;
    if (is_final(id)) {
      group.ended.push_back(id);
    } else {
      ++group.open;
    }
  }
}

void TaskTable::note_end(const Ticket& ended) {
  const TicketRow& ticket = ended.row;
  ended_.push_back(ticket.id);
  const auto open = open_.find(ticket.owner);
  open->second.bytes -= ended.bytes;
  if (--open->second.tickets == 0) open_.erase(open);
  if (ticket.group.empty()) return;
  Group& group = groups_.at(ticket.group);
  --group.open;
  group.ended.push_back(ticket.id);
}

std::vector<TicketId> TaskTable::take_ended(Time now) {
  for (TicketId id : ended_) {
    const auto found = tickets_.find(id);
    if (found == tickets_.end()) continue;
    const TicketRow& ticket = found->second.row;
    const Job& job = jobs_.at(ticket.job);
    activity_.note_end(
        {.id = id,
         .state = std::string(state_of(ticket, job.row)),
         .answer = ticket.state == TicketState::kOpen ? job.summary : AnswerSummary{},
         .owner = ticket.owner,
         .group = ticket.group,
         .worker = job.row.worker,
         .at = now});
  }
  return std::exchange(ended_, {});
}

std::string TaskTable::group_of(TicketId ticket) const {
  auto found = tickets_.find(ticket);
  return found == tickets_.end() ? "" : found->second.row.group;
}

std::optional<TaskTable::Newest> TaskTable::newest_of(const std::string& group) const {
  const auto found = groups_.find(group);
  if (found == groups_.end()) return std::nullopt;
  const auto ticket = tickets_.find(found->second.newest);
  if (ticket == tickets_.end()) return std::nullopt;
  return Newest{.ticket = ticket->first,
                .key = jobs_.at(ticket->second.row.job).row.key,
                .status = status(ticket->first).value()};
}

Result<GroupStatus> TaskTable::group(const std::string& name, std::size_t after,
                                     std::size_t most) const {
  auto found = groups_.find(name);
  if (found == groups_.end())
    return fail(ErrorCode::kNotFound, "no group \"{}\": it never was, or it is forgotten",
                printable(name, 200));
  const Group& group = found->second;
  const std::size_t end = group.dropped + group.ended.size();
  GroupStatus out{.open = group.open, .in_all = end, .next = std::clamp(after, group.dropped, end)};
  while (out.next < end && out.ended.size() < most) {
    const TicketId ticket = group.ended[out.next++ - group.dropped];
    if (auto one = status(ticket)) out.ended.emplace_back(ticket, std::move(*one));
  }
  return out;
}

std::optional<NoRoom> TaskTable::over_quota(const Submission& of, std::size_t tickets,
                                            std::size_t bytes, Time now) const {
  const auto found = open_.find(of.owner);
  const Open open = found == open_.end() ? Open{} : found->second;
  const std::string owner = printable(of.owner, 200);
  if (of.most_open > 0 && open.tickets + tickets > of.most_open)
    return NoRoom{
        .why = fmt::format("{} tasks of {} are under way, and it may have {}: try again later",
                           open.tickets, owner, of.most_open),
        .after = retry_after(pace(), open.tickets + tickets - of.most_open, share_of(of.owner))};
  if (of.most_bytes > 0 && open.bytes + bytes > of.most_bytes)
    return NoRoom{
        .why = fmt::format("requests of {} under way have {} bytes with these, and it may have {}: "
                           "try again later",
                           owner, open.bytes + bytes, of.most_bytes),
        .after = retry_after(pace(),
                             tasks_of_bytes(open.bytes + bytes - of.most_bytes, open.bytes + bytes,
                                            open.tickets + tickets),
                             share_of(of.owner))};
  const auto judged =
      std::chrono::floor<std::chrono::seconds>(judging_.in_last_hour(of.owner, now));
  if (of.most_seconds > 0 && judged.count() >= of.most_seconds)
    return NoRoom{
        .why = fmt::format("tasks of {} were judged for {} seconds in the last hour, and it may "
                           "have {}: try again later",
                           owner, judged.count(), of.most_seconds),
        .after = judging_.until_below(of.owner, std::chrono::seconds(of.most_seconds), now)};
  return std::nullopt;
}

std::optional<NoRoom> TaskTable::lacks_room(const std::vector<Submission>& submissions,
                                            Time now) const {
  std::size_t bytes = waiting_bytes_ + shelf_.held_bytes(), fresh = 0, requested = 0;
  for (const Submission& each : submissions) {
    if (!each.submission.empty() && by_submission_.contains(each.submission)) continue;
    bytes += each.request.size();
    requested += each.request.size();
    if (!shelf_.contains(each.problem)) bytes += each.problem_text.size();
    ++fresh;
  }
  if (fresh == 0) return std::nullopt;
  if (auto over = over_quota(submissions.front(), fresh, requested, now)) return over;
  if (counts_.waiting + fresh <= options_.most_waiting && bytes <= options_.most_waiting_bytes)
    return std::nullopt;
  const std::size_t with_these = counts_.waiting + fresh;
  std::size_t tasks = with_these > options_.most_waiting ? with_these - options_.most_waiting : 1;
  if (bytes > options_.most_waiting_bytes)
    tasks = std::max(tasks, tasks_of_bytes(bytes - options_.most_waiting_bytes, bytes, with_these));
  return NoRoom{.why = fmt::format("{} tasks wait already, {} bytes with these: try again later",
                                   counts_.waiting, bytes),
                .after = retry_after(pace(), tasks)};
}

Status TaskTable::knows_problems(const std::vector<Submission>& submissions) const {
  std::unordered_set<std::string_view> whole;
  for (std::size_t i = 0; i < submissions.size(); ++i) {
    const Submission& each = submissions[i];
    if (!each.problem_text.empty()) whole.insert(each.problem);
    if (each.problem.empty() || whole.contains(each.problem) || shelf_.contains(each.problem))
      continue;
    if (!each.submission.empty() && by_submission_.contains(each.submission)) continue;
    return fail(ErrorCode::kNotFound,
                "tasks[{}].request.problem: no problem {} here: send it whole, or first to POST "
                "/v1/problems",
                i, printable(each.problem, 80));
  }
  return {};
}

void TaskTable::put_problem(const std::string& hash, std::string text) {
  shelf_.put(hash, std::move(text));
}

Result<std::string> TaskTable::problem(const std::string& hash) {
  if (const std::string* text = shelf_.find(hash)) return *text;
  return fail(ErrorCode::kNotFound, "no problem {}: it never was, or it is forgotten",
              printable(hash, 80));
}

bool TaskTable::is_of(TicketId ticket, const std::string& tenant) const {
  auto found = tickets_.find(ticket);
  return tenant.empty() || found == tickets_.end() || found->second.row.owner == tenant;
}

bool TaskTable::is_final(TicketId id) const {
  auto found = tickets_.find(id);
  return found == tickets_.end() || found->second.row.state != TicketState::kOpen ||
         service::is_final(jobs_.at(found->second.row.job).row.state);
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
  if (!submission.group.empty()) {
    Group& group = groups_[submission.group];
    ++group.open;
    ++group.known;
    group.newest = id;
  }
  Job fresh;
  fresh.row.key = std::move(submission.key);
  fresh.row.tenant = std::move(submission.tenant);
  fresh.row.problem = std::move(submission.problem);
  const gym::Queue::Accepted accepted = enter(fresh.row, submission, ticket, now);
  JobId& job_id = of_queue_[accepted.job];
  if (accepted.is_new) {
    job_id = next_++;
    fresh.queued = accepted.job;
    fresh.row.id = job_id;
    fresh.row.request = std::move(submission.request);
    if (!submission.problem_text.empty())
      shelf_.put(fresh.row.problem, std::move(submission.problem_text));
    if (!fresh.row.problem.empty()) shelf_.hold(fresh.row.problem);
    waiting_bytes_ += fresh.row.request->size();
    ++counts_.waiting;
    activity_.count_waiting(fresh.row.tenant, 1);
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

Result<TaskStatus> TaskTable::status(TicketId id) const {
  auto found = tickets_.find(id);
  if (found == tickets_.end()) return unknown_task(id);
  const Job& job = jobs_.at(found->second.row.job);
  TaskStatus out;
  out.state = state_of(found->second.row, job.row);
  if (found->second.row.state != TicketState::kOpen) {
    out.is_final = true;
    return out;
  }
  out.attempts = static_cast<int>(job.row.epoch);
  out.is_final = service::is_final(job.row.state);
  if (out.is_final) out.answer = job.row.answer.value_or("");
  if (job.row.state != JobState::kWaiting) return out;
  out.position = queue_.position(job.queued);
  const std::optional<Pace> measured = pace();
  const auto work = queue_.work_before(job.queued);
  if (measured && work) out.estimated_start_seconds = measured->seconds_until_start(*work);
  return out;
}

std::optional<Pace> TaskTable::pace() const {
  const auto task = queue_.expected();
  const std::size_t slots = activity_.slots(heard_ - options_.lease);
  if (!task || slots == 0) return std::nullopt;
  return Pace{.task = *task, .slots = slots};
}

// The part of the leases that a tenant has.
double TaskTable::share_of(const std::string& tenant) const {
  const auto found = activity_.tenants().find(tenant);
  const std::size_t mine = found == activity_.tenants().end() ? 0 : found->second.leased;
  return static_cast<double>(std::max<std::size_t>(mine, 1)) /
         static_cast<double>(std::max<std::size_t>(counts_.leased, 1));
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
                                      const std::string& problem) {
  queue_.age(now);
  const auto started = queue_.start_with(problem);
  if (!started) return std::nullopt;
  Job& job = jobs_.at(of_queue_.at(*started));
  job.row.worker = worker;
  set_state(job, JobState::kLeased);
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
  activity_.see_worker(job->row.worker, now);
  return !job->is_stopped;
}

Status TaskTable::complete(JobId id, std::int64_t epoch, std::string answer, Time now,
                           AnswerSummary summary) {
  auto found = jobs_.find(id);
  const bool is_repeated = found != jobs_.end() && found->second.row.state == JobState::kDone &&
                           found->second.row.epoch == epoch && found->second.row.answer == answer;
  if (is_repeated) return {};
  KW_TRY(Job * job, held(id, epoch));
  activity_.see_worker(job->row.worker, now);
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

Status TaskTable::fail_job(JobId id, std::int64_t epoch, const Error& why) {
  KW_TRY(Job * job, held(id, epoch));
  ++job->row.failures;
  if (!may_retry(why.code()) || job->row.failures >= kMaxFailures) {
    end(*job, job->is_stopped ? JobState::kCancelled : JobState::kFailed,
        error_answer(why.code(), why.message()));
    return {};
  }
  ++counts_.retries;
  give_back(*job, {});
  return {};
}

Status TaskTable::release(JobId id, std::int64_t epoch) {
  KW_TRY(Job * job, held(id, epoch));
  give_back(*job, {});
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

void TaskTable::end(Job& job, JobState state, std::optional<std::string> answer,
                    std::optional<gym::Queue::Cost> took) {
  if (job.row.state == JobState::kLeased) {
    end_lease(job);
    for (gym::Queue::TicketId ticket : queue_.finish(job.queued, took))
      ticket_of_queue_.erase(ticket);
  }
  of_queue_.erase(job.queued);
  for (TicketId ticket : job.tickets)
    if (tickets_.at(ticket).row.state == TicketState::kOpen) note_end(tickets_.at(ticket));
  waiting_bytes_ -= text_of(job.row).size();
  if (!job.row.problem.empty()) shelf_.let_go(job.row.problem);
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
  finished_.push_back(job.row.id);
}

void TaskTable::lose(Job& job, Time now) {
  ++counts_.lost_workers;
  ++job.row.lost;
  const gym::Queue::Cost took = judged(job, now);
  if (job.is_stopped || job.row.lost < kMaxLost) return give_back(job, took);
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
  return std::min(lease, queue_.next_deadline());
}

QueueView TaskTable::view() const {
  QueueView out;
  for (const auto& [name, share] : activity_.tenants())
    out.tenants.push_back({name, share.waiting, share.leased, judging_.seconds_of(name)});
  out.workers = activity_.busy_workers();
  out.judged_seconds = judging_.seconds();
  return out;
}

Overview TaskTable::overview(const std::string& tenant, std::uint64_t after, Time now) const {
  Overview out = activity_.look(tenant, after, now);
  for (TaskShare& each : out.tenants) each.judged_seconds = judging_.seconds_of(each.name);
  if (tenant.empty()) out.judged_seconds = judging_.all_seconds();
  return out;
}

void TaskTable::see_worker(const std::string& worker, Time now) {
  activity_.see_worker(worker, now);
}

Result<TaskTable::KeptRequest> TaskTable::request_of(TicketId id) const {
  auto found = tickets_.find(id);
  if (found == tickets_.end()) return unknown_task(id);
  const JobRow& job = jobs_.at(found->second.row.job).row;
  return KeptRequest{.job = job.id, .text = job.request};
}

void TaskTable::forget_in(const std::string& name) {
  auto found = groups_.find(name);
  Group& group = found->second;
  if (--group.known == 0) {
    groups_.erase(found);
    return;
  }
  for (; !group.ended.empty() && !tickets_.contains(group.ended.front()); ++group.dropped)
    group.ended.pop_front();
}

void TaskTable::forget_oldest() {
  const JobId id = finished_.front();
  finished_.pop_front();
  for (TicketId ticket : jobs_.at(id).tickets) {
    const std::string group = tickets_.at(ticket).row.group;
    by_submission_.erase(tickets_.at(ticket).row.submission);
    tickets_.erase(ticket);
    changed_tickets_.erase(ticket);
    if (!group.empty()) forget_in(group);
  }
  jobs_.erase(id);
  new_jobs_.erase(id);
  changed_jobs_.erase(id);
  answered_jobs_.erase(id);
  forgotten_.push_back(id);
}

Changes TaskTable::take_changes() {
  while (finished_.size() > options_.kept) forget_oldest();
  Changes out;
  changed_jobs_.insert(new_jobs_.begin(), new_jobs_.end());
  for (JobId id : changed_jobs_) {
    JobRow row = jobs_.at(id).row;
    if (!new_jobs_.contains(id)) row.request.reset();
    if (!answered_jobs_.contains(id)) row.answer.reset();
    if (service::is_final(row.state)) jobs_.at(id).row.request.reset();  // nobody judges it again
    out.jobs.push_back(std::move(row));
  }
  for (TicketId id : changed_tickets_) out.tickets.push_back(tickets_.at(id).row);
  out.forgotten = std::exchange(forgotten_, {});
  if (std::exchange(next_changed_, false)) out.next_id = next_;
  ProblemShelf::Changes problems = shelf_.take_changes();
  for (auto& [hash, text] : problems.added) out.problems.push_back({hash, std::move(text)});
  out.forgotten_problems = std::move(problems.forgotten);
  new_jobs_.clear();
  changed_jobs_.clear();
  answered_jobs_.clear();
  changed_tickets_.clear();
  return out;
}

}  // namespace kw::service
