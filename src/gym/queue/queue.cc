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
           .affinity = std::move(wish.affinity),
           .kind = std::move(wish.kind),
           .account = {std::move(wish.pool), std::move(wish.tenant)},
           .priority = wish.priority,
           .ages_at = wish.ages_at};
    begin_waiting(out.job, job);
    tenants_.at(job.account).weight = std::max(wish.weight, 1);
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

// Among the tenants that used the least a late job goes first, then a preferred one. Then the
// oldest job's bucket decides: its first job whose affinity no running job has, or the oldest.
std::optional<Queue::JobId> Queue::chosen_in(Level& level, const Preferred& preferred,
                                             const Accepts& accepts) {
  const auto accepted = [&](const Bucket& bucket) {
    return !accepts || accepts(bucket.account.first, bucket.kind);
  };
  const auto used_by = [&](const Bucket& bucket) { return tenants_.at(bucket.account).used; };
  std::optional<Place> first;
  std::optional<JobId> best, apart;
  for (auto row = level.order.begin(); row != level.order.end();) {
    const auto [place_now, bucket] = *row++;
    if (first && place_now.used != first->used) break;
    if (!accepted(*bucket)) continue;
    if (place_now.used != used_by(*bucket)) {  // it comes later
      place(level, *bucket);
      if (row == level.order.end() || bucket->place < row->first)
        row = level.order.find(bucket->place);
      continue;
    }
    if (!first) {
      first = place_now;
      if (!first->has_no_late) return first->first;
      apart = first_apart(*bucket);
    }
    if (!preferred) return apart;
    const std::optional<JobId> found = preferred(*bucket);
    if (found) best = std::min(best.value_or(*found), *found);
  }
  return best ? best : apart;
}

Queue::JobId Queue::first_apart(const Bucket& bucket) const {
  std::optional<JobId> found;
  std::size_t looked_at = 0;
  for (const auto& [affinity, ids] : bucket.by_affinity) {
    if (looked_at++ == kMaxLookedAt) break;
    if (running_.contains({bucket.account.first, affinity})) continue;
    found = std::min(found.value_or(*ids.begin()), *ids.begin());
  }
  return found.value_or(*bucket.rest.begin());
}

std::optional<Queue::JobId> Queue::chosen(const Preferred& preferred, const Accepts& accepts) {
  for (auto& [priority, pools] : levels_) {
    std::optional<JobId> oldest;
    for (auto& [pool, level] : pools) {
      const std::optional<JobId> found = chosen_in(level, preferred, accepts);
      if (found) oldest = std::min(oldest.value_or(*found), *found);
    }
    if (oldest) return oldest;
  }
  return std::nullopt;
}

std::optional<Queue::JobId> Queue::start_chosen(const Preferred& preferred,
                                                const Accepts& accepts) {
  const std::optional<JobId> id = chosen(preferred, accepts);
  if (!id) return std::nullopt;
  Job& job = jobs_.at(*id);
  count_overtaken(*id, job, accepts);
  charge(job);
  end_waiting(*id, job);
  begin_running(job);
  return id;
}

void Queue::begin_running(Job& job) {
  job.is_running = true;
  if (!job.affinity.empty()) ++running_[{job.account.first, job.affinity}];
}

void Queue::end_running(Job& job) {
  job.is_running = false;
  const auto found = running_.find({job.account.first, job.affinity});
  if (found != running_.end() && --found->second == 0) running_.erase(found);
}

void Queue::charge(Job& job) {
  Tenant& tenant = tenants_.at(job.account);
  job.share = tenant.share_of(estimates_.of(job.affinity));
  tenant.used += job.share;
  tenant.under_way += job.share;
  ++tenant.running;
}

// The tenant pays what the job took, and no longer what it was expected to take.
void Queue::settle(Job& job, std::optional<Cost> cost) {
  Tenant& tenant = tenants_.at(job.account);
  Pool& pool = pool_of(job);
  const std::string& name = job.account.second;
  const std::uint64_t took = cost ? tenant.share_of(*cost) : job.share;
  const bool waits = pool.waiting_tenants.erase({tenant.had(), name}) > 0;
  tenant.under_way -= job.share;
  tenant.used = tenant.used - job.share + took;
  --tenant.running;
  job.share = 0;
  if (waits) pool.waiting_tenants.emplace(tenant.had(), name);
  // A place may say that less was used than was, but not more.
  for (const auto& [priority, kind] : tenant.buckets) {
    Level& level = levels_.at(priority).at(job.account.first);
    place(level, level.buckets.at({name, kind}));
  }
  if (tenant.running == 0 && pool.waiting_tenants.empty())
    pool.virtual_time = std::max(pool.virtual_time, tenant.used);
}

