// CostEstimates: how long judgements take, by those that have ended.
#pragma once
#include <chrono>
#include <map>
#include <optional>
#include <string>

namespace kw::gym {

// One caller at a time.
class CostEstimates {
 public:
  using Cost = std::chrono::microseconds;
  static constexpr Cost kUnknown = std::chrono::seconds(1);  // before any has ended

  // The cost of judgements with this affinity; the cost of all if none of them has ended or the
  // affinity is empty.
  Cost of(const std::string& affinity) const;
  void add(const std::string& affinity, Cost took);
  std::optional<Cost> mean() const { return all_; }

 private:
  static constexpr std::size_t kMaxAffinities =
      10000;  // affinities; another one replaces the first by name

  std::map<std::string, Cost> known_;
  std::optional<Cost> all_;
};

}  // namespace kw::gym
