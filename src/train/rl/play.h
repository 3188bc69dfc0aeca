// play: episodes of a policy in an environment, as trajectories to learn from.
//
// All episodes take a turn together: answers are sampled, then judged on threads, then those that
// go on take the next turn. What was sampled goes into the trajectory as it is.
#pragma once
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "base/result.h"
#include "environment/environment.h"
#include "lm/engine.h"
#include "rollout/trajectory.h"
#include "train/rl/chat_encoder.h"
#include "train/rl/sampler.h"

namespace kw::train {

// All borrowed.
struct PlayParts {
  environment::Environment& environment;
  const ChatEncoder& chat;
  lm::Engine& engine;
};

struct PlaySettings {
  SamplerSettings sampler;   // `ends` are the chat's
  std::int64_t samples = 1;  // episodes of each task
  int judges = 1;            // answers that are judged at once
  int tries = 1;             // of an answer whose judgement failed for a reason that passes
  double pause_seconds = 1;  // before the second try, doubled each time
};

// The messages that the policy had read before each turn's answer, by the number of the episode.
using Conversations = std::map<std::uint64_t, std::vector<std::vector<text::ChatMessage>>>;

struct Played {
  std::vector<rollout::Group> groups;  // one a task, in their order, without what had no reward
  Conversations conversations;         // of these groups' episodes
  std::int64_t episodes = 0;
  std::int64_t without_reward = 0;  // episodes that the environment's failures ended
  std::int64_t no_room = 0;         // episodes that ended because their conversation was too long
  std::string failure;              // the first message of these failures
  double sample_seconds = 0, judge_seconds = 0;  // wall time of each phase
  // The sum of all judgements, pauses between tries included, and the longest one.
  double judgement_seconds = 0, longest_judgement = 0;
};

// first_sequence: the number of the first episode of the step; they count on from there, so that no
// two episodes of a run draw the same numbers. The same arguments give the same result, whatever
// order judgements come in. Errors: kCancelled after a stop; a task that cannot begin; a prompt
// that leaves no room for an answer (kInvalidArgument); an environment that is lost (alive()).
Result<Played> play(PlayParts parts, const PlaySettings& settings,
                    const std::vector<std::string>& tasks, std::uint64_t first_sequence,
                    const std::stop_token& stop);

}  // namespace kw::train
