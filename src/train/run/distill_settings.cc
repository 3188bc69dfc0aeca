#include "train/run/distill_settings.h"

#include <array>
#include <utility>

#include "base/settings_json.h"
#include "train/run/setting_checks.h"

namespace kw::train {
DistillLoss DistillSettings::loss() const {
  return {divergence_named(divergence), beta, top_k, temperature, cross_entropy};
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
  KW_TRY_STATUS(
      one_of("divergence", s.divergence, {kDivergenceNames.begin(), kDivergenceNames.end()}));
  KW_TRY_STATUS(within("beta", s.beta, 1e-6, 1 - 1e-6));
  KW_TRY_STATUS(at_least("top_k", static_cast<double>(s.top_k), 0));
  KW_TRY_STATUS(within("temperature", s.temperature, 1e-3, 1e3));
  return within("cross_entropy", s.cross_entropy, 0, 1);
}

std::string differs_for_resume(const Json& stored, const DistillSettings& now) {
  static constexpr std::array kFixedOfTeacher = {"teacher", "divergence",  "beta",
                                                 "top_k",   "temperature", "cross_entropy"};
  const Json current = to_json(now);
  for (const char* key : kFixedOfTeacher)
    if (!stored.contains(key) || stored[key] != current[key]) return key;
  return differs_for_resume_of_rows(stored, now.rows);
}

}  // namespace kw::train
