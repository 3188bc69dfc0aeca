// Stages by outcome.
#include "reward/finding.h"

namespace kw::reward {
namespace {

using task::Outcome;

Stage stage_of(Outcome outcome) {
  switch (outcome) {
    case Outcome::kPassed:
    case Outcome::kNoisy:
      return Stage::kCorrect;
    case Outcome::kWrongValue:
      return Stage::kRightShape;
    case Outcome::kWrongShape:
    case Outcome::kWrongDtype:
      return Stage::kRan;
    case Outcome::kRuntimeError:
    case Outcome::kTimeout:
    case Outcome::kMemoryLimit:
    case Outcome::kOutputLimit:
      return Stage::kCompiled;
    case Outcome::kCompileError:
    case Outcome::kViolation:
    case Outcome::kQuarantined:
    case Outcome::kUnsupported:
      return Stage::kExtracted;
  }
  return Stage::kExtracted;
}

}  // namespace

std::string_view to_string(Stage stage) {
  switch (stage) {
    case Stage::kNoCode:
      return "no_code";
    case Stage::kExtracted:
      return "extracted";
    case Stage::kCompiled:
      return "compiled";
    case Stage::kRan:
      return "ran";
    case Stage::kRightShape:
      return "right_shape";
    case Stage::kCorrect:
      return "correct";
  }
  return "no_code";
}

Finding finding_of(const task::Verdict& verdict) {
  Finding out;
  out.stage = stage_of(verdict.outcome);
  out.outcome = verdict.outcome;
  out.coverage = verdict.coverage;
  if (out.correct()) out.speedup = verdict.speedup;
  return out;
}

Finding no_code(bool truncated) {
  Finding out;
  out.truncated = truncated;
  return out;
}

}  // namespace kw::reward
