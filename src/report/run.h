// What a report is about: runs over problems with their attempts, whatever file they were read
// from (read_run.h). Plain values; nothing here is trusted to be sane text.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "task/progress.h"
#include "task/verdict.h"

namespace kw::report {

// Reference time / candidate time. FlashInfer-Bench's traces have no interval.
struct Speedup {
  double median = 0;
  std::optional<double> low, high;  // 95 %
};

// A text as far as a report keeps it.
struct Excerpt {
  std::string text;
  std::size_t left_out = 0;  // bytes behind it
};
// Cut between characters.
Excerpt excerpt(std::string_view text, std::size_t max_bytes);

inline constexpr std::string_view kSeveral = "several";

struct Spent {
  std::int64_t prompt_tokens = 0, completion_tokens = 0;
  double cost_usd = 0;  // 0: not known, or nothing to pay
  double seconds = 0;   // generating and judging

  std::int64_t tokens() const { return prompt_tokens + completion_tokens; }
  Spent& operator+=(const Spent& other) {
    prompt_tokens += other.prompt_tokens;
    completion_tokens += other.completion_tokens;
    cost_usd += other.cost_usd;
    seconds += other.seconds;
    return *this;
  }
};

struct Attempt {
  std::string id;      // as the run calls it, unique in its problem
  std::string parent;  // id of the attempt that this one was made from; empty: none
  task::Progress progress = task::Progress::kNothing;
  std::string outcome;             // a verdict's ("compile_error") or the run's own ("no_code")
  std::string why_no_code;         // a sentence, of an attempt without code
  std::string violation;           // class, with outcome violation
  std::optional<Speedup> speedup;  // of correct attempts with a time
  Spent spent;                     // with its tries that failed
  std::string proposer, language;
  Excerpt code, answer;  // answer: what a model said, where there is no code
  Excerpt reasoning;     // told beside it
  std::vector<task::Diagnostic> diagnostics;

  bool correct() const { return progress == task::Progress::kCorrect; }
};

// One problem that was asked, with its attempts in order; there may be none.
struct ProblemRecord {
  std::string name, hash;  // hash: empty when the file does not say it
  std::vector<Attempt> attempts;
  std::string failure;  // why it was given up, when not because of its attempts
  // Of traces, for each workload: the largest speedup of a solution that is correct on it, else 0.
  std::vector<double> workloads;
  Spent beside;  // on attempts that are not counted: without an answer, or without a verdict
};

struct Run {
  std::string name, path;
  std::string kind;  // "solve", "verdicts", "traces"
  std::string settings;
  // Empty: the file does not say it. Where it says different ones: kSeveral.
  std::string hardware, target, baseline;
  double wall_seconds = 0;  // 0: not recorded
  bool finished = true;     // false: the run was cut off, or still goes on
  // Every attempt of a problem was drawn by itself: pass@k is about such samples only.
  bool independent = true;
  std::vector<std::string> notes;  // about reading it, for people
  std::vector<ProblemRecord> problems;
};

// Why it is not correct: the outcome, with the class of a violation or why there is no code.
// Empty for a correct one.
std::string failure_of(const Attempt& attempt);

// The fastest correct attempt by median, timed ones first; nullptr when none is correct.
const Attempt* best_attempt(const ProblemRecord& problem);

}  // namespace kw::report
