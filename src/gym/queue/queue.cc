#include "gym/queue/queue.h"

#include <algorithm>
#include <utility>

#include "base/check.h"

namespace kw::gym {

Queue::Accepted Queue::submit(Wish wish) {
  Accepted out{.ticket = next_++};
  if (auto found = by_key_.find(wish.key); found != by_key_.end()) {
    out.job = found->second;
    Job& job = jobs_.at(out.job);
    set_priority(out.job, job, std::max(job.priority, wish.priority));
  } else {
    out.job = next_++;
    out.is_new = true;
    by_key_[wish.key] = out.job;
    Job& job = jobs_[out.job];
    job = {.key = std::move(wish.key),
           .tenant = std::move(wish.tenant),
           .affinity = std::move(wish.affinity),
           .priority = wish.priority,
           .ages_at = wish.ages_at};
    begin_waiting(out.job, job);
    tenants_.at(job.tenant).weight = std::max(wish.weight, 1);
  }
  jobs_.at(out.job).tickets.push_back(out.ticket);
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
    int priority = tickets_.at(job.tickets.front()).priority;
    for (TicketId left : job.tickets) priority = std::max(priority, tickets_.at(left).priority);
    set_priority(id, job, priority);
    return {};
  }
  forget_key(job, id);  // the next submitter wants a judgement that is not being stopped
  if (job.is_running) {
    job.is_stopped = true;
    return {.stop = id};
  }
  end_waiting(id, job);
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

void Queue::bring_forward(TicketId id, Time deadline) {
  const auto found = tickets_.find(id);
  if (found == tickets_.end() || found->second.deadline <= deadline) return;
  deadlines_.erase({found->second.deadline, id});
  found->second.deadline = deadline;
  deadlines_.emplace(deadline, id);
}

void Queue::age(Time now) {
  while (!ages_.empty() && ages_.begin()->first <= now) {
    const JobId id = ages_.begin()->second;
    Job& job = jobs_.at(id);
    set_priority(id, job, kAged);
    job.has_aged = true;
    ages_.erase(ages_.begin());
  }
}

// Among the tenants that used the least a late job goes first, then a preferred one, then the
// oldest.
std::optional<Queue::JobId> Queue::chosen(const Preferred& preferred) {
  if (levels_.empty()) return std::nullopt;
  Level& level = levels_.begin()->second;
  auto is_current = [&](const auto& row) {
    return row.first.used == tenants_.at(row.second->tenant).used;
  };
  while (!is_current(*level.order.begin())) place(level, *level.order.begin()->second);
  const Place first = level.order.begin()->first;
  if (!first.has_no_late || !preferred) return first.first;
  std::optional<JobId> best;
  for (const auto& row : level.order) {
    if (row.first.used != first.used) break;
    if (!is_current(row)) continue;
    const std::optional<JobId> found = preferred(*row.second);
    if (found) best = std::min(best.value_or(*found), *found);
  }
  return best.value_or(first.first);
}

std::optional<Queue::JobId> Queue::start_chosen(const Preferred& preferred) {
  const std::optional<JobId> id = chosen(preferred);
  if (!id) return std::nullopt;
  Job& job = jobs_.at(*id);
  count_overtaken(*id, job);
  charge(job);
  end_waiting(*id, job);
  job.is_running = true;
  return id;
}

void Queue::charge(Job& job) {
  Tenant& tenant = tenants_.at(job.tenant);
  job.share = tenant.share_of(estimates_.of(job.affinity));
  tenant.used += job.share;
  tenant.under_way += job.share;
  ++tenant.running;
}

// The tenant pays what the job took, and no longer what it was expected to take.
void Queue::settle(Job& job, std::optional<Cost> cost) {
  Tenant& tenant = tenants_.at(job.tenant);
  const std::uint64_t took = cost ? tenant.share_of(*cost) : job.share;
  const bool waits = waiting_tenants_.erase({tenant.had(), job.tenant}) > 0;
  tenant.under_way -= job.share;
  tenant.used = tenant.used - job.share + took;
  --tenant.running;
  job.share = 0;
  if (waits) waiting_tenants_.emplace(tenant.had(), job.tenant);
  // A place may say that less was used than was, but not more.
  for (int priority : tenant.priorities) {
    Level& level = levels_.at(priority);
    place(level, level.buckets.at(job.tenant));
  }
  if (tenant.running == 0 && waiting_tenants_.empty())
    virtual_time_ = std::max(virtual_time_, tenant.used);
}

// A tenant with nothing in the queue, for whom the virtual time says all.
void Queue::forget_idle(const std::string& name) {
  const Tenant& tenant = tenants_.at(name);
  if (tenant.running == 0 && tenant.waiting == 0 && tenant.used <= virtual_time_)
    tenants_.erase(name);
}

std::optional<Queue::JobId> Queue::start(const std::function<bool(JobId)>& is_preferred) {
  if (!is_preferred) return start_chosen({});
  return start_chosen([&](const Bucket& bucket) -> std::optional<JobId> {
    for (JobId id : bucket.rest)
      if (is_preferred(id)) return id;
    return std::nullopt;
  });
}

std::optional<Queue::JobId> Queue::start_with(const std::string& affinity) {
  if (affinity.empty()) return start_chosen({});
  return start_chosen([&](const Bucket& bucket) -> std::optional<JobId> {
    const auto found = bucket.by_affinity.find(affinity);
    if (found == bucket.by_affinity.end()) return std::nullopt;
    return *found->second.begin();
  });
}

std::size_t Queue::position(JobId id) const {
  return waiting_.order_of_key({-jobs_.at(id).priority, id});
}

// The mean over some of its problems, so that the answer costs the same however many there are.
// Problems' names are hashes: the first ones are like the others.
Queue::Cost Queue::work_of(const Bucket& bucket, std::size_t jobs) const {
  constexpr std::size_t kMaxAffinities = 32;
  std::size_t looked_at = 0, count = 0;
  double all = 0;
  for (const auto& [affinity, ids] : bucket.by_affinity) {
    if (looked_at++ == kMaxAffinities) break;
    all += static_cast<double>(ids.size()) * static_cast<double>(estimates_.of(affinity).count());
    count += ids.size();
  }
  const double mean =
      count > 0 ? all / static_cast<double>(count) : static_cast<double>(estimates_.of({}).count());
  return Cost(static_cast<Cost::rep>(mean * static_cast<double>(jobs)));
}

// Another tenant begins jobs until it has used as much as this job's tenant will have then.
std::optional<Queue::Cost> Queue::work_before(JobId id) const {
  if (!estimates_.mean()) return std::nullopt;
  const Job& job = jobs_.at(id);
  Cost out{0};
  auto level = levels_.begin();
  for (; level->first > job.priority; ++level)
    for (const auto& [name, bucket] : level->second.buckets)
      out += work_of(bucket, bucket.late.size() + bucket.rest.size());
  const Bucket& own = level->second.buckets.at(job.tenant);
  const bool is_late = own.late.find(id) != own.late.end();
  const Cost own_work = work_of(
      own, is_late ? own.late.order_of_key(id) : own.late.size() + own.rest.order_of_key(id));
  const Tenant& mine = tenants_.at(job.tenant);
  const std::uint64_t used_then = mine.used + mine.share_of(own_work);
  for (const auto& [name, bucket] : level->second.buckets) {
    const Tenant& other = tenants_.at(name);
    if (&bucket == &own || other.used >= used_then) continue;
    const std::uint64_t owed = (used_then - other.used) * static_cast<std::uint64_t>(other.weight);
    out += std::min(work_of(bucket, bucket.late.size() + bucket.rest.size()),
                    Cost(static_cast<Cost::rep>(owed)));
  }
  return out + own_work;
}

// Late jobs need no more counting: each job is counted kMaxOvertaken times at most.
void Queue::count_overtaken(JobId id, const Job& job) {
  Level& level = levels_.at(job.priority);
  Bucket& bucket = level.buckets.at(job.tenant);
  std::vector<JobId> late;
  for (JobId other : bucket.rest) {
    if (other >= id) break;
    if (++jobs_.at(other).overtaken >= kMaxOvertaken) late.push_back(other);
  }
  for (JobId other : late) {
    take(other, jobs_.at(other));
    put(other, jobs_.at(other));
  }
}

bool Queue::give_back(JobId id, std::optional<Cost> cost) {
  auto found = jobs_.find(id);
  KW_CHECK(found != jobs_.end() && found->second.is_running);
  Job& job = found->second;
  settle(job, cost);
  if (job.is_stopped) {
    forget_idle(job.tenant);
    jobs_.erase(found);
    return false;
  }
  job.is_running = false;
  begin_waiting(id, job);
  return true;
}

std::vector<Queue::TicketId> Queue::finish(JobId id, std::optional<Cost> took) {
  auto found = jobs_.find(id);
  KW_CHECK(found != jobs_.end() && found->second.is_running);
  if (took) estimates_.add(found->second.affinity, *took);
  settle(found->second, took);
  forget_idle(found->second.tenant);
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
    end_waiting(id, job);
    jobs_.erase(id);
  }
  std::ranges::sort(out.tickets);
  return out;
}

