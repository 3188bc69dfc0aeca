// Answers with what the environment said of them, as a checkpoint keeps those of steps that have
// not been trained yet (docs/training.md).
#pragma once
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "environment/environment.h"

namespace kw::train {

struct JudgedAnswer {
  environment::Answer answer;
  // Empty: it is not judged yet. An error: it has no reward.
  std::optional<Result<environment::Step>> step = {};
};

// By the number of the episode: its answers from the first turn on.
using JudgedAnswers = std::map<std::uint64_t, std::vector<JudgedAnswer>>;

inline constexpr int kJudgedAnswerSchema = 1;
// JSON Lines, a row an answer; "" for none. Log-probabilities keep their bits.
std::string to_jsonl(const JudgedAnswers& answers);
// Strict; kInvalidArgument names the row and the key, and begins with `where`.
Result<JudgedAnswers> judged_answers_from_jsonl(std::string_view text, const std::string& where);

}  // namespace kw::train
