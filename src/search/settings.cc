// Ranges, defaults that depend on other settings, and JSON.
#include "search/settings.h"

#include <algorithm>

#include "base/settings_json.h"
#include "base/text.h"
#include "prompt/templates.h"
#include "task/target.h"

namespace kw::search {

task::Language Settings::language_value() const {
  return task::language_from_string(language).value_or(task::Language::kCpp);
}

MethodOptions Settings::method_options() const {
  return {samples, parallel, first, alpha};
}

Status resolve(Settings& s, int cores) {
  KW_TRY_STATUS(check_ranges(s, OptionNames::kFlags));
  if (s.seed > static_cast<std::uint64_t>(INT64_MAX))
    return fail(ErrorCode::kInvalidArgument, "--seed: {} is over 2^63 - 1", s.seed);
  const auto language = task::language_from_string(s.language);
  if (!language || !task::route(*language, task::Target::kCpu))
    return fail(ErrorCode::kInvalidArgument, "--language: unknown language \"{}\"; there are {}",
                printable(s.language, 40), task::languages_for(task::Target::kCpu));
  KW_TRY(auto chosen, prompt::template_named(s.prompt_template));
  if (chosen.compact)
    return fail(ErrorCode::kInvalidArgument,
                "--template: {} tells a traced graph, which a search has not", chosen.name);
  s.prompt_template = chosen.name;
  KW_TRY(auto method, make_method(s.method, s.method_options()));
  s.samples = method->most_attempts();
  // Several attempts are in flight where none waits for another's verdict.
  const bool independent = method->visible(s.samples) == 0;
  if (s.parallel == 0) s.parallel = independent ? std::min(s.samples, 4) : 1;
  if (s.judges == 0) s.judges = std::clamp(cores, 1, s.jobs * s.parallel);
  return {};
}

Json to_json(const Settings& settings) {
  return settings_to_json(settings);
}

Result<Settings> settings_from_json(const Json& value, const std::string& where) {
  return kw::settings_from_json<Settings>(value, where);
}

}  // namespace kw::search
