#include "gym/checker/null_launch.h"

#include <algorithm>
#include <vector>

#include "base/check.h"

namespace kw::gym {
namespace {

constexpr int kSteady = 2;  // times the shortest
constexpr auto kNullTimeout = std::chrono::seconds(2);
constexpr auto kGpuRest = std::chrono::milliseconds(25);

std::chrono::nanoseconds median_of(std::span<const NullLaunch> launches,
                                   std::chrono::nanoseconds NullLaunch::* duration) {
  std::vector<std::chrono::nanoseconds> values;
  for (const NullLaunch& launch : launches) values.push_back(launch.*duration);
  auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

}  // namespace

NullLaunches null_launches_of(std::span<const NullLaunch> launches) {
  KW_CHECK(!launches.empty());
  NullLaunches out;
  for (auto duration : {&NullLaunch::wall, &NullLaunch::waited, &NullLaunch::cpu_time,
                        &NullLaunch::processor_time, &NullLaunch::beside})
    out.median.*duration = median_of(launches, duration);
  auto shortest = std::ranges::min_element(launches, {}, &NullLaunch::wall);
  out.steady = out.median.wall <= kSteady * shortest->wall;
  return out;
}

Result<NullLaunches> measure_null_launches(Executor& executor, int count, CheckerClock& clock) {
  std::vector<NullLaunch> launches;
  for (int i = 0; i < count; ++i) {
    KW_TRY(LaunchResult result, executor.null_launch(kNullTimeout));
    if (result.end != LaunchEnd::kDone) return NullLaunches{};
    if (result.device_span.count() > 0) clock.sleep_for(kGpuRest);
    launches.push_back({.wall = result.wall,
                        .waited = result.waited,
                        .cpu_time = result.cpu_time,
                        .processor_time = result.processor_time,
                        .beside = result.wall - result.device_span});
  }
  return null_launches_of(launches);
}

NullLaunch lesser(const NullLaunch& a, const NullLaunch& b) {
  return {.wall = std::min(a.wall, b.wall),
          .waited = std::min(a.waited, b.waited),
          .cpu_time = std::min(a.cpu_time, b.cpu_time),
          .processor_time = std::min(a.processor_time, b.processor_time),
          .beside = std::min(a.beside, b.beside)};
}

}  // namespace kw::gym
