#include "service/activity.h"

#include <algorithm>

namespace kw::service {
namespace {

std::int64_t span_of(Activity::Time at) {
  return std::chrono::floor<std::chrono::seconds>(at.time_since_epoch()) / Overview::kSpan;
}

}  // namespace

void Activity::Tally::add(EndedTask task) {
  ++outcomes[task.answer.outcome.empty() ? task.state : task.answer.outcome];
  ++in_all;
  const std::int64_t span = span_of(task.at);
  const std::int64_t first = std::max(newest_span + 1, span - static_cast<std::int64_t>(kSpans));
  for (std::int64_t each = first; each <= span; ++each)
    ends.at(static_cast<std::size_t>(each) % kSpans) = 0;
  newest_span = std::max(newest_span, span);
  ++ends.at(static_cast<std::size_t>(span) % kSpans);
  ended.push_back(std::move(task));
  if (ended.size() > kMaxEnded) ended.pop_front();
}

void Activity::count_waiting(const std::string& tenant, int change) {
  TaskShare& share = tenants_[tenant];
  share.waiting += static_cast<std::size_t>(change);
  if (share.waiting + share.leased == 0) tenants_.erase(tenant);
}

void Activity::count_leased(const std::string& tenant, const std::string& worker, int change) {
  TaskShare& share = tenants_[tenant];
  share.leased += static_cast<std::size_t>(change);
  if (share.waiting + share.leased == 0) tenants_.erase(tenant);
  WorkerActivity& one = workers_[worker];
  if (one.name.empty()) by_seen_.emplace(one.seen, one.name = worker);
  one.leased += static_cast<std::size_t>(change);
  one.slots = std::max(one.slots, one.leased);
}

void Activity::see_worker(const std::string& worker, Time now) {
  WorkerActivity& one = workers_[worker];
  by_seen_.erase({one.seen, worker});
  one.name = worker;
  one.seen = now;
  by_seen_.emplace(now, worker);
  drop_silent_workers();
}

// Those that have a lease stay.
void Activity::drop_silent_workers() {
  for (auto oldest = by_seen_.begin(); workers_.size() > kMaxWorkers && oldest != by_seen_.end();) {
    const auto found = workers_.find(oldest->second);
    if (found->second.leased > 0) {
      ++oldest;
      continue;
    }
    workers_.erase(found);
    oldest = by_seen_.erase(oldest);
  }
}

void Activity::count_answer(const std::string& worker) {
  if (auto found = workers_.find(worker); found != workers_.end()) ++found->second.answers;
}

void Activity::note_fitness(const std::string& worker, const std::string& unfit) {
  if (auto found = workers_.find(worker); found != workers_.end()) found->second.unfit = unfit;
}

void Activity::note_end(EndedTask task) {
  if (!task.owner.empty()) by_owner_[task.owner].add(task);
  all_.add(std::move(task));
}

std::size_t Activity::slots(Time since,
                            const std::function<bool(const std::string& worker)>& counts) const {
  std::size_t out = 0;
  for (const auto& [name, worker] : workers_)
    if ((worker.leased > 0 || worker.seen >= since) && (!counts || counts(name)))
      out += std::max<std::size_t>(worker.slots, 1);
  return out;
}

bool Activity::has_worker(Time since,
                          const std::function<bool(const std::string& worker)>& counts) const {
  return std::ranges::any_of(workers_, [&](const auto& row) {
    const auto& [name, worker] = row;
    return (worker.leased > 0 || worker.seen >= since) && worker.unfit.empty() && counts(name);
  });
}

std::vector<TaskShare> Activity::busy_workers() const {
  std::vector<TaskShare> out;
  for (const auto& [name, worker] : workers_)
    if (worker.leased > 0)
      out.push_back({.name = name, .waiting = 0, .leased = worker.leased, .judged_seconds = 0});
  return out;
}

Overview Activity::look(const std::string& tenant, std::uint64_t after, Time now) const {
  Overview out;
  static const Tally kNothing;
  const Tally* tally = &all_;
  if (!tenant.empty()) {
    const auto found = by_owner_.find(tenant);
    tally = found == by_owner_.end() ? &kNothing : &found->second;
    if (const auto share = tenants_.find(tenant); share != tenants_.end()) {
      out.tenants.push_back(share->second);
      out.tenants.back().name = tenant;
    }
  } else {
    for (const auto& [name, share] : tenants_)
      out.tenants.push_back({name, share.waiting, share.leased, 0});
    std::ranges::stable_sort(out.tenants, std::ranges::greater(),
                             [](const TaskShare& each) { return each.waiting + each.leased; });
    if (out.tenants.size() > kMaxListed) out.tenants.resize(kMaxListed);
    for (auto each = by_seen_.rbegin(); each != by_seen_.rend(); ++each) {
      out.workers.push_back(workers_.at(each->second));
      if (out.workers.size() == kMaxListed) break;
    }
    std::ranges::sort(out.workers, {}, &WorkerActivity::name);
  }
  out.outcomes = tally->outcomes;
  const std::int64_t newest = span_of(now);
  for (std::int64_t span = newest - static_cast<std::int64_t>(kSpans) + 1; span <= newest; ++span) {
    const bool is_known = span >= 0 && span <= tally->newest_span &&
                          span > tally->newest_span - static_cast<std::int64_t>(kSpans);
    out.ends.push_back(is_known ? tally->ends.at(static_cast<std::size_t>(span) % kSpans) : 0);
  }
  out.next = tally->in_all;
  const std::uint64_t fresh = after < tally->in_all ? tally->in_all - after : 0;
  for (auto each = tally->ended.rbegin(); each != tally->ended.rend(); ++each) {
    if (out.ended.size() == fresh) break;
    out.ended.push_back(*each);
  }
  return out;
}

}  // namespace kw::service
