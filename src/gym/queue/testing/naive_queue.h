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
      const Account account{wish.pool, wish.tenant};
      begin_waiting(account);
      jobs_[out.job] = {.key = wish.key, .affinity = wish.affinity, .kind = wish.kind};
      jobs_[out.job].account = account;
      jobs_[out.job].ages_at = wish.ages_at;
      tenants_.at(account).weight = std::max(wish.weight, 1);
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
      end_waiting(job.account);
      const JobId dropped = id;
      jobs_.erase(dropped);
      return {.dropped = dropped};
    }
    return {};
  }

  std::optional<JobId> start(const std::function<bool(JobId)>& is_preferred,
                             const Queue::Accepts& accepts = {}) {
    using Place = std::tuple<int, std::uint64_t, bool, bool, JobId>;
    std::map<std::string, Place> best;  // by pool
    for (const auto& [id, job] : jobs_) {
      if (job.is_running || !is_accepted(job, accepts)) continue;
      const bool is_first = is_late(job) || (is_preferred && is_preferred(id));
      const Place place{-priority(job), tenants_.at(job.account).used(), !is_late(job), !is_first,
                        id};
      const auto& [row, is_new] = best.emplace(job.account.first, place);
      row->second = std::min(row->second, place);
    }
    std::optional<std::pair<int, JobId>> oldest;
    for (const auto& [pool, place] : best) {
      const bool is_oldest =
          std::get<2>(place) && std::get<3>(place);  // neither late nor preferred
      const JobId first = std::get<4>(place);
      const std::pair each(std::get<0>(place), is_oldest ? first_apart(first) : first);
      oldest = std::min(oldest.value_or(each), each);
    }
    if (!oldest) return std::nullopt;
    const JobId chosen = oldest->second;
    Job& job = jobs_.at(chosen);
    for (auto& [id, other] : jobs_)
      if (id < chosen && !other.is_running && other.account == job.account &&
          priority(other) == priority(job) && is_accepted(other, accepts))
        ++other.overtaken;
    job.is_running = true;
    Tenant& tenant = tenants_.at(job.account);
    job.share = tenant.share_of(estimates_.of(job.affinity));
    tenant.under_way += job.share;
    end_waiting(job.account);
    return chosen;
  }
  void age(Queue::Time now) {
    for (auto& [id, job] : jobs_) job.has_aged |= !job.is_running && job.ages_at <= now;
  }
  std::optional<JobId> start_with(const std::string& affinity, const Queue::Accepts& accepts) {
    return start([&](JobId id) { return !affinity.empty() && jobs_.at(id).affinity == affinity; },
                 accepts);
  }

  bool give_back(JobId id, std::optional<Queue::Cost> cost) {
    Job& job = jobs_.at(id);
    settle(job, cost);
    if (job.is_stopped) {
      jobs_.erase(id);
      return false;
    }
    job.is_running = false;
    begin_waiting(job.account);
    return true;
  }

  void set_kind(JobId id, const std::string& kind) { jobs_.at(id).kind = kind; }

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
  using Account = std::pair<std::string, std::string>;  // pool, tenant

  struct Job {
    std::string key, affinity, kind;
    Account account = {};
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
  bool is_like_running(const Job& job) const {
    return !job.affinity.empty() && std::ranges::any_of(jobs_, [&](const auto& row) {
      return row.second.is_running && row.second.account.first == job.account.first &&
             row.second.affinity == job.affinity;
    });
  }
  // The oldest job of the same tenant, priority and kind whose affinity no running job has, of the
  // first affinities by name; `oldest` where there is none.
  JobId first_apart(JobId oldest) const {
    const Job& first = jobs_.at(oldest);
    std::map<std::string, JobId> by_affinity;
    for (const auto& [id, job] : jobs_) {
      if (!job.is_running && !is_late(job) && job.account == first.account &&
          job.kind == first.kind && priority(job) == priority(first))
        by_affinity.emplace(job.affinity, id);
    }
    std::optional<JobId> found;
    std::size_t looked_at = 0;
    for (const auto& [affinity, id] : by_affinity) {
      if (looked_at++ == Queue::kMaxLookedAt) break;
      if (!is_like_running(jobs_.at(id))) found = std::min(found.value_or(id), id);
    }
    return found.value_or(oldest);
  }
  static bool is_late(const Job& job) { return job.overtaken >= Queue::kMaxOvertaken; }
  static bool is_accepted(const Job& job, const Queue::Accepts& accepts) {
    return !accepts || accepts(job.account.first, job.kind);
  }
  void begin_waiting(const Account& account) {
    Tenant& mine = tenants_[account];
    if (mine.waiting++ > 0) return;
    std::optional<std::uint64_t> least;
    for (const auto& [name, other] : tenants_)
      if (name.first == account.first && name != account && other.waiting > 0)
        least = std::min(least.value_or(UINT64_MAX), other.had);
    std::uint64_t& virtual_time = virtual_time_[account.first];
    virtual_time = std::max(virtual_time, least.value_or(0));
    if (mine.used() < virtual_time) mine.had = virtual_time - mine.under_way;
  }
  bool nobody_waits(const std::string& pool) const {
    return std::ranges::all_of(tenants_, [&](const auto& row) {
      return row.first.first != pool || row.second.waiting == 0;
    });
  }
  void settle(const Job& job, std::optional<Queue::Cost> cost) {
    Tenant& tenant = tenants_.at(job.account);
    tenant.under_way -= job.share;
    tenant.had += cost ? tenant.share_of(*cost) : job.share;
    const bool has_running = std::ranges::count_if(jobs_, [&](const auto& row) {
                               return row.second.is_running && row.second.account == job.account;
                             }) > 1;
    std::uint64_t& virtual_time = virtual_time_[job.account.first];
    if (nobody_waits(job.account.first) && !has_running)
      virtual_time = std::max(virtual_time, tenant.had);
  }
  void end_waiting(const Account& account) {
    --tenants_.at(account).waiting;
    if (!nobody_waits(account.first)) return;
    std::uint64_t& virtual_time = virtual_time_[account.first];
    for (const auto& [name, each] : tenants_)
      if (name.first == account.first) virtual_time = std::max(virtual_time, each.had);
  }

  std::uint64_t next_ = 1;
  std::map<JobId, Job> jobs_;
  std::map<Account, Tenant> tenants_;
  CostEstimates estimates_;
  std::map<std::string, std::uint64_t> virtual_time_;  // by pool
};

}  // namespace kw::gym
