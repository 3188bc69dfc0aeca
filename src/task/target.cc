#include "task/target.h"

#include <array>

#include "base/settings_json.h"
#include "base/text.h"
#include "text/names.h"

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

Result<Target> parse_target(std::string_view name) {
  if (const auto known = target_from_string(name)) return *known;
  std::vector<std::string> names;
  for (const Target target : kTargets) names.emplace_back(to_string(target));
  return fail(ErrorCode::kInvalidArgument, "\"{}\" is not one of {}{}", printable(name, 60),
              join(names, ", "), text::suggestion(name, names));
}

Result<std::vector<Target>> parse_targets(const std::vector<std::string>& names) {
  std::vector<Target> out;
  for (const std::string& name : names) {
    KW_TRY(const Target target, parse_target(name));
    out.push_back(target);
  }
  return out;
}

void to_json(Json& out, Target target) {
  out = to_string(target);
}

Status read_setting(ObjectReader& reader, const char* key, Target& out) {
  std::string name(to_string(out));
  KW_TRY_STATUS(kw::read_setting(reader, key, name));
  auto target = parse_target(name);
  if (!target) return tl::unexpected(std::move(target).error().with_context(reader.path(key)));
  out = *target;
  return {};
}

std::optional<Target> route(Language language, Target asked) {
  for (const Route& each : kRoutes)
    if (each.language == language && each.asked == asked) return each.bench;
  return std::nullopt;
}

Target workload_target(Language language, Target asked) {
  return route(language, asked).value_or(asked);
}

bool is_interpreted(Language language, Target asked) {
  return workload_target(language, asked) == Target::kInterpret;
}

std::vector<Language> languages_of(Target asked) {
  std::vector<Language> out;
  for (const Route& each : kRoutes)
    if (each.asked == asked) out.push_back(each.language);
  return out;
}

std::string languages_for(Target asked) {
  std::vector<std::string> names;
  for (const Language language : languages_of(asked)) names.emplace_back(to_string(language));
  if (names.size() < 2) return join(names, "");
  const std::string last = names.back();
  names.pop_back();
  return join(names, ", ") + " and " + last;
}

}  // namespace kw::task
