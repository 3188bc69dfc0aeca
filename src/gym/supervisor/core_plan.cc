#include "gym/supervisor/core_plan.h"

#include <algorithm>
#include <atomic>

#include <sched.h>

namespace kw::gym {

CorePlan plan_cores(int threads, bool timed) {
  cpu_set_t set;
  CPU_ZERO(&set);
  std::vector<int> cores;
  if (::sched_getaffinity(0, sizeof set, &set) == 0) {
    for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
      if (CPU_ISSET(cpu, &set)) cores.push_back(cpu);
    }
  }
  CorePlan plan;
  auto wanted = static_cast<std::size_t>(std::max(1, threads));
  std::size_t given = std::min(wanted, cores.size());
  static std::atomic<std::size_t> next = 0;
  const std::size_t first = timed ? cores.size() - given : next.fetch_add(given);
  for (std::size_t i = 0; i < cores.size(); ++i)
    (i < given ? plan.executor : plan.checker).push_back(cores[(first + i) % cores.size()]);
  return plan;
}

}  // namespace kw::gym
