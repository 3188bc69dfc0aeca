// Runs made by hand, for the tests of this folder.
#pragma once
#include <string>
#include <utility>
#include <vector>

#include "report/run.h"

namespace kw::report {

inline Attempt failed(task::Progress progress = task::Progress::kExtracted,
                      std::string outcome = "compile_error") {
  Attempt out;
  out.progress = progress;
  out.outcome = std::move(outcome);
  return out;
}

inline Attempt correct(double median, double low, double high) {
  Attempt out;
  out.progress = task::Progress::kCorrect;
  out.outcome = "passed";
  out.speedup = Speedup{median, low, high};
  return out;
}

inline Attempt untimed() {
  Attempt out = correct(1, 1, 1);
  out.speedup.reset();
  return out;
}

// Attempts get their place as id.
inline ProblemRecord problem(std::string name, std::vector<Attempt> attempts) {
  ProblemRecord out;
  out.name = std::move(name);
  out.attempts = std::move(attempts);
  for (std::size_t i = 0; i < out.attempts.size(); ++i) out.attempts[i].id = std::to_string(i);
  return out;
}

inline Run run_of(std::string name, std::vector<ProblemRecord> problems) {
  Run out;
  out.name = std::move(name);
  out.kind = "verdicts";
  out.problems = std::move(problems);
  return out;
}

}  // namespace kw::report
