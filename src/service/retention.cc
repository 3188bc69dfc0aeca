#include "service/retention.h"

namespace kw::service {

void Retention::end(JobId job, const std::vector<std::string>& open_groups) {
  if (open_groups.empty()) {
    line_.push_back(job);
    return;
  }
  held_[job] = {.groups = open_groups.size(), .number = numbers_};
  held_order_[numbers_++] = job;
  for (const std::string& group : open_groups) {
    std::deque<JobId>& jobs = by_group_[group];
    while (!jobs.empty() && !held_.contains(jobs.front())) jobs.pop_front();
    jobs.push_back(job);
  }
  if (held_.size() > most_held_) release(held_.find(held_order_.begin()->second));
}

void Retention::close(const std::string& group) {
  const auto jobs = by_group_.extract(group);
  if (jobs.empty()) return;
  for (const JobId job : jobs.mapped()) {
    const auto held = held_.find(job);
    if (held != held_.end() && --held->second.groups == 0) release(held);
  }
}

void Retention::release(std::unordered_map<JobId, Held>::iterator held) {
  line_.push_back(held->first);
  held_order_.erase(held->second.number);
  held_.erase(held);
}

std::optional<JobId> Retention::take_excess(std::size_t kept) {
  if (line_.size() <= kept) return std::nullopt;
  const JobId out = line_.front();
  line_.pop_front();
  return out;
}

}  // namespace kw::service
