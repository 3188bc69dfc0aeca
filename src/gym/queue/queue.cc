#include "gym/queue/queue.h"

#include <algorithm>
#include <tuple>
#include <utility>

#include "base/check.h"

namespace kw::gym {

Queue::Accepted Queue::submit(Wish wish) {
  Accepted out{.ticket = next_++};
  if (auto found = by_key_.find(wish.key); found != by_key_.end()) {
    out.job = found->second;
  } else {
    out.job = next_++;
    out.is_new = true;
    by_key_[wish.key] = out.job;
    begin_waiting(wish.tenant);
    jobs_[out.job] = {.key = wish.key, .tenant = std::move(wish.tenant), .priority = wish.priority};
  }
  Job& job = jobs_.at(out.job);
  job.tickets.push_back(out.ticket);
  job.priority = std::max(job.priority, wish.priority);
  tickets_[out.ticket] = {out.job, wish.priority, wish.deadline};
  if (wish.deadline != Time::max()) deadlines_.emplace(wish.deadline, out.ticket);
  return out;
}

Queue::Gone Queue::cancel(TicketId ticket) {
  auto found = tickets_.find(ticket);
  if (found == tickets_.end()) return {};
  const JobId id = found->second.job;
  forget_ticket(found);
  Job& job = jobs_.at(id);
  std::erase(job.tickets, ticket);
  if (!job.tickets.empty()) {
    job.priority = tickets_.at(job.tickets.front()).priority;
    for (TicketId left : job.tickets)
      job.priority = std::max(job.priority, tickets_.at(left).priority);
    return {};
  }
  forget_key(job, id);  // the next submitter wants a judgement that is not being stopped
  if (job.is_running) {
    job.is_stopped = true;
    return {.stop = id};
  }
  end_waiting(job);
  jobs_.erase(id);
  return {.dropped = id};
}

std::vector<Queue::Expired> Queue::expire(Time now) {
  std::vector<Expired> out;
  while (next_deadline() <= now && !deadlines_.empty()) {
    const TicketId ticket = deadlines_.begin()->second;
    out.push_back({ticket, cancel(ticket)});
  }
  return out;
}

Queue::Time Queue::next_deadline() const {
  return deadlines_.empty() ? Time::max() : deadlines_.begin()->first;
}

std::optional<Queue::JobId> Queue::chosen(const std::function<bool(JobId)>& is_preferred) const {
  // Least first: priority from above, the tenant's starts, overtaken too often, preferred, age.
  using Place = std::tuple<int, std::uint64_t, bool, bool, JobId>;
  std::optional<Place> best;
  for (const auto& [id, job] : jobs_) {
    if (job.is_running) continue;
    const std::uint64_t starts = tenants_.at(job.tenant).starts;
    const bool waits_too_long = job.overtaken >= kMaxOvertaken;
    // A job that is known to come later needs no question about its session.
    if (best &&
        std::tuple(-job.priority, starts) > std::tuple(std::get<0>(*best), std::get<1>(*best)))
      continue;
    const bool is_first = waits_too_long || (is_preferred && is_preferred(id));
    const Place place{-job.priority, starts, !waits_too_long, !is_first, id};
    if (!best || place < *best) best = place;
  }
  if (!best) return std::nullopt;
  return std::get<4>(*best);
}

std::optional<Queue::JobId> Queue::start(const std::function<bool(JobId)>& is_preferred) {
  const std::optional<JobId> id = chosen(is_preferred);
  if (!id) return std::nullopt;
  Job& job = jobs_.at(*id);
  for (auto& [other_id, other] : jobs_) {
    const bool is_older = other_id < *id && !other.is_running;
    if (is_older && other.tenant == job.tenant && other.priority == job.priority) ++other.overtaken;
  }
  job.is_running = true;
  ++tenants_.at(job.tenant).starts;
  end_waiting(job);
  return id;
}

bool Queue::give_back(JobId id) {
  auto found = jobs_.find(id);
  KW_CHECK(found != jobs_.end() && found->second.is_running);
  Job& job = found->second;
  if (job.is_stopped) {
    jobs_.erase(found);
    return false;
  }
  job.is_running = false;
  begin_waiting(job.tenant);
  return true;
}

std::vector<Queue::TicketId> Queue::finish(JobId id) {
  auto found = jobs_.find(id);
  KW_CHECK(found != jobs_.end() && found->second.is_running);
  forget_key(found->second, id);
  std::vector<TicketId> out = std::move(found->second.tickets);
  for (TicketId ticket : out) forget_ticket(tickets_.find(ticket));
  jobs_.erase(found);
  return out;
}

Queue::Shutdown Queue::shut_down() {
  Shutdown out;
  for (auto& [id, job] : jobs_) {
    if (job.is_running) {
      job.is_stopped = true;
      forget_key(job, id);
      out.stop.push_back(id);
      continue;
    }
    out.dropped.push_back(id);
    for (TicketId ticket : job.tickets) {
      out.tickets.push_back(ticket);
      forget_ticket(tickets_.find(ticket));
    }
  }
  for (JobId id : out.dropped) {
    Job& job = jobs_.at(id);
    forget_key(job, id);
    end_waiting(job);
    jobs_.erase(id);
  }
  std::ranges::sort(out.tickets);
  return out;
}

std::size_t Queue::waiting() const {
  return static_cast<std::size_t>(
      std::ranges::count_if(jobs_, [](const auto& job) { return !job.second.is_running; }));
}

std::size_t Queue::running() const {
  return jobs_.size() - waiting();
}

// A tenant that comes back, or is new, is not owed the starts that it did not ask for.
void Queue::begin_waiting(const std::string& tenant) {
  Tenant& mine = tenants_[tenant];
  if (mine.waiting++ > 0) return;
  std::optional<std::uint64_t> least;
  for (const auto& [name, other] : tenants_)
    if (name != tenant && other.waiting > 0)
      least = std::min(least.value_or(UINT64_MAX), other.starts);
  if (least) mine.starts = std::max(mine.starts, *least);
}

void Queue::end_waiting(Job& job) {
  --tenants_.at(job.tenant).waiting;
  const bool is_idle =
      std::ranges::all_of(tenants_, [](const auto& each) { return each.second.waiting == 0; });
  if (is_idle) tenants_.clear();
}

void Queue::forget_ticket(std::map<TicketId, Ticket>::iterator ticket) {
  deadlines_.erase({ticket->second.deadline, ticket->first});
  tickets_.erase(ticket);
}

void Queue::forget_key(const Job& job, JobId id) {
  auto found = by_key_.find(job.key);
  if (found != by_key_.end() && found->second == id) by_key_.erase(found);
}

}  // namespace kw::gym
