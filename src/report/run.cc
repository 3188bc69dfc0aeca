// Stages and the best attempt.
#include "report/run.h"

namespace kw::report {

std::string_view to_string(Stage stage) {
  switch (stage) {
    case Stage::kNothing:
      return "nothing";
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
  return "?";
}

Stage stage_of(task::Outcome outcome) {
  switch (outcome) {
    case task::Outcome::kPassed:
      return Stage::kCorrect;
    case task::Outcome::kWrongValue:
    case task::Outcome::kNoisy:
      return Stage::kRightShape;
    case task::Outcome::kWrongShape:
    case task::Outcome::kWrongDtype:
      return Stage::kRan;
    case task::Outcome::kRuntimeError:
    case task::Outcome::kTimeout:
    case task::Outcome::kMemoryLimit:
    case task::Outcome::kOutputLimit:
    case task::Outcome::kViolation:
      return Stage::kCompiled;
    case task::Outcome::kCompileError:
    case task::Outcome::kQuarantined:
    case task::Outcome::kUnsupported:
      return Stage::kExtracted;
  }
  return Stage::kExtracted;
}

Excerpt excerpt(std::string_view text, std::size_t max_bytes) {
  if (text.size() <= max_bytes) return {std::string(text), 0};
  std::size_t end = max_bytes;
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0U) == 0x80U) --end;
  return {std::string(text.substr(0, end)), text.size() - end};
}

const Attempt* best_attempt(const ProblemRecord& problem) {
  auto value = [](const Attempt& attempt) {
    return attempt.speedup ? attempt.speedup->median : 0.0;
  };
  const Attempt* best = nullptr;
  for (const Attempt& attempt : problem.attempts) {
    if (attempt.correct() && (best == nullptr || value(attempt) > value(*best))) best = &attempt;
  }
  return best;
}

}  // namespace kw::report
