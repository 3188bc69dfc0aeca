// RankExchange: what the ranks of a run of reinforcement learning tell each other between updates:
// whether one of them is to stop, what came of their shares of a plan, and their answers for later
// steps. A run of one rank tells nobody, and has its own answers at once.
#pragma once
#include <cstdint>
#include <memory>
#include <stop_token>

#include "base/result.h"
#include "environment/environment.h"
#include "train/parallel/group.h"
#include "train/rl/chat_encoder.h"
#include "train/rl/judged_answer.h"
#include "train/rl/played.h"
#include "train/rl/rank_share.h"
#include "train/rl/rollout_batch.h"

namespace kw::train {

// Where all ranks' answers become episodes again. Borrowed; most_tokens as in played_from().
struct ExchangeParts {
  environment::Environment& environment;
  const ChatEncoder& chat;
  std::int64_t most_tokens = 0;
};

// All calls but place() are collective: every rank makes them in the same order, one thread at a
// time. kUnavailable names a rank that failed; kInvalidArgument one whose words cannot be read.
class RankExchange {
 public:
  explicit RankExchange(Group& group) : group_(group) {}  // borrowed

  RankPlace place() const { return {group_.rank(), group_.size()}; }
  bool is_alone() const { return group_.size() == 1; }

  // Whether a rank was asked to stop. seconds: becomes rank 0's.
  Result<bool> stops(bool asked, double& seconds);
  // Rank 0's number.
  Result<std::int64_t> of_root(std::int64_t mine);
  // What came of all episodes of a plan, as if this rank had played every one. mine: its share, or
  // why it was not played: a stop is told to the others, and every rank returns kCancelled. drawn:
  // tokens of answers that were sampled meanwhile; becomes the sum over all ranks.
  Result<Played> together(const ExchangeParts& parts, const RolloutPlan& whole,
                          Result<std::unique_ptr<RolloutBatch>> mine, std::int64_t& drawn,
                          const std::stop_token& stop);
  // Those of all ranks.
  Result<JudgedAnswers> answers_of_all(JudgedAnswers mine);

 private:
  Result<ShareReport> sum_of_all(const ShareReport& mine);

  Group& group_;
};

}  // namespace kw::train
