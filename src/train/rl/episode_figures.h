// The figures of episodes and advantages in a step's log: means over all that was sampled.
#pragma once
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>

#include "rollout/trajectory.h"

namespace kw::train {

struct EpisodeFigures {
  double reward = 0, reward_deviation = 0;  // over episodes
  double truncated = 0;                     // share of answers that were cut
  double answer_tokens = 0;                 // mean of an answer
  double distinct = 0;                      // share of a task's answers that are not repetitions
  std::int64_t tokens = 0;                  // of all answers
  std::map<std::string, double> parts;      // of the reward, by name: mean over all answers
  std::optional<double> correct;  // share of answers; none where the environment judges nothing
};
// All 0 without an answer.
EpisodeFigures episode_figures(std::span<const rollout::Group> groups);

// Over tokens of answers.
struct AdvantageFigures {
  double mean = 0, deviation = 0, magnitude = 0;  // of those that are trained on
  double zero_share = 0;  // of all that were sampled; those that were left out count as zero
};
// groups: with advantages, after the filters. sampled: tokens of all answers.
AdvantageFigures advantage_figures(std::span<const rollout::Group> groups, std::int64_t sampled);

// Steps between the weights that drew a token and those of now, over tokens of answers.
struct Staleness {
  double mean = 0;
  std::int64_t largest = 0;
};
// version: of the weights now.
Staleness staleness_of(std::span<const rollout::Group> groups, std::int64_t version);

// Whether the environment's facts say that the answer is right; none where they say nothing of it.
std::optional<bool> is_correct(const Json& facts);
// The parts of the reward in the environment's facts, by name.
std::map<std::string, double> reward_parts(const Json& facts);

}  // namespace kw::train