// A tenant with nothing in the queue, for whom the virtual time says all.
void Queue::forget_idle(const Account& account) {
  const Tenant& tenant = tenants_.at(account);
  if (tenant.running == 0 && tenant.waiting == 0 &&
      tenant.used <= pools_[account.first].virtual_time)
    tenants_.erase(account);
}

std::optional<Queue::JobId> Queue::start(const std::function<bool(JobId)>& is_preferred) {
  if (!is_preferred) return start_chosen({}, {});
  const auto preferred = [&](const Bucket& bucket) -> std::optional<JobId> {
    for (JobId id : bucket.rest)
      if (is_preferred(id)) return id;
    return std::nullopt;
  };
  return start_chosen(preferred, {});
}

std::optional<Queue::JobId> Queue::start_with(const std::string& affinity, const Accepts& accepts) {
  if (affinity.empty()) return start_chosen({}, accepts);
  const auto preferred = [&](const Bucket& bucket) -> std::optional<JobId> {
    const auto found = bucket.by_affinity.find(affinity);
    if (found == bucket.by_affinity.end()) return std::nullopt;
    return *found->second.begin();
  };
  return start_chosen(preferred, accepts);
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

Queue::Cost Queue::work_of_all(const Level& level) const {
  Cost out{0};
  for (const auto& [name, bucket] : level.buckets)
    out += work_of(bucket, bucket.late.size() + bucket.rest.size());
  return out;
}

// Another tenant begins jobs until it has used as much as this job's tenant will have then. Jobs of
// other pools are judged elsewhere.
std::optional<Queue::Cost> Queue::work_before(JobId id) const {
  if (!estimates_.mean()) return std::nullopt;
  const Job& job = jobs_.at(id);
  Cost out{0};
  for (const auto& [priority, pools] : levels_) {
    if (priority <= job.priority) break;
    const auto found = pools.find(job.account.first);
    if (found != pools.end()) out += work_of_all(found->second);
  }
  const Level& level = levels_.at(job.priority).at(job.account.first);
  const bool is_late = job.overtaken >= kMaxOvertaken;
  Cost own_work{0};
  for (const auto& [name, bucket] : level.buckets) {
    if (bucket.account != job.account) continue;
    own_work += work_of(bucket, is_late ? bucket.late.order_of_key(id)
                                        : bucket.late.size() + bucket.rest.order_of_key(id));
  }
  const Tenant& mine = tenants_.at(job.account);
  const std::uint64_t used_then = mine.used + mine.share_of(own_work);
  for (const auto& [name, bucket] : level.buckets) {
    const Tenant& other = tenants_.at(bucket.account);
    if (bucket.account == job.account || other.used >= used_then) continue;
    const std::uint64_t owed = (used_then - other.used) * static_cast<std::uint64_t>(other.weight);
    out += std::min(work_of(bucket, bucket.late.size() + bucket.rest.size()),
                    Cost(static_cast<Cost::rep>(owed)));
  }
  return out + own_work;
}

// Late jobs need no more counting: each job is counted kMaxOvertaken times at most. A job that the
// starter does not accept is not overtaken.
void Queue::count_overtaken(JobId id, const Job& job, const Accepts& accepts) {
  Level& level = level_of(job);
  std::vector<JobId> late;
  for (auto row = level.buckets.lower_bound({job.account.second, ""});
       row != level.buckets.end() && row->first.first == job.account.second; ++row) {
    const Bucket& bucket = row->second;
    if (accepts && !accepts(job.account.first, bucket.kind)) continue;
    for (JobId other : bucket.rest) {
      if (other >= id) break;
      if (++jobs_.at(other).overtaken >= kMaxOvertaken) late.push_back(other);
    }
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
  end_running(job);
  if (job.is_stopped) {
    forget_idle(job.account);
    jobs_.erase(found);
    return false;
  }
  begin_waiting(id, job);
  return true;
}

std::vector<Queue::TicketId> Queue::finish(JobId id, std::optional<Cost> took) {
  auto found = jobs_.find(id);
  KW_CHECK(found != jobs_.end() && found->second.is_running);
  if (took) estimates_.add(found->second.affinity, *took);
  settle(found->second, took);
  end_running(found->second);
  forget_idle(found->second.account);
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

void Queue::advance(Pool& pool) {
  if (!pool.waiting_tenants.empty())
    pool.virtual_time = std::max(pool.virtual_time, pool.waiting_tenants.begin()->first);
}

// Nobody waits, so nobody had too much: all go on from the same.
void Queue::forgive(const std::string& name) {
  Pool& pool = pools_[name];
  const auto is_of_pool = [&](const auto& row) { return row.first.first == name; };
  for (const auto& row : tenants_)
    if (is_of_pool(row)) pool.virtual_time = std::max(pool.virtual_time, row.second.had());
  std::erase_if(tenants_,
                [&](const auto& row) { return is_of_pool(row) && row.second.running == 0; });
}

// A tenant that comes back, or is new, is not owed the time that it did not ask for.
void Queue::begin_waiting(JobId id, const Job& job) {
  Tenant& mine = tenants_[job.account];
  Pool& pool = pool_of(job);
  if (mine.waiting++ == 0) {
    advance(pool);
    mine.used = std::max(mine.used, pool.virtual_time);
    pool.waiting_tenants.emplace(mine.had(), job.account.second);
  }
  if (job.ages_at != Time::max() && !job.has_aged) ages_.emplace(job.ages_at, id);
  put(id, job);
}

void Queue::end_waiting(JobId id, const Job& job) {
  take(id, job);
  Tenant& mine = tenants_.at(job.account);
  Pool& pool = pool_of(job);
  if (--mine.waiting == 0) pool.waiting_tenants.erase({mine.had(), job.account.second});
  ages_.erase({job.ages_at, id});
  if (pool.waiting_tenants.empty()) forgive(job.account.first);
}

void Queue::put(JobId id, const Job& job) {
  waiting_.insert({-job.priority, id});
  Level& level = levels_[job.priority][job.account.first];
  Bucket& bucket = level.buckets[bucket_of(job)];
  bucket.account = job.account;
  bucket.kind = job.kind;
  tenants_.at(job.account).buckets.emplace(job.priority, job.kind);
  if (job.overtaken >= kMaxOvertaken) {
    bucket.late.insert(id);
  } else {
    bucket.rest.insert(id);
    bucket.by_affinity[job.affinity].insert(id);
  }
  place(level, bucket);
}

void Queue::take(JobId id, const Job& job) {
  waiting_.erase({-job.priority, id});
  const auto pools = levels_.find(job.priority);
  const auto in_pool = pools->second.find(job.account.first);
  Level& level = in_pool->second;
  Bucket& bucket = level.buckets.at(bucket_of(job));
  bucket.late.erase(id);
  bucket.rest.erase(id);
  if (auto found = bucket.by_affinity.find(job.affinity); found != bucket.by_affinity.end()) {
    found->second.erase(id);
    if (found->second.empty()) bucket.by_affinity.erase(found);
  }
  if (!bucket.late.empty() || !bucket.rest.empty()) return place(level, bucket);
  level.order.erase(bucket.place);
  level.buckets.erase(bucket_of(job));
  tenants_.at(job.account).buckets.erase({job.priority, job.kind});
  if (level.buckets.empty()) pools->second.erase(in_pool);
  if (pools->second.empty()) levels_.erase(pools);
}

void Queue::place(Level& level, Bucket& bucket) {
  if (auto found = level.order.find(bucket.place);
      found != level.order.end() && found->second == &bucket)
    level.order.erase(found);
  bucket.place = {tenants_.at(bucket.account).used, bucket.late.empty(),
                  bucket.late.empty() ? *bucket.rest.begin() : *bucket.late.begin()};
  level.order.emplace(bucket.place, &bucket);
}

void Queue::set_priority(JobId id, Job& job, int priority) {
  if (job.priority == priority || job.has_aged) return;
  if (!job.is_running) take(id, job);
  job.priority = priority;
  if (!job.is_running) put(id, job);
}

void Queue::set_kind(JobId id, const std::string& kind) {
  Job& job = jobs_.at(id);
  if (job.kind == kind) return;
  if (!job.is_running) take(id, job);
  job.kind = kind;
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
