// Callers can ask about these: tickets, groups, and the whole queue.
#include <algorithm>
#include <string_view>
#include <utility>

#include "base/text.h"
#include "service/task_table.h"

namespace kw::service {
namespace {

std::string_view state_of(const TicketRow& ticket, const JobRow& job) {
  if (ticket.state == TicketState::kOpen) return to_string(job.state);
  return ticket.state == TicketState::kExpired ? "expired" : "cancelled";
}

}  // namespace

bool TaskTable::is_of(TicketId ticket, const std::string& tenant) const {
  auto found = tickets_.find(ticket);
  return tenant.empty() || found == tickets_.end() || found->second.row.owner == tenant;
}

bool TaskTable::is_final(TicketId id) const {
  auto found = tickets_.find(id);
  return found == tickets_.end() || found->second.row.state != TicketState::kOpen ||
         service::is_final(jobs_.at(found->second.row.job).row.state);
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
  out.is_for_others = retries_.is_kept_for_others(job.row.id);
  if (const auto until = retries_.pauses_until(job.row.id))
    out.retry_in_seconds = std::chrono::duration<double>(std::max(*until, heard_) - heard_).count();
  if (const auto want = wants_.find(job.needs.text());
      want != wants_.end() && want->second.unserved_since) {
    out.waits_for = worker_for(job.needs);
    return out;
  }
  const std::optional<Pace> measured = pace(job.needs);
  const auto work = queue_.work_before(job.queued);
  if (measured && work)
    out.estimated_start_seconds =
        std::max(measured->seconds_until_start(*work), out.retry_in_seconds.value_or(0));
  return out;
}

Result<TaskTable::KeptRequest> TaskTable::request_of(TicketId id) const {
  auto found = tickets_.find(id);
  if (found == tickets_.end()) return unknown_task(id);
  const JobRow& job = jobs_.at(found->second.row.job).row;
  return KeptRequest{.job = job.id, .text = job.request};
}

std::string TaskTable::group_of(TicketId ticket) const {
  auto found = tickets_.find(ticket);
  return found == tickets_.end() ? "" : found->second.row.group;
}

std::optional<TaskTable::Newest> TaskTable::newest_of(const std::string& group) const {
  const TicketGroups::Group* found = groups_.find(group);
  if (found == nullptr) return std::nullopt;
  const auto ticket = tickets_.find(found->newest);
  if (ticket == tickets_.end()) return std::nullopt;
  return Newest{.ticket = ticket->first,
                .key = jobs_.at(ticket->second.row.job).row.key,
                .status = status(ticket->first).value()};
}

Result<GroupStatus> TaskTable::group(const std::string& name, std::size_t after,
                                     std::size_t most) const {
  const TicketGroups::Group* group = groups_.find(name);
  if (group == nullptr)
    return fail(ErrorCode::kNotFound, "no group \"{}\": it never was, or it is forgotten",
                printable(name, 200));
  const std::size_t end = group->ended_in_all();
  GroupStatus out{
      .open = group->open, .in_all = end, .next = std::clamp(after, group->dropped, end)};
  while (out.next < end && out.ended.size() < most) {
    const TicketId ticket = group->ended[out.next++ - group->dropped];
    if (auto one = status(ticket)) out.ended.emplace_back(ticket, std::move(*one));
  }
  return out;
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

TaskCounts TaskTable::counts() const {
  TaskCounts out = counts_;
  out.pausing = retries_.pausing();
  out.for_others = retries_.kept_for_others();
  return out;
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

}  // namespace kw::service
