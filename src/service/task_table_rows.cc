// Between the table and its stored form: restoring rows, and the changes to be stored.
#include <algorithm>
#include <utility>

#include "base/check.h"
#include "service/task_table.h"
#include "service/work.h"

namespace kw::service {
namespace {

// Tells what a row needs that a program before schema 5 has written.
std::string needs_of_request(const JobRow& row) {
  const auto request = parse_json(row.request.value_or(""));
  if (!request) return {};
  const auto asked = asked_work_from_json(*request, "request");
  return asked ? needs_of(asked->work).text() : std::string();
}

}  // namespace

void TaskTable::restore(const Rows& rows, Time now) {
  for (const ProblemRow& row : rows.problems) shelf_.restore(row.hash, row.text);
  for (const JobRow& row : rows.jobs) {
    Job& job = jobs_[row.id];
    job.row = row;
    if (row.needs.empty() && !service::is_final(row.state)) job.row.needs = needs_of_request(row);
    job.needs = needs_of_text(job.row.needs);
    if (service::is_final(row.state)) continue;
    job.baseline = baseline_in(row.request.value_or(""));
    hold_parts(job);
  }
  for (const TicketRow& row : rows.tickets) {
    tickets_[row.id].row = row;
    jobs_.at(row.job).tickets.push_back(row.id);
    if (!row.submission.empty()) by_submission_[row.submission] = row.id;
  }
  restore_queue(now);
  for (auto& [id, ticket] : tickets_) restore_ticket(ticket);
  restore_finished();
}

// A job stands in line since its last group has ended.
void TaskTable::restore_finished() {
  std::unordered_map<std::string, std::uint64_t> last_ends;  // of groups
  for (const auto& [id, ticket] : tickets_) {
    std::uint64_t& last = last_ends[ticket.row.group];
    last = std::max(last, jobs_.at(ticket.row.job).row.ended);
  }
  std::vector<std::pair<std::uint64_t, JobId>> line;
  for (const auto& [id, job] : jobs_) {
    if (!service::is_final(job.row.state)) continue;
    ends_ = std::max(ends_, job.row.ended);
    std::uint64_t since = job.row.ended;
    for (TicketId ticket : job.tickets) {
      const std::string& group = tickets_.at(ticket).row.group;
      if (!group.empty()) since = std::max(since, last_ends.at(group));
    }
    line.emplace_back(since, id);
  }
  std::ranges::sort(line, {}, [&](const auto& each) {
    return std::pair(each.first, jobs_.at(each.second).row.ended);
  });
  for (const auto& [since, id] : line) retention_.end(id, open_groups_of(jobs_.at(id)));
}

// The leased jobs enter the queue first: while there are no others, start() can only begin these.
void TaskTable::restore_queue(Time now) {
  for (const JobState state : {JobState::kLeased, JobState::kWaiting}) {
    for (auto& [id, job] : jobs_) {
      if (job.row.state != state) continue;
      for (TicketId ticket : job.tickets)
        if (tickets_.at(ticket).row.state == TicketState::kOpen)
          job.queued = enter(job.row, {}, tickets_.at(ticket), now).job;
      if (job.queued == 0) {  // its worker was to stop
        job.row.state = JobState::kCancelled;
        let_go_parts(job);
        changed_jobs_.insert(id);
        continue;
      }
      of_queue_[job.queued] = id;
      waiting_bytes_ += text_of(job.row).size();
      if (state == JobState::kWaiting) {
        ++counts_.waiting;
        activity_.count_waiting(job.row.tenant, 1);
        count_want(job, 1);
        note_uncompiled(job, 0);
        if (job.row.failures + job.row.lost > 0) pause(job, now);
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
}

void TaskTable::restore_ticket(Ticket& ticket) {
  if (!is_final(ticket.row.id)) {
    ticket.bytes = text_of(jobs_.at(ticket.row.job).row).size();
    Open& open = open_[ticket.row.owner];
    ++open.tickets;
    open.bytes += ticket.bytes;
  }
  if (ticket.row.group.empty()) return;
  groups_.begin(ticket.row.group, ticket.row.id);
  if (is_final(ticket.row.id)) groups_.end(ticket.row.group, ticket.row.id);
}

void TaskTable::forget(JobId id) {
  for (TicketId ticket : jobs_.at(id).tickets) {
    const std::string group = tickets_.at(ticket).row.group;
    by_submission_.erase(tickets_.at(ticket).row.submission);
    tickets_.erase(ticket);
    changed_tickets_.erase(ticket);
    if (!group.empty())
      groups_.forget_one(group, [this](TicketId of) { return tickets_.contains(of); });
  }
  jobs_.erase(id);
  new_jobs_.erase(id);
  changed_jobs_.erase(id);
  answered_jobs_.erase(id);
  forgotten_.push_back(id);
}

Changes TaskTable::take_changes() {
  while (const auto job = retention_.take_excess(options_.kept)) forget(*job);
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
