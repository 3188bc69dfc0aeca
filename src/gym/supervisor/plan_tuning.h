// Picks the configurations of a recorded candidate's autotuners that are tried out on the GPU,
// chooses among them by their times, and reports it. CudaBench records and tries them.
#pragma once
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "gym/messages/checker_messages.h"
#include "gym/messages/workload_report.h"
#include "task/launch_plan.h"

namespace kw::gym {

// A plan in which one autotuner takes another configuration for one key than the rule's.
struct TuningVariant {
  std::size_t choice = 0;  // of the plan's choices
  std::int64_t configuration = 0;
  bool operator==(const TuningVariant&) const = default;
};

// Beside the plan that was made by rule. Each takes a compilation and some calls.
inline constexpr std::size_t kMaxTuningVariants = 40;

// All of them, or kMaxTuningVariants spread over all.
std::vector<TuningVariant> tuning_variants(const std::vector<task::PlanChoice>& by_rule);

// The configuration of each choice, the variant's for its own.
std::vector<std::int64_t> configurations_of(const std::vector<task::PlanChoice>& by_rule,
                                            const std::optional<TuningVariant>& variant = {});

struct TriedVariant {
  TuningVariant variant;
  std::optional<Tried> tried;  // nullopt: the configuration cannot be used
};

struct TuningResult {
  // Each choice takes the configuration that is fastest by itself, right or wrong, as Triton's own
  // tuning does. The rule's stays where no other is 2 % faster. Tuners are taken to add up their
  // times.
  std::vector<std::int64_t> configurations = {};
  std::int64_t all = 0;    // variants that there are
  std::int64_t tried = 0;  // of these, with those that cannot be used
  std::int64_t wrong = 0;  // of these, with a failed call, but for what is taken
};
// by_rule and tried: of the same plan. of_rule: the plan by rule, tried out.
TuningResult tuned(const std::vector<task::PlanChoice>& by_rule, const Tried& of_rule,
                   const std::vector<TriedVariant>& tried);

// Says that the choices were made by rule. choices: at least one.
void report_untuned(WorkloadReport& report, const std::vector<task::PlanChoice>& choices);
// Says what the choices, made by time, are, and as risks how many configurations are wrong and how
// many were not tried.
void report_tuning(WorkloadReport& report, const std::vector<task::PlanChoice>& choices,
                   const TuningResult& tuning);

}  // namespace kw::gym
