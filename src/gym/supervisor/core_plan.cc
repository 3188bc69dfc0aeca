#include "gym/supervisor/core_plan.h"

#include <algorithm>
#include <atomic>
#include <iterator>

#include <sched.h>

namespace kw::gym {
namespace {

std::vector<int> own_cores() {
  cpu_set_t set;
  CPU_ZERO(&set);
  std::vector<int> cores;
  if (::sched_getaffinity(0, sizeof set, &set) != 0) return cores;
  for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu)
    if (CPU_ISSET(cpu, &set)) cores.push_back(cpu);
  return cores;
}

}  // namespace

CorePlan timed_cores(std::span<const int> cores, int threads, const TimedPlace& at) {
  const std::size_t given = std::min(static_cast<std::size_t>(std::max(1, threads)), cores.size());
  const auto places = static_cast<std::size_t>(at.places);
  const bool is_enough = given * places <= cores.size();
  const std::size_t above = is_enough ? given * static_cast<std::size_t>(at.place) : 0;
  const std::size_t end = cores.size() - above;
  const auto own = cores.subspan(end - given, given);
  auto free = cores.first(cores.size() - (is_enough ? given * places : given));
  CorePlan plan{{own.begin(), own.end()}, {free.begin(), free.end()}};
  if (free.empty()) std::ranges::set_difference(cores, own, std::back_inserter(plan.checker));
  return plan;
}

CorePlan plan_cores(int threads, const std::optional<TimedPlace>& timed) {
  const std::vector<int> cores = own_cores();
  if (timed) return timed_cores(cores, threads, *timed);
  CorePlan plan;
  const std::size_t given = std::min(static_cast<std::size_t>(std::max(1, threads)), cores.size());
  static std::atomic<std::size_t> next = 0;
  const std::size_t first = next.fetch_add(given);
  for (std::size_t i = 0; i < cores.size(); ++i)
    (i < given ? plan.executor : plan.checker).push_back(cores[(first + i) % cores.size()]);
  return plan;
}

}  // namespace kw::gym
