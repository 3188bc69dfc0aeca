#include "service/roster.h"

#include <algorithm>

namespace kw::service {

void Roster::see(const std::string& worker, const Abilities& abilities, Time now) {
  if (workers_.size() >= kMaxWorkers && !workers_.contains(worker)) {
    workers_.clear();
    seen_.clear();
  }
  const auto row = seen_.emplace(abilities, now).first;
  row->second = now;
  workers_[worker] = row;
}

void Roster::see(const std::string& worker, Time now) {
  const auto found = workers_.find(worker);
  if (found != workers_.end()) found->second->second = now;
}

bool Roster::covers(const Needs& needs, Time since) const {
  return std::ranges::any_of(
      seen_, [&](const auto& row) { return row.second >= since && row.first.cover(needs); });
}

bool Roster::has_anybody(Time since) const {
  return std::ranges::any_of(seen_, [&](const auto& row) { return row.second >= since; });
}

bool Roster::can(const std::string& worker, const Needs& needs) const {
  const auto found = workers_.find(worker);
  return found == workers_.end() || found->second->first.cover(needs);
}

}  // namespace kw::service
