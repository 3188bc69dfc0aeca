// From an answer to a candidate, and from a verdict to what the tree keeps of it.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "runlog/event.h"
#include "task/candidate.h"
#include "task/problem.h"
#include "task/verdict.h"

namespace kw::search {

struct Reading {
  std::optional<task::Candidate> candidate;
  std::string why_not;  // where there is none: the answer's fault, in a sentence
  // The same to count by: "no_block", "no_entry", "truncated" (prompt::Extracted), "no_room",
  // "kept_back", "bad_files".
  std::string cause = {};
};

// Without side effects: the same answer gives the same candidate. shown: code that stood in the
// prompt, which is no answer.
Reading read_answer(const task::Problem& problem, task::Language language,
                    const runlog::Answered& answered, const std::string& text,
                    const std::vector<std::string>& shown);

// Everything but problem, attempt, blob and times.
runlog::Judged summary_of(const task::Verdict& verdict);

}  // namespace kw::search
