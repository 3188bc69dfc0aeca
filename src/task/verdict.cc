// Names and order of outcomes.
#include "task/verdict.h"

#include <algorithm>

#include "text/enum_names.h"

namespace kw::task {
namespace {

constexpr auto kOutcomes = text::enum_names<Outcome>({
    {Outcome::kPassed, "passed"},
    {Outcome::kCompileError, "compile_error"},
    {Outcome::kWrongShape, "wrong_shape"},
    {Outcome::kWrongDtype, "wrong_dtype"},
    {Outcome::kWrongValue, "wrong_value"},
    {Outcome::kRuntimeError, "runtime_error"},
    {Outcome::kTimeout, "timeout"},
    {Outcome::kMemoryLimit, "memory_limit"},
    {Outcome::kOutputLimit, "output_limit"},
    {Outcome::kViolation, "violation"},
    {Outcome::kQuarantined, "quarantined"},
    {Outcome::kUnsupported, "unsupported"},
    {Outcome::kNoisy, "noisy"},
});

constexpr auto kLevels = text::enum_names<EvidenceLevel>({
    {EvidenceLevel::kTimed, "timed"},
    {EvidenceLevel::kCompiled, "compiled"},
    {EvidenceLevel::kInterpreted, "interpreted"},
    {EvidenceLevel::kUntimed, "untimed"},
});

constexpr auto kClocks = text::enum_names<Clock>({
    {Clock::kWall, "wall"},
    {Clock::kProcessor, "processor"},
});

}  // namespace

std::string_view to_string(Clock clock) {
  return kClocks.name(clock);
}
std::optional<Clock> clock_from_string(std::string_view name) {
  return kClocks.value(name);
}
std::string_view to_string(Outcome outcome) {
  return kOutcomes.name(outcome);
}
std::optional<Outcome> outcome_from_string(std::string_view name) {
  return kOutcomes.value(name);
}
std::string_view to_string(EvidenceLevel level) {
  return kLevels.name(level);
}
std::optional<EvidenceLevel> evidence_level_from_string(std::string_view name) {
  return kLevels.value(name);
}

bool is_candidates_fault(Outcome outcome) {
  switch (outcome) {
    case Outcome::kPassed:
    case Outcome::kQuarantined:
    case Outcome::kUnsupported:
    case Outcome::kNoisy:
      return false;
    default:
      return true;
  }
}

bool Borderline::passes() const {
  const auto may_pass = [](double error) { return error >= 0 && error <= kMostOfADraw; };
  return largest >= 0 && largest <= kTo && further.size() == kDraws &&
         std::ranges::all_of(further, may_pass) && std::ranges::min(further) <= 1;
}

bool is_borderline(const Verdict& verdict) {
  return (verdict.outcome == Outcome::kPassed || verdict.outcome == Outcome::kNoisy) &&
         std::ranges::any_of(verdict.workloads, [](const WorkloadVerdict& workload) {
           return workload.borderline.has_value();
         });
}

std::string_view outcome_name(const Verdict& verdict) {
  const bool is_pass = verdict.outcome == Outcome::kPassed;
  return is_pass && is_borderline(verdict) ? "borderline" : to_string(verdict.outcome);
}

// A broken problem voids what was judged on it, and a violation stands whatever else happened.
int severity(Outcome outcome) {
  switch (outcome) {
    case Outcome::kPassed:
      return 0;
    case Outcome::kNoisy:
      return 1;
    case Outcome::kTimeout:
      return 2;
    case Outcome::kMemoryLimit:
      return 3;
    case Outcome::kOutputLimit:
      return 4;
    case Outcome::kWrongValue:
      return 5;
    case Outcome::kWrongDtype:
      return 6;
    case Outcome::kWrongShape:
      return 7;
    case Outcome::kRuntimeError:
      return 8;
    case Outcome::kCompileError:
      return 9;
    case Outcome::kUnsupported:
      return 10;
    case Outcome::kQuarantined:
      return 11;
    case Outcome::kViolation:
      return 12;
  }
  return 12;
}

}  // namespace kw::task
