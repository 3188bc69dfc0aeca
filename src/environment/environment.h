// Environment: tasks that a policy answers, in one or several turns, and what it is paid for them.
// Reinforcement learning and search share this interface (docs/environment.md).
//
// Theory of operation: begin() makes an episode of a task, with the first observation. step() takes
// the answer to the latest observation and gives the reward, and the next observation where the
// episode goes on. Calls block until the answer is judged, so a caller has a thread for each answer
// that it waits for. A failure of the machine or of the problem is an error and never a reward of
// 0; the episode is then as it was before the call, and the same answer may be given again.
#pragma once
#include <cstdint>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "text/chat_message.h"
#include "text/finish.h"

namespace kw::environment {

// The questions to the policy.
struct Observation {
  std::vector<text::ChatMessage> messages;
  // True: the messages are all that the policy sees. False: they follow on the conversation so far.
  bool whole = true;
  bool operator==(const Observation&) const = default;
};

// Tokens as the policy drew them. No environment reads them; those that record answers keep them to
// the bit, so that nothing is ever encoded a second time.
struct Sampled {
  std::vector<std::int32_t> tokens;
  std::vector<float> logprobs;  // natural, of the distribution that each token was drawn from
  std::vector<std::int32_t> versions;  // weight version that drew each token; empty: all 0
  // Log-probability of the least likely token that truncated sampling left; empty: none was taken
  // away.
  std::vector<float> cutoffs = {};
  bool operator==(const Sampled&) const = default;
};

struct Answer {
  std::string text;  // UTF-8, without special tokens
  text::Finish finish = text::Finish::kStop;
  Sampled sampled = {};  // empty where the policy has no tokens
  bool operator==(const Answer&) const = default;
};

// The 95 % confidence interval of a reward that was measured.
struct RewardInterval {
  double low = 0, high = 0;  // finite, low <= high
  bool operator==(const RewardInterval&) const = default;
};

struct Step {
  double reward = 0;                            // finite
  std::optional<RewardInterval> interval = {};  // none: the reward is exact
  bool done = false;            // true: the episode has ended, and there is no next observation
  Observation next = {};        // empty where done
  Json facts = Json::object();  // for logs: parts of the reward, the outcome, times
};

// One thread at a time.
class Episode {
 public:
  virtual ~Episode() = default;
  // The questions to be answered next; until done.
  virtual const Observation& observation() const = 0;
  // kCancelled after a stop. Other errors mean that there is no reward: may_retry() says whether
  // the same answer can be judged later. Not to be called after done (KW_CHECK).
  virtual Result<Step> step(const Answer& answer, const std::stop_token& stop) = 0;
};

// Any thread may call, several at once.
class Environment {
 public:
  virtual ~Environment() = default;
  virtual std::vector<std::string> tasks() const = 0;  // their keys, each once, in a fixed order
  // The episode may outlive neither the environment nor what that borrows. kNotFound for an unknown
  // task; kCancelled after a stop.
  virtual Result<std::unique_ptr<Episode>> begin(const std::string& task,
                                                 const std::stop_token& stop) = 0;
  // An error: no call will succeed any more, so that a run must end. Its message says why.
  virtual Status alive() const { return {}; }
};

}  // namespace kw::environment
