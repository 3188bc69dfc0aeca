#include "service/abilities.h"

#include <algorithm>
#include <utility>

#include "base/text.h"
#include "task/target.h"

namespace kw::service {

std::string Needs::kind() const {
  return fmt::format("{}/{}", language, sandbox::to_string(isolation));
}

bool is_compiled(const Needs& needs) {
  return needs.language == "cpp" || needs.language == "cuda" || needs.language == "ptx";
}

Needs needs_of_text(std::string_view text) {
  const std::vector<std::string> parts = split(text, '/');
  if (parts.size() != 3) return {};
  return {.target = parts[0],
          .language = parts[1],
          .isolation = sandbox::level_from_string(parts[2]).value_or(sandbox::Level::kNone)};
}

std::string worker_for(const Needs& needs) {
  std::string out = "a worker";
  if (!needs.language.empty()) out += fmt::format(" that judges {}", needs.language);
  if (!needs.target.empty()) out += fmt::format(" on {}", needs.target);
  if (needs.isolation != sandbox::Level::kNone)
    out += fmt::format(", with the isolation {}", sandbox::to_string(needs.isolation));
  return out;
}

Abilities::Abilities(std::map<std::string, std::vector<std::string>> languages,
                     sandbox::Level isolation)
    : languages_(std::move(languages)), isolation_(isolation) {
  for (auto& [target, names] : languages_) std::ranges::sort(names);
  text_ = canonical_json(to_json());
}

bool Abilities::cover(std::string_view target, std::string_view kind) const {
  if (is_everything()) return true;
  const std::string_view language = kind.substr(0, kind.find('/'));
  const std::string_view level = kind.substr(std::min(kind.size(), language.size() + 1));
  if (sandbox::level_from_string(level).value_or(sandbox::Level::kNone) > isolation_) return false;
  if (target.empty()) return true;
  const auto found = languages_.find(std::string(target));
  if (found == languages_.end()) return false;
  return language.empty() || found->second.empty() ||
         std::ranges::binary_search(found->second, language);
}

Json Abilities::to_json() const {
  if (languages_.empty()) return nullptr;
  Json targets = Json::object();
  for (const auto& [target, names] : languages_) targets[target] = names;
  return {{"targets", std::move(targets)}, {"isolation", sandbox::to_string(isolation_)}};
}

Result<Abilities> abilities_from_json(const Json& value, const std::string& where) {
  KW_TRY(ObjectReader reader, ObjectReader::make(value, where));
  KW_TRY(const Json* targets, reader.get("targets"));
  KW_TRY(const std::string level, reader.string("isolation"));
  KW_TRY_STATUS(reader.no_other_keys());
  const auto isolation = sandbox::level_from_string(level);
  if (!isolation)
    return fail(ErrorCode::kInvalidArgument, "{}: unknown \"{}\"", reader.path("isolation"),
                printable(level, 40));
  KW_TRY(ObjectReader each, ObjectReader::make(*targets, reader.path("targets")));
  std::map<std::string, std::vector<std::string>> languages;
  for (const auto& [target, names] : targets->items()) {
    if (!task::target_from_string(target))
      return fail(ErrorCode::kInvalidArgument, "{}: unknown \"{}\"", reader.path("targets"),
                  printable(target, 40));
    KW_TRY(languages[target], each.strings_or_empty(target.c_str()));
  }
  if (languages.empty())
    return fail(ErrorCode::kInvalidArgument, "{}: no target", reader.path("targets"));
  return Abilities(std::move(languages), *isolation);
}

Result<Abilities> abilities_of(gym::Judge& judge) {
  std::map<std::string, std::vector<std::string>> languages;
  sandbox::Level isolation = sandbox::Level::kFull;
  std::string why_not;
  for (const task::Target target : {task::Target::kCpu, task::Target::kCuda}) {
    const auto found = judge.capabilities(target);
    if (!found || !found->available) {
      why_not += fmt::format("{}{}: {}", why_not.empty() ? "" : "; ", to_string(target),
                             found ? found->why_not : found.error().message());
      continue;
    }
    languages[std::string(to_string(target))] = found->languages;
    if (const auto level = sandbox::level_from_string(found->level))
      isolation = std::min(isolation, *level);
    else
      isolation = sandbox::Level::kNone;
  }
  if (languages.empty())
    return fail(ErrorCode::kUnsupported, "nothing can be judged here: {}", why_not);
  return Abilities(std::move(languages), isolation);
}

}  // namespace kw::service
