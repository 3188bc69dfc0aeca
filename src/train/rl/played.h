// Played: what came of the episodes of a step, as the trainer and an evaluation take it.
#pragma once
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "environment/recorded_environment.h"
#include "rollout/trajectory.h"
#include "text/chat_message.h"

namespace kw::train {

// The messages that the policy had read before each turn's answer, by the number of the episode.
using Conversations = std::map<std::uint64_t, std::vector<std::vector<text::ChatMessage>>>;

struct Played {
  std::vector<rollout::Group> groups;  // one a task, in their order, without what had no reward
  Conversations conversations;         // of these groups' episodes
  std::vector<environment::Record> records;  // of all episodes, one after the other
  std::int64_t episodes = 0;
  std::int64_t without_reward = 0;  // episodes that the environment's failures ended
  std::int64_t no_room = 0;         // episodes that ended because their conversation was too long
  std::string failure;              // the first message of these failures
  double longest_judgement = 0;     // seconds, pauses between tries included
  double queued_seconds = 0;        // mean over answers: until a judge took it
};

}  // namespace kw::train
