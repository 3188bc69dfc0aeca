// Trajectories of reinforcement learning: what a policy sampled, what it was paid, and groups of
// trajectories that answer the same prompt.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "base/json.h"

namespace kw::rollout {

// One answer of the policy inside a trajectory. Vectors that belong to tokens have their size.
struct Turn {
  std::vector<std::int32_t> context;  // tokens before the answer
  // True: the context goes on behind the answer of the turn before, and has what is new since then.
  // False: it is all that the policy read.
  bool follows = false;
  std::vector<std::int32_t> tokens;  // the answer: sampled, never decoded and encoded again
  std::vector<float> logprobs;       // natural, of the distribution that each token was drawn from
  std::vector<std::int32_t> versions;  // weight version that sampled each token; empty: all 0
  // Log-probability of the least likely token that truncated sampling left; empty: none was taken
  // away.
  std::vector<float> cutoffs;
  // Added to the reward token by token (a KL penalty); empty: none.
  std::vector<double> token_rewards;
  double reward = 0;
  // The 95 % interval of a reward that was measured; both as the reward: it is exact.
  double reward_low = 0, reward_high = 0;
  bool truncated = false;  // cut at the limit of tokens
  // For logs: the answer's text, and what the environment said of it.
  std::string text;
  Json facts = Json::object();
  // It has a 1 for each token of the context that is text of an observation that follows on an
  // answer; empty: none is.
  std::vector<std::uint8_t> observed;
  // Given by fill_advantages: one number for each token.
  std::vector<double> advantages;
  // Tokens that the policy reads before the answer when it is its own teacher; empty: it teaches
  // nothing of this answer.
  std::vector<std::int32_t> teacher_context;
};

// Turns in their order; a trajectory may stop earlier than others of its group.
struct Trajectory {
  std::vector<Turn> turns;
  std::uint64_t number = 0;  // of the episode in its run
};

// Trajectories of one prompt.
struct Group {
  std::string id;
  std::vector<Trajectory> trajectories;
  bool without_spread = false;  // its rewards teach nothing (group_filter.h)
};

// The turn's reward together with the rewards of its tokens.
double reward_of(const Turn& turn);
// Sum over the trajectory's turns.
double return_of(const Trajectory& trajectory);
// Sum over turns k >= first of discount^(k - first) times the reward of turn k.
double return_from(const Trajectory& trajectory, std::size_t first, double discount);

}  // namespace kw::rollout
