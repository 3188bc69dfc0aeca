// The counts of a problem's attempts, and the standing of its best kernel.
#pragma once
#include <cstddef>
#include <map>
#include <string>
#include <string_view>

#include "runlog/tree.h"

namespace kw::front {

// The best kernel of a problem compared with its baseline.
enum class Standing {
  kNone,       // no correct kernel
  kCorrect,    // correct, and not timed
  kSlower,     // the interval ends below 1
  kNotFaster,  // the interval contains 1
  kFaster,     // the interval begins above 1
};
std::string_view to_string(Standing standing);  // "none", "correct", ...
Standing standing_of(const runlog::ProblemTree& tree);

struct Counts {
  std::size_t attempts = 0;  // with an answer
  std::size_t extracted = 0, compiled = 0, correct = 0;
  std::size_t finished = 0;
  text::Usage usage;

  Counts& operator+=(const Counts& other);
};
Counts counts_of(const runlog::ProblemTree& tree);

using ByKind = std::map<std::string, int>;
// For attempts that are not correct: the outcome, or the reason why there is no verdict.
ByKind outcomes_by_kind(const runlog::ProblemTree& tree);
ByKind failures_by_kind(const runlog::ProblemTree& tree);  // runlog::kind_of
// Answers that a server did not end as answers end, by finish ("length", "refused", "context") or
// by what their text looks like ("empty", "prompt_echo", "template_tokens").
ByKind odd_answers(const runlog::ProblemTree& tree);

int sum_of(const ByKind& counts);
std::string kinds_text(const ByKind& counts);  // "1 compile_error, 2 no_code"

}  // namespace kw::front