std::size_t Queue::waiting() const {
  return waiting_.size();
}

std::size_t Queue::running() const {
  return jobs_.size() - waiting();
}

void Queue::advance() {
  if (!waiting_tenants_.empty())
    virtual_time_ = std::max(virtual_time_, waiting_tenants_.begin()->first);
}

// Nobody waits, so nobody had too much: all go on from the same.
void Queue::forgive() {
  for (const auto& [name, tenant] : tenants_) virtual_time_ = std::max(virtual_time_, tenant.had());
  std::erase_if(tenants_, [](const auto& row) { return row.second.running == 0; });
}

// A tenant that comes back, or is new, is not owed the time that it did not ask for.
void Queue::begin_waiting(JobId id, const Job& job) {
  Tenant& mine = tenants_[job.tenant];
  if (mine.waiting++ == 0) {
    advance();
    mine.used = std::max(mine.used, virtual_time_);
    waiting_tenants_.emplace(mine.had(), job.tenant);
  }
  if (job.ages_at != Time::max() && !job.has_aged) ages_.emplace(job.ages_at, id);
  put(id, job);
}

void Queue::end_waiting(JobId id, const Job& job) {
  take(id, job);
  Tenant& mine = tenants_.at(job.tenant);
  if (--mine.waiting == 0) waiting_tenants_.erase({mine.had(), job.tenant});
  ages_.erase({job.ages_at, id});
  if (waiting_tenants_.empty()) forgive();
}

