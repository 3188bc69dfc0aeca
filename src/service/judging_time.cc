#include "service/judging_time.h"

#include <algorithm>

namespace kw::service {
namespace {

std::int64_t minute_of(JudgingTime::Time at) {
  return std::chrono::floor<std::chrono::minutes>(at.time_since_epoch()).count();
}

double in_seconds(JudgingTime::Cost cost) {
  return std::chrono::duration<double>(cost).count();
}

}  // namespace

void JudgingTime::add(const std::string& tenant, Cost took, Time now) {
  if (!tenants_.contains(tenant) && tenants_.size() >= kMaxTenants)
    tenants_.erase(
        std::ranges::min_element(tenants_, {}, [](const auto& each) { return each.second.last; }));
  Tenant& mine = tenants_[tenant];
  mine.all += took;
  mine.last = now;
  all_ += took;
  const std::int64_t number = minute_of(now);
  Minute& minute = mine.minutes.at(static_cast<std::size_t>(number % kMinutes));
  if (minute.number != number) minute = {.number = number};
  minute.took += took;
}

JudgingTime::Cost JudgingTime::in_last_hour(const std::string& tenant, Time now) const {
  Cost out{0};
  const auto found = tenants_.find(tenant);
  if (found == tenants_.end()) return out;
  for (const Minute& each : found->second.minutes)
    if (each.number > minute_of(now) - kMinutes) out += each.took;
  return out;
}

std::chrono::seconds JudgingTime::until_below(const std::string& tenant, Cost most,
                                              Time now) const {
  const auto end_of = [&](std::int64_t minute) {
    return Time(std::chrono::minutes(minute + kMinutes));
  };
  Time at = now;
  const std::int64_t newest = minute_of(now);
  for (std::int64_t minute = newest - kMinutes + 1;
       minute <= newest && in_last_hour(tenant, at) >= most; ++minute)
    at = end_of(minute);
  return std::chrono::ceil<std::chrono::seconds>(at - now);
}

std::map<std::string, double> JudgingTime::seconds() const {
  std::map<std::string, double> out;
  for (const auto& [name, tenant] : tenants_) out[name] = in_seconds(tenant.all);
  return out;
}

double JudgingTime::seconds_of(const std::string& tenant) const {
  const auto found = tenants_.find(tenant);
  return found == tenants_.end() ? 0 : in_seconds(found->second.all);
}

}  // namespace kw::service
