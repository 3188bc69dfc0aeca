#include "gym/queue/cost_estimates.h"

namespace kw::gym {
namespace {

// The mean of late: each new one counts a quarter.
CostEstimates::Cost mixed(CostEstimates::Cost old, CostEstimates::Cost took) {
  return (old * 3 + took) / 4;
}

}  // namespace

CostEstimates::Cost CostEstimates::of(const std::string& affinity) const {
  const auto found = known_.find(affinity);
  return found != known_.end() ? found->second : all_.value_or(kUnknown);
}

void CostEstimates::add(const std::string& affinity, Cost took) {
  all_ = mixed(all_.value_or(took), took);
  if (affinity.empty()) return;
  const auto [place, is_new] = known_.try_emplace(affinity, took);
  if (!is_new) place->second = mixed(place->second, took);
  if (known_.size() > kMaxAffinities)
    known_.erase(known_.begin() == place ? std::next(place) : known_.begin());
}

}  // namespace kw::gym
