#include "gym/supervisor/plan_tuning.h"

#include <algorithm>
#include <limits>
#include <string>
#include <utility>

#include "base/text.h"

namespace kw::gym {
namespace {

constexpr double kFasterBy = 0.98;        // of the time of the rule's configuration
constexpr std::size_t kNamedChoices = 4;  // in a report
constexpr std::size_t kChoiceBytes = 160;

double time_of(const Tried& tried) {
  return tried.call_ns > 0 ? static_cast<double>(tried.call_ns)
                           : std::numeric_limits<double>::infinity();
}

std::int64_t variants_in(const std::vector<task::PlanChoice>& by_rule) {
  std::int64_t count = 0;
  for (const task::PlanChoice& choice : by_rule) count += choice.configurations - 1;
  return count;
}

// The number-th of all variants.
TuningVariant variant_at(const std::vector<task::PlanChoice>& by_rule, std::int64_t number) {
  std::size_t choice = 0;
  while (number >= by_rule[choice].configurations - 1)
    number -= by_rule[choice++].configurations - 1;
  return {choice, number < by_rule[choice].chosen ? number : number + 1};
}

}  // namespace

std::vector<TuningVariant> tuning_variants(const std::vector<task::PlanChoice>& by_rule) {
  const std::int64_t all = variants_in(by_rule);
  const std::int64_t count = std::min<std::int64_t>(all, kMaxTuningVariants);
  std::vector<TuningVariant> out;
  for (std::int64_t i = 0; i < count; ++i) out.push_back(variant_at(by_rule, i * all / count));
  return out;
}

std::vector<std::int64_t> configurations_of(const std::vector<task::PlanChoice>& by_rule,
                                            const std::optional<TuningVariant>& variant) {
  std::vector<std::int64_t> out;
  out.reserve(by_rule.size());
  for (const task::PlanChoice& choice : by_rule) out.push_back(choice.chosen);
  if (variant) out[variant->choice] = variant->configuration;
  return out;
}

TuningResult tuned(const std::vector<task::PlanChoice>& by_rule, const Tried& of_rule,
                   const std::vector<TriedVariant>& tried) {
  TuningResult out{.configurations = configurations_of(by_rule),
                   .all = variants_in(by_rule),
                   .tried = static_cast<std::int64_t>(tried.size()),
                   .wrong = 0};
  std::vector<double> best(by_rule.size(), kFasterBy * time_of(of_rule));
  for (const auto& [variant, found] : tried) {
    if (!found || time_of(*found) >= best[variant.choice]) continue;
    best[variant.choice] = time_of(*found);
    out.configurations[variant.choice] = variant.configuration;
  }
  for (const auto& [variant, found] : tried) {
    const bool is_taken = out.configurations[variant.choice] == variant.configuration;
    out.wrong += found && found->outcome != task::Outcome::kPassed && !is_taken ? 1 : 0;
  }
  return out;
}

void report_untuned(WorkloadReport& report, const std::vector<task::PlanChoice>& choices) {
  const auto most = std::ranges::max_element(choices, {}, &task::PlanChoice::configurations);
  report.diagnostics.push_back(
      {"risk", fmt::format("an autotuner's choice among {} configurations was made by rule, not by "
                           "time: another one may be faster",
                           most->configurations)});
}

void report_tuning(WorkloadReport& report, const std::vector<task::PlanChoice>& choices,
                   const TuningResult& tuning) {
  std::vector<std::string> taken;
  for (const task::PlanChoice& choice : choices) {
    if (taken.size() == kNamedChoices) {
      taken.push_back(fmt::format("{} more", choices.size() - kNamedChoices));
      break;
    }
    taken.push_back(fmt::format("{} takes {} (of {})", printable(choice.kernel, kChoiceBytes),
                                printable(choice.text, kChoiceBytes), choice.configurations));
  }
  report.diagnostics.push_back({"kernels", "tuned by time: " + join(taken, "; ")});
  if (tuning.wrong > 0)
    report.diagnostics.push_back(
        {"risk", fmt::format("{} of {} other configurations tried are wrong: another GPU may take "
                             "one of them",
                             tuning.wrong, tuning.tried)});
  if (tuning.tried < tuning.all)
    report.diagnostics.push_back(
        {"risk", fmt::format("{} of {} other configurations were tried: another one may be faster",
                             tuning.tried, tuning.all)});
}

}  // namespace kw::gym
