// Ranges, defaults that depend on other settings, and JSON.
#include "search/settings.h"

#include <algorithm>
#include <cmath>

#include "base/text.h"
#include "prompt/templates.h"

namespace kw::search {
namespace {

Status in_range(std::string_view flag, double value, double low, double high) {
  if (value >= low && value <= high) return {};  // false for NaN
  return fail(ErrorCode::kInvalidArgument, "{}: {} is not between {} and {}", flag, value, low,
              high);
}

Status read(ObjectReader& reader, const char* key, std::string& out) {
  KW_TRY(out, reader.string_or(key, out));
  return {};
}
Status read(ObjectReader& reader, const char* key, bool& out) {
  KW_TRY(out, reader.boolean_or(key, out));
  return {};
}
Status read(ObjectReader& reader, const char* key, double& out) {
  KW_TRY(out, reader.number_or(key, out));
  return {};
}
Status read(ObjectReader& reader, const char* key, std::int64_t& out) {
  KW_TRY(out, reader.integer_or(key, out));
  return {};
}
Status read(ObjectReader& reader, const char* key, int& out) {
  KW_TRY(std::int64_t value, reader.integer_or(key, out));
  KW_TRY_STATUS(in_range(reader.path(key), static_cast<double>(value), 0, 1 << 30));
  out = static_cast<int>(value);
  return {};
}
Status read(ObjectReader& reader, const char* key, std::uint64_t& out) {
  KW_TRY(std::int64_t value, reader.integer_or(key, static_cast<std::int64_t>(out)));
  if (value < 0) return fail(ErrorCode::kInvalidArgument, "{}: negative", reader.path(key));
  out = static_cast<std::uint64_t>(value);
  return {};
}

constexpr double kMostSeconds = 1e8;

}  // namespace

task::Language Settings::language_value() const {
  return task::language_from_string(language).value_or(task::Language::kCpp);
}

PolicyOptions Settings::policy_options() const {
  return {samples, parallel, first, alpha};
}

Status resolve(Settings& s, int cores) {
  KW_TRY_STATUS(in_range("--samples", s.samples, 1, 100000));
  KW_TRY_STATUS(in_range("--parallel", s.parallel, 0, 256));
  KW_TRY_STATUS(in_range("--jobs", s.jobs, 1, 256));
  KW_TRY_STATUS(in_range("--judges", s.judges, 0, 256));
  KW_TRY_STATUS(in_range("--first", s.first, 1, 100000));
  KW_TRY_STATUS(in_range("--alpha", s.alpha, 0, 100));
  KW_TRY_STATUS(in_range("--target-speedup", s.target_speedup, 0, 1e6));
  KW_TRY_STATUS(in_range("--tokens", static_cast<double>(s.tokens), 0, 1e15));
  KW_TRY_STATUS(in_range("--seconds", s.seconds, 0, kMostSeconds));
  KW_TRY_STATUS(in_range("--total-seconds", s.total_seconds, 0, kMostSeconds));
  KW_TRY_STATUS(in_range("--cost", s.cost_usd, 0, 1e9));
  KW_TRY_STATUS(in_range("--tries", s.tries, 1, 100));
  KW_TRY_STATUS(in_range("--retry-seconds", s.retry_seconds, 0, 3600));
  if (s.seed > static_cast<std::uint64_t>(INT64_MAX))
    return fail(ErrorCode::kInvalidArgument, "--seed: {} is over 2^63 - 1", s.seed);
  const auto language = task::language_from_string(s.language);
  if (language != task::Language::kCpp && language != task::Language::kPython &&
      language != task::Language::kTriton)
    return fail(ErrorCode::kInvalidArgument,
                "--language: unknown language \"{}\"; there are cpp, python and triton",
                printable(s.language, 40));
  KW_TRY(auto chosen, prompt::template_named(s.prompt_template));
  s.prompt_template = chosen.name;
  KW_TRY(auto policy, make_policy(s.method, s.policy_options()));
  s.samples = policy->most_attempts();
  // Where no attempt waits for another's verdict, several are in flight.
  const bool independent = policy->visible(s.samples) == 0;
  if (s.parallel == 0) s.parallel = independent ? std::min(s.samples, 4) : 1;
  if (s.judges == 0) s.judges = std::clamp(cores, 1, s.jobs * s.parallel);
  return {};
}

Json to_json(const Settings& settings) {
  Json out = Json::object();
  describe(settings, [&](const char* name, const auto& field) { out[name] = field; });
  return out;
}

Result<Settings> settings_from_json(const Json& value, const std::string& where) {
  KW_TRY(ObjectReader reader, ObjectReader::make(value, where));
  Settings out;
  Status status;
  describe(out, [&](const char* name, auto& field) {
    if (status) status = read(reader, name, field);
  });
  if (!status) return tl::unexpected(std::move(status).error());
  KW_TRY_STATUS(reader.no_other_keys());
  return out;
}

}  // namespace kw::search
