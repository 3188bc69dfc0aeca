// Judges one sample's answer in the gym.
#pragma once
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "base/result.h"
#include "data/sample.h"
#include "gym/gym.h"
#include "prompt/problem_prompt.h"
#include "search/recorded_judge.h"

namespace kw::data {

// Says whose fault it is that a sample does not pass.
enum class Fault {
  kNone,     // it passes, or its two answers are no pair: not_wrong, not_right, not_faster
  kAnswer,   // the answer is wrong
  kProblem,  // quarantined, unsupported, noisy, bad_problem: nothing is known of the answer
};

// It says what judging a sample has found out. outcome: task::Outcome's name, or one of
//   borderline     it passes with an error near its budget, which is no verified example
//   no_code        the answer has no code that could be judged
//   bad_problem    the problem cannot be read
//   wrong_plan     the generator's: the plan is not the kernel's (generator_origin.h)
//   not_wrong      repair: the first answer is right
//   not_right      speed-up: the first answer is wrong
//   not_faster     speed-up: the intervals of the two do not lie apart
//   wrong_at_other_sizes   the module at other sizes: the answer is not right there
struct SampleVerdict {
  std::string outcome;
  // More of it, where there is more to count by: search::Reading's class with no_code, the class of
  // a violation, the outcome at the other sizes or of the first answer.
  std::string cause;
  std::string reason, evidence;
  bool passed = false;
  Fault fault = Fault::kNone;
  int size_sets = 0;  // at which the answer is right: a definition's workloads, a module's sizes
  std::optional<task::Speedup> speedup;
  std::vector<text::ChatMessage> question;  // the new question of a sample that was pending
};

// Reads the answer as solve does, and judges it; for a pending sample, the previous answer first.
// An error is never the sample's fault. Speed-up samples are timed, whatever `options` say.
Result<SampleVerdict> judge_sample(const Sample& sample, const gym::EvalOptions& options,
                                   const prompt::PromptOptions& asking, gym::Judge& judge,
                                   const std::stop_token& stop);

}  // namespace kw::data
