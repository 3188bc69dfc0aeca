// What a model is told about its previous attempt.
#pragma once
#include <cstddef>
#include <optional>
#include <string>

#include "task/candidate.h"
#include "task/verdict.h"

namespace kw::prompt {

struct Attempt {
  std::string code;     // of the file with the entry; empty when the answer had none
  std::string why_not;  // Extraction::why_not, when it had none
  std::optional<task::Verdict> verdict = std::nullopt;  // none when there was no code
};

// The fastest correct attempt so far.
struct BestSoFar {
  task::Speedup speedup;
  double candidate_ms = 0;
};

inline constexpr std::size_t kMaxFeedbackBytes = 6000;  // of diagnostics

// By outcome: compiler errors with the source lines they name; shapes, dtypes and exceptions; how
// far wrong values are off, and in which workloads; limits; for a correct one its time, speedup and
// interval; then the best so far. Texts of the candidate are cut and made printable.
std::string feedback_section(const Attempt& attempt, task::Language language,
                             const std::optional<BestSoFar>& best);

// What to do next, in a sentence or two, by outcome.
std::string next_step(const Attempt& attempt);

}  // namespace kw::prompt
