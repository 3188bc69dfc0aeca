// The rollouts of a step among several ranks: each plays its share of the tasks and tells the
// others its answers, and all of them know all episodes then, as if each had played every one. An
// episode has the same number, and so the same draws, however many ranks there are.
#pragma once
#include <cstdint>
#include <stop_token>
#include <string>

#include "base/result.h"
#include "environment/environment.h"
#include "train/rl/chat_encoder.h"
#include "train/rl/judged_answer.h"
#include "train/rl/played.h"
#include "train/rl/rollout_batch.h"

namespace kw::train {

struct RankPlace {
  int rank = 0, ranks = 1;
};

// This rank's tasks, which stand one behind the other in the plan; none where there are more ranks
// than tasks.
RolloutPlan share_of(RolloutPlan whole, RankPlace place);
// Those of this rank's episodes, in a run whose steps have so many prompts with so many samples.
JudgedAnswers share_of(const JudgedAnswers& all, std::int64_t prompts, std::int64_t samples,
                       RankPlace place);

// ShareReport: what a rank tells the others when its share is played.
struct ShareReport {
  bool stopped = false;  // it was asked to stop: its share is not played
  double longest_judgement = 0, queued_seconds = 0;  // as in Played
  std::int64_t drawn_tokens = 0;                     // of answers that were sampled meanwhile
  JudgedAnswers answers;                             // of all its episodes
};
std::string to_text(const ShareReport& report);
// Strict; kInvalidArgument begins with `where`.
Result<ShareReport> share_report(const std::string& text, const std::string& where);

// The whole plan from the answers to all its episodes. The environment is asked for its first
// observations alone. most_tokens: of a conversation that has room for an answer. kInternal: an
// answer is missing, or was not judged.
Result<Played> played_from(environment::Environment& environment, const ChatEncoder& chat,
                           std::int64_t most_tokens, RolloutPlan plan, JudgedAnswers answers,
                           const std::stop_token& stop);

}  // namespace kw::train
