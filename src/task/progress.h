// How far an answer came on the way to a correct kernel: what searches order attempts by, reports
// count, and staged rewards pay for.
#pragma once
#include <optional>
#include <string_view>

#include "task/verdict.h"

namespace kw::task {

// Each includes those before it.
enum class Progress {
  kNothing,     // no code in the answer
  kExtracted,   // it does not compile
  kCompiled,    // it does not run to its end, or breaks a rule
  kRan,         // the outputs have another shape or dtype
  kRightShape,  // values are wrong
  kCorrect,
};
inline constexpr int kProgresses = 6;
std::string_view to_string(Progress progress);  // "nothing", "extracted", "compiled", ...
std::optional<Progress> progress_from_string(std::string_view name);

// Of judged code. What ended in a limit of time, memory or output compiled, but is not taken to
// have run; what is noisy is correct, without a time; a quarantined problem says nothing.
Progress progress_of(Outcome outcome);
// The same of a verdict. A borderline pass is not taken to be correct.
Progress progress_of(const Verdict& verdict);

}  // namespace kw::task