void Queue::put(JobId id, const Job& job) {
  waiting_.insert({-job.priority, id});
  Level& level = levels_[job.priority];
  Bucket& bucket = level.buckets[job.tenant];
  bucket.tenant = job.tenant;
  tenants_.at(job.tenant).priorities.insert(job.priority);
  if (job.overtaken >= kMaxOvertaken) {
    bucket.late.insert(id);
  } else {
    bucket.rest.insert(id);
    if (!job.affinity.empty()) bucket.by_affinity[job.affinity].insert(id);
  }
  place(level, bucket);
}

void Queue::take(JobId id, const Job& job) {
  waiting_.erase({-job.priority, id});
  Level& level = levels_.at(job.priority);
  Bucket& bucket = level.buckets.at(job.tenant);
  bucket.late.erase(id);
  bucket.rest.erase(id);
  if (auto found = bucket.by_affinity.find(job.affinity); found != bucket.by_affinity.end()) {
    found->second.erase(id);
    if (found->second.empty()) bucket.by_affinity.erase(found);
  }
  if (!bucket.late.empty() || !bucket.rest.empty()) return place(level, bucket);
  level.order.erase(bucket.place);
  level.buckets.erase(job.tenant);
  tenants_.at(job.tenant).priorities.erase(job.priority);
  if (level.buckets.empty()) levels_.erase(job.priority);
}

void Queue::place(Level& level, Bucket& bucket) {
  if (auto found = level.order.find(bucket.place);
      found != level.order.end() && found->second == &bucket)
    level.order.erase(found);
  bucket.place = {tenants_.at(bucket.tenant).used, bucket.late.empty(),
                  bucket.late.empty() ? *bucket.rest.begin() : *bucket.late.begin()};
  level.order.emplace(bucket.place, &bucket);
}

void Queue::set_priority(JobId id, Job& job, int priority) {
  if (job.priority == priority || job.has_aged) return;
  if (!job.is_running) take(id, job);
  job.priority = priority;
  if (!job.is_running) put(id, job);
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
