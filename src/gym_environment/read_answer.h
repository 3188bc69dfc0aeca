// From a model's answer to a candidate.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "task/candidate.h"
#include "task/problem.h"
#include "text/finish.h"

namespace kw::gym_environment {

struct Reading {
  std::optional<task::Candidate> candidate;
  std::string why_not;  // a sentence for an answer without code: why it is the answer's fault
  // The same to count by: "no_block", "no_entry", "truncated" (prompt::Extracted), "no_room",
  // "kept_back", "bad_files".
  std::string cause = {};
};

// What the candidate is called.
struct Labels {
  std::string name;         // "attempt_0"
  std::string author;       // model or program
  std::string description;  // strategy of a program's candidate
};

// Without side effects: the same answer gives the same candidate. shown: code that stood in the
// prompt, which is no answer.
Reading read_answer(const task::Problem& problem, task::Language language, const std::string& text,
                    text::Finish finish, const Labels& labels,
                    const std::vector<std::string>& shown);

}  // namespace kw::gym_environment
