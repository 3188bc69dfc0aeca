// OpenEpisode: one episode of a policy, from its first observation to its trajectory. What was
// sampled goes into the trajectory as it is.
#pragma once
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "environment/environment.h"
#include "environment/recorded_environment.h"
#include "rollout/trajectory.h"
#include "train/rl/chat_encoder.h"
#include "train/rl/judged_answer.h"
#include "train/rl/sampler.h"

namespace kw::train {

// A judge needs this of an answer. It may outlive the episode here, not the environment.
struct Judgement {
  std::shared_ptr<environment::Episode> episode;
  // Answers of an earlier process, which the environment of this one has not been told yet.
  std::vector<environment::Answer> before;
  environment::Answer answer;
};

struct JudgementTime {
  double queued = 0, judged = 0;  // seconds: until a judge took the answer, and of the judge
};

using SharedTokens = std::shared_ptr<const std::vector<std::int32_t>>;

// One thread at a time.
class OpenEpisode {
 public:
  enum class State : std::uint8_t {
    kReady,    // the next answer can be sampled
    kSampled,  // it is being sampled
    kJudged,   // it is being judged
    kOver
  };

  // prompt: the tokens of the first observation. number: of the episode in its run. saved: its
  // answers of an earlier process.
  OpenEpisode(std::unique_ptr<environment::Episode> episode, std::uint64_t number,
              SharedTokens prompt, std::vector<JudgedAnswer> saved);

  State state() const { return state_; }
  bool has_failed() const;  // the environment gave no reward
  bool has_no_room() const { return no_room_; }
  std::uint64_t number() const { return number_; }
  std::int64_t next_turn() const { return std::ssize(turns_); }  // of the next answer, from 0
  const SharedTokens& context() const { return context_; }       // all before the next answer

  // From kReady: the answer is sampled, or was by an earlier process; then it is here.
  void begin_answer() { state_ = State::kSampled; }
  std::optional<JudgedAnswer> take_saved();
  void answered(environment::Answer answer);
  Judgement judgement();
  // Takes what the environment said to the latest answer; an error: no reward. most_tokens: of a
  // conversation that has room for an answer. Errors are those of the chat's template.
  Status settle(Result<environment::Step> step, JudgementTime time, const ChatEncoder& chat,
                std::int64_t most_tokens);

  // Answers that weights before `version` drew, with what is known of them.
  std::vector<JudgedAnswer> answers_before(std::int32_t version) const;
  // These tell of the judged turns.
  rollout::Trajectory trajectory() const;
  std::vector<std::vector<text::ChatMessage>> conversations() const;
  std::vector<environment::Record> records(const std::string& task) const;
  std::string failure() const;  // "": there was none
  std::vector<JudgementTime> times() const;

 private:
  struct Turn {
    SharedTokens context;
    std::size_t known = 0;               // tokens of it that earlier turns had
    std::vector<std::uint8_t> observed;  // of the other tokens: rollout::Turn::observed
    std::vector<text::ChatMessage> conversation;
    JudgedAnswer judged;
    JudgementTime time;
  };

  Status go_on(const environment::Step& step, const ChatEncoder& chat, std::int64_t most_tokens);

  std::shared_ptr<environment::Episode> episode_;
  std::uint64_t number_ = 0;
  environment::Observation first_;
  State state_ = State::kReady;
  bool no_room_ = false;
  // The next answer begins with these.
  std::vector<text::ChatMessage> conversation_;
  SharedTokens context_;
  std::size_t known_ = 0;
  std::vector<std::uint8_t> observed_;

  std::vector<Turn> turns_;          // with an answer
  std::size_t told_ = 0;             // turns that the environment of this process has been told
  std::vector<JudgedAnswer> saved_;  // answers of an earlier process
};

}  // namespace kw::train
