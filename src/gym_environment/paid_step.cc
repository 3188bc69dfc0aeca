#include "gym_environment/paid_step.h"

#include <algorithm>
#include <utility>

#include "base/text.h"

namespace kw::gym_environment {
namespace {

constexpr std::size_t kMaxDiagnostic = 400;

Error no_reward(const task::Verdict& verdict) {
  if (verdict.outcome == task::Outcome::kPassed)
    return {ErrorCode::kUnavailable,
            fmt::format("no reward: a kernel of {} is correct, and no speedup was measured in the "
                        "seconds of its measurement",
                        verdict.problem_name)};
  const bool noisy = verdict.outcome == task::Outcome::kNoisy;
  const std::string why = verdict.diagnostics.empty()
                              ? ""
                              : ": " + printable(verdict.diagnostics[0].message, kMaxDiagnostic);
  return {noisy ? ErrorCode::kUnavailable : ErrorCode::kUnsupported,
          fmt::format("no reward: the problem {} is {}{}", verdict.problem_name,
                      task::to_string(verdict.outcome), why)};
}

// The reward for the same finding with another speedup.
double paid_at(const RewardOf& reward, reward::Finding finding, double speedup) {
  finding.speedup = task::Speedup{speedup, speedup, speedup};
  const std::optional<reward::Score> score = reward(finding);
  return score ? score->total() : 0;
}

}  // namespace

Result<environment::Step> paid_step(const RewardOf& reward, const reward::Finding& finding,
                                    const task::Verdict* verdict) {
  const std::optional<reward::Score> score = finding.judged() ? reward(finding) : std::nullopt;
  if (!score) return tl::unexpected(no_reward(verdict != nullptr ? *verdict : task::Verdict{}));
  environment::Step out;
  out.reward = score->total();
  Json parts = Json::object();
  for (const reward::Part& part : score->parts) parts[std::string(part.name)] = part.value;
  out.facts = {{"progress", task::to_string(finding.progress)}, {"reward", std::move(parts)}};
  if (finding.outcome)
    out.facts["outcome"] =
        verdict != nullptr ? task::outcome_name(*verdict) : task::to_string(*finding.outcome);
  if (verdict != nullptr && !finding.correct() && !verdict->diagnostics.empty())
    out.facts["diagnostic"] = printable(verdict->diagnostics[0].message, kMaxDiagnostic);
  if (verdict != nullptr && !verdict->violation.empty())
    out.facts["violation"] = verdict->violation;
  if (!finding.speedup) return out;
  const task::Speedup& speedup = *finding.speedup;
  out.facts["speedup"] = {speedup.median, speedup.low, speedup.high};
  if (finding.clock) out.facts["clock"] = task::to_string(*finding.clock);
  const double low = paid_at(reward, finding, speedup.low);
  const double high = paid_at(reward, finding, speedup.high);
  if (low < high)
    out.interval =
        environment::RewardInterval{std::min(low, out.reward), std::max(high, out.reward)};
  return out;
}

}  // namespace kw::gym_environment
