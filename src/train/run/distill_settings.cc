#include "train/run/distill_settings.h"

#include <algorithm>
#include <array>
#include <utility>

#include "base/settings_json.h"
#include "train/run/setting_checks.h"

namespace kw::train {
namespace {

const std::vector<std::string> kDivergences = {"forward", "reverse", "jensen_shannon"};

Status check_share(const char* key, double value, double low, double high, const char* range) {
  if (value >= low && value <= high) return {};
  return fail(ErrorCode::kInvalidArgument, "{}: expected a number {}, not {}", key, range, value);
}

}  // namespace

DistillLoss DistillSettings::loss() const {
  const auto kind = std::find(kDivergences.begin(), kDivergences.end(), divergence);
  return {static_cast<Divergence>(kind - kDivergences.begin()), beta, top_k, temperature,
          cross_entropy};
}

Result<DistillSettings> distill_settings(const Json& value, const std::vector<std::string>& words) {
  KW_TRY(const Json merged, with_words(value, words));
  KW_TRY(DistillSettings out, settings_from_json<DistillSettings>(merged, ""));
  KW_TRY_STATUS(check(out));
  return out;
}

Json to_json(const DistillSettings& settings) {
  return settings_to_json(settings);
}

Status check(const DistillSettings& s) {
  KW_TRY_STATUS(check(s.rows));
  if (s.teacher.empty())
    return fail(ErrorCode::kInvalidArgument, "teacher: name the folder of the teacher's model");
  KW_TRY_STATUS(one_of("divergence", s.divergence, kDivergences));
  KW_TRY_STATUS(check_share("beta", s.beta, 1e-6, 1 - 1e-6, "over 0 and under 1"));
  KW_TRY_STATUS(at_least("top_k", static_cast<double>(s.top_k), 0));
  KW_TRY_STATUS(check_share("temperature", s.temperature, 1e-3, 1e3, "from 0.001 to 1000"));
  return check_share("cross_entropy", s.cross_entropy, 0, 1, "from 0 to 1");
}

std::string differs_for_resume(const Json& stored, const DistillSettings& now) {
  static constexpr std::array kFixed = {"teacher", "divergence",  "beta",
                                        "top_k",   "temperature", "cross_entropy"};
  const Json current = to_json(now);
  for (const char* key : kFixed)
    if (!stored.contains(key) || stored[key] != current[key]) return key;
  return differs_for_resume_of_rows(stored, now.rows);
}

}  // namespace kw::train
