// NaiveQueue: the order of gym/queue/queue.h without an index, for comparison. It looks at every
// job at each step.
#pragma once
#include <algorithm>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "gym/queue/queue.h"

namespace kw::gym {

// Jobs and tickets get the same numbers as in Queue. Deadlines are not looked at.
class NaiveQueue {
 public:
  using JobId = Queue::JobId;
  using TicketId = Queue::TicketId;

  Queue::Accepted submit(const Queue::Wish& wish) {
    Queue::Accepted out{.ticket = next_++};
    auto found = std::ranges::find_if(jobs_, [&](const auto& row) {
      return row.second.key == wish.key && !row.second.is_stopped;
    });
    if (found == jobs_.end()) {
      out.job = next_++;
      out.is_new = true;
      begin_waiting(wish.tenant);
      jobs_[out.job] = {.key = wish.key, .tenant = wish.tenant, .affinity = wish.affinity};
      jobs_[out.job].ages_at = wish.ages_at;
      tenants_.at(wish.tenant).weight = std::max(wish.weight, 1);
    } else {
      out.job = found->first;
    }
    jobs_.at(out.job).tickets[out.ticket] = wish.priority;
    return out;
  }

  Queue::Gone cancel(TicketId ticket) {
    for (auto& [id, job] : jobs_) {
      if (job.tickets.erase(ticket) == 0) continue;
      if (!job.tickets.empty()) return {};
      if (job.is_running) {
        job.is_stopped = true;
        return {.stop = id};
      }
      end_waiting(job.tenant);
      const JobId dropped = id;
      jobs_.erase(dropped);
      return {.dropped = dropped};
    }
    return {};
  }

  std::optional<JobId> start(const std::function<bool(JobId)>& is_preferred) {
    using Place = std::tuple<int, std::uint64_t, bool, bool, JobId>;
    std::optional<Place> best;
    for (const auto& [id, job] : jobs_) {
      if (job.is_running) continue;
      const bool is_late = job.overtaken >= Queue::kMaxOvertaken;
      const bool is_first = is_late || (is_preferred && is_preferred(id));
      const Place place{-priority(job), tenants_.at(job.tenant).used(), !is_late, !is_first, id};
      best = std::min(best.value_or(place), place);
    }
    if (!best) return std::nullopt;
    const JobId chosen = std::get<4>(*best);
    Job& job = jobs_.at(chosen);
    for (auto& [id, other] : jobs_)
      if (id < chosen && !other.is_running && other.tenant == job.tenant &&
          priority(other) == priority(job))
        ++other.overtaken;
    job.is_running = true;
    Tenant& tenant = tenants_.at(job.tenant);
    job.share = tenant.share_of(estimates_.of(job.affinity));
    tenant.under_way += job.share;
    end_waiting(job.tenant);
    return chosen;
  }
  void age(Queue::Time now) {
    for (auto& [id, job] : jobs_) job.has_aged |= !job.is_running && job.ages_at <= now;
  }
  std::optional<JobId> start_with(const std::string& affinity) {
    return start([&](JobId id) { return !affinity.empty() && jobs_.at(id).affinity == affinity; });
  }

  bool give_back(JobId id, std::optional<Queue::Cost> cost) {
    Job& job = jobs_.at(id);
    settle(job, cost);
    if (job.is_stopped) {
      jobs_.erase(id);
      return false;
    }
    job.is_running = false;
    begin_waiting(job.tenant);
    return true;
  }

  std::vector<TicketId> finish(JobId id, std::optional<Queue::Cost> took) {
    if (took) estimates_.add(jobs_.at(id).affinity, *took);
    settle(jobs_.at(id), took);
    std::vector<TicketId> out;
    for (const auto& [ticket, priority] : jobs_.at(id).tickets) out.push_back(ticket);
    jobs_.erase(id);
    return out;
  }

  std::size_t waiting() const {
    return static_cast<std::size_t>(
        std::ranges::count_if(jobs_, [](const auto& row) { return !row.second.is_running; }));
  }

  std::size_t position(JobId id) const {
    const int mine = priority(jobs_.at(id));
    return static_cast<std::size_t>(std::ranges::count_if(jobs_, [&](const auto& row) {
      if (row.second.is_running) return false;
      const int theirs = priority(row.second);
      return theirs > mine || (theirs == mine && row.first < id);
    }));
  }

 private:
  struct Job {
    std::string key, tenant, affinity;
    bool is_running = false, is_stopped = false, has_aged = false;
    int overtaken = 0;
    Queue::Time ages_at = Queue::Time::max();
    std::uint64_t share = 0;
    std::map<TicketId, int> tickets = {};  // with their priorities
  };
  struct Tenant {
    std::uint64_t had = 0, under_way = 0;
    int weight = 1;
    std::size_t waiting = 0;

    std::uint64_t used() const { return had + under_way; }
    std::uint64_t share_of(Queue::Cost cost) const {
      return static_cast<std::uint64_t>(cost.count() / weight);
    }
  };

  static int priority(const Job& job) {
    if (job.has_aged) return INT32_MAX;
    int out = INT32_MIN;
    for (const auto& [ticket, priority] : job.tickets) out = std::max(out, priority);
    return out;
  }
  void begin_waiting(const std::string& tenant) {
    Tenant& mine = tenants_[tenant];
    if (mine.waiting++ > 0) return;
    std::optional<std::uint64_t> least;
    for (const auto& [name, other] : tenants_)
      if (name != tenant && other.waiting > 0)
        least = std::min(least.value_or(UINT64_MAX), other.had);
    virtual_time_ = std::max(virtual_time_, least.value_or(0));
    if (mine.used() < virtual_time_) mine.had = virtual_time_ - mine.under_way;
  }
  bool nobody_waits() const {
    return std::ranges::all_of(tenants_, [](const auto& row) { return row.second.waiting == 0; });
  }
  void settle(const Job& job, std::optional<Queue::Cost> cost) {
    Tenant& tenant = tenants_.at(job.tenant);
    tenant.under_way -= job.share;
    tenant.had += cost ? tenant.share_of(*cost) : job.share;
    const bool has_running = std::ranges::count_if(jobs_, [&](const auto& row) {
                               return row.second.is_running && row.second.tenant == job.tenant;
                             }) > 1;
    if (nobody_waits() && !has_running) virtual_time_ = std::max(virtual_time_, tenant.had);
  }
  void end_waiting(const std::string& tenant) {
    --tenants_.at(tenant).waiting;
    if (!nobody_waits()) return;
    for (const auto& [name, each] : tenants_) virtual_time_ = std::max(virtual_time_, each.had);
  }

  std::uint64_t next_ = 1;
  std::map<JobId, Job> jobs_;
  std::map<std::string, Tenant> tenants_;
  CostEstimates estimates_;
  std::uint64_t virtual_time_ = 0;
};

}  // namespace kw::gym
