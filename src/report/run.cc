// Excerpts, why an attempt failed, and the best one.
#include "report/run.h"

namespace kw::report {

Excerpt excerpt(std::string_view text, std::size_t max_bytes) {
  if (text.size() <= max_bytes) return {std::string(text), 0};
  std::size_t end = max_bytes;
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0U) == 0x80U) --end;
  return {std::string(text.substr(0, end)), text.size() - end};
}

std::string failure_of(const Attempt& attempt) {
  if (attempt.correct()) return "";
  if (!attempt.violation.empty()) return attempt.outcome + ": " + attempt.violation;
  if (!attempt.why_no_code.empty()) return attempt.outcome + ": " + attempt.why_no_code;
  return attempt.outcome;
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
