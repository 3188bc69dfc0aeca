#include "task/target.h"

#include <array>
#include <vector>

#include "base/text.h"

namespace kw::task {
namespace {

struct Route {
  Language language;
  Target asked, bench;
};
constexpr std::array<Route, 8> kRoutes = {{
    {Language::kCpp, Target::kCpu, Target::kCpu},
    {Language::kPython, Target::kCpu, Target::kCpu},
    {Language::kTriton, Target::kCpu, Target::kInterpret},
    {Language::kTriton, Target::kInterpret, Target::kInterpret},
    {Language::kCuda, Target::kCuda, Target::kCuda},
    {Language::kPtx, Target::kCuda, Target::kCuda},
    {Language::kCubin, Target::kCuda, Target::kCuda},
    {Language::kTriton, Target::kCuda, Target::kCuda},
}};

constexpr std::array<Target, 3> kTargets = {Target::kCpu, Target::kInterpret, Target::kCuda};

}  // namespace

std::string_view to_string(Target target) {
  switch (target) {
    case Target::kCpu:
      return "cpu";
    case Target::kInterpret:
      return "interpret";
    case Target::kCuda:
      return "cuda";
  }
  return "";
}

std::optional<Target> target_from_string(std::string_view name) {
  for (const Target target : kTargets)
    if (to_string(target) == name) return target;
  return std::nullopt;
}

std::span<const Target> all_targets() {
  return kTargets;
}

std::optional<Target> route(Language language, Target asked) {
  for (const Route& each : kRoutes)
    if (each.language == language && each.asked == asked) return each.bench;
  return std::nullopt;
}

std::string_view workload_target(Language language, std::string_view asked) {
  const auto target = target_from_string(asked);
  const auto bench = target ? route(language, *target) : std::nullopt;
  return bench ? to_string(*bench) : asked;
}

bool is_interpreted(Language language, std::string_view asked) {
  return workload_target(language, asked) == to_string(Target::kInterpret);
}

std::string languages_for(Target asked) {
  std::vector<std::string> names;
  for (const Route& each : kRoutes)
    if (each.asked == asked) names.emplace_back(to_string(each.language));
  if (names.size() < 2) return join(names, "");
  const std::string last = names.back();
  names.pop_back();
  return join(names, ", ") + " and " + last;
}

}  // namespace kw::task
