// JudgingTime: how long the tasks of each tenant were judged, since the server's start and in the
// last hour.
#pragma once
#include <array>
#include <chrono>
#include <cstdint>
#include <map>
#include <string>

#include "gym/queue/queue.h"

namespace kw::service {

// One caller at a time.
class JudgingTime {
 public:
  using Time = gym::Queue::Time;
  using Cost = gym::Queue::Cost;
  static constexpr std::size_t kMaxTenants = 1000;  // the one that was judged longest ago goes

  void add(const std::string& tenant, Cost took, Time now);
  // To the minute.
  Cost in_last_hour(const std::string& tenant, Time now) const;
  // Until less than `most` is left in the last hour, if no more is added.
  std::chrono::seconds until_below(const std::string& tenant, Cost most, Time now) const;
  // Seconds since the server's start, by tenant.
  std::map<std::string, double> seconds() const;
  double seconds_of(const std::string& tenant) const;
  double all_seconds() const { return std::chrono::duration<double>(all_).count(); }

 private:
  static constexpr std::int64_t kMinutes = 60;
  struct Minute {
    std::int64_t number = -1;
    Cost took{0};
  };
  struct Tenant {
    Cost all{0};
    Time last{};
    std::array<Minute, kMinutes> minutes = {};
  };

  std::map<std::string, Tenant> tenants_;
  Cost all_{0};
};

}  // namespace kw::service
