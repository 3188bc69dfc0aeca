#include "gym/checker/null_go.h"

#include <algorithm>
#include <vector>

#include "base/check.h"

namespace kw::gym {
namespace {

constexpr int kSteady = 2;  // times the shortest

std::chrono::nanoseconds median_of(std::span<const NullGo> gos,
                                   std::chrono::nanoseconds NullGo::* duration) {
  std::vector<std::chrono::nanoseconds> values;
  for (const NullGo& go : gos) values.push_back(go.*duration);
  auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

}  // namespace

NullGos null_gos_of(std::span<const NullGo> gos) {
  KW_CHECK(!gos.empty());
  NullGos out;
  for (auto duration : {&NullGo::wall, &NullGo::waited, &NullGo::cpu_time})
    out.median.*duration = median_of(gos, duration);
  auto shortest = std::ranges::min_element(gos, {}, &NullGo::wall);
  out.steady = out.median.wall <= kSteady * shortest->wall;
  return out;
}

NullGo lesser(const NullGo& a, const NullGo& b) {
  return {std::min(a.wall, b.wall), std::min(a.waited, b.waited), std::min(a.cpu_time, b.cpu_time)};
}

}  // namespace kw::gym
