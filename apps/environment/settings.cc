#include "settings.h"

#include "base/settings_json.h"
#include "base/text.h"

namespace kw::environment_program {
namespace {

Status check(const Settings& s) {
  if (s.kind != "kernels" && s.kind != "plans")
    return fail(ErrorCode::kInvalidArgument,
                "environment.kind: no \"{}\"; there are kernels, plans", printable(s.kind, 40));
  if (s.problems.empty())
    return fail(ErrorCode::kInvalidArgument, "environment.problems: name at least one path");
  if (!task::language_from_string(s.language))
    return fail(ErrorCode::kInvalidArgument, "environment.language: unknown \"{}\"",
                printable(s.language, 40));
  if (s.turns < 1 || s.turns > 64)
    return fail(ErrorCode::kInvalidArgument, "environment.turns: expected 1 to 64");
  if (s.jobs < 1 || s.jobs > 1024)
    return fail(ErrorCode::kInvalidArgument, "environment.jobs: expected 1 to 1024");
  return {};
}

Status read_plain(ObjectReader& reader, Settings& s) {
  KW_TRY_STATUS(read_setting(reader, "kind", s.kind));
  KW_TRY_STATUS(read_setting(reader, "problems", s.problems));
  KW_TRY_STATUS(read_setting(reader, "set", s.set));
  KW_TRY_STATUS(read_setting(reader, "language", s.language));
  KW_TRY_STATUS(read_setting(reader, "template", s.prompt));
  KW_TRY_STATUS(read_setting(reader, "strategy", s.strategy));
  KW_TRY_STATUS(read_setting(reader, "list_choices", s.list_choices));
  KW_TRY_STATUS(read_setting(reader, "turns", s.turns));
  KW_TRY_STATUS(read_setting(reader, "judge", s.judge));
  KW_TRY_STATUS(read_setting(reader, "judge_ca_file", s.judge_ca_file));
  KW_TRY_STATUS(read_setting(reader, "judge_allow_plaintext", s.judge_allow_plaintext));
  KW_TRY_STATUS(read_setting(reader, "verdicts", s.verdicts));
  return read_setting(reader, "jobs", s.jobs);
}

Status under(Status status, const char* table) {
  if (status) return status;
  return tl::unexpected(std::move(status).error().with_context(table));
}

}  // namespace

Result<Settings> settings_from_json(const Json& value) {
  KW_TRY(ObjectReader reader, ObjectReader::make(value, "environment"));
  Settings out;
  KW_TRY_STATUS(read_plain(reader, out));
  if (const Json* reward = reader.find("reward")) {
    KW_TRY(out.reward,
           kw::settings_from_json<reward::RewardSettings>(*reward, "environment.reward"));
  }
  KW_TRY_STATUS(under(reward::check(out.reward), "environment.reward"));
  if (const Json* eval = reader.find("eval")) {
    KW_TRY(out.eval, gym::eval_options_from_json(*eval, "environment.eval"));
  }
  KW_TRY_STATUS(gym::check(out.eval, OptionNames::kKeys, "environment.eval"));
  KW_TRY_STATUS(reader.no_other_keys());
  KW_TRY_STATUS(check(out));
  return out;
}

task::Language language_of(const Settings& settings) {
  return task::language_from_string(settings.language).value_or(task::Language::kCpp);
}

}  // namespace kw::environment_program
