// Episodes over an engine that needs no model and environments that are scripted.
#include "train/rl/play.h"

#include <algorithm>
#include <atomic>
#include <map>
#include <mutex>

#include <gtest/gtest.h>

#include "lm/testing/fake_engine.h"
#include "lm/tokenizer/testing/small_tokenizer.h"

namespace kw::train {
namespace {

using environment::Answer;
using environment::Observation;
using environment::Step;

// What a test says to an answer: the task, the turn from 0, and the answer.
using Script = std::function<Result<Step>(const std::string&, int, const Answer&)>;

class ScriptedEnvironment : public environment::Environment {
 public:
  explicit ScriptedEnvironment(Script script) : script_(std::move(script)) {}
  std::vector<std::string> tasks() const override { return {"a", "b"}; }
  Status alive() const override {
    if (lost != nullptr && *lost) return fail(ErrorCode::kUnavailable, "the process has ended");
    return {};
  }
  const std::atomic<bool>* lost = nullptr;  // borrowed
  Result<std::unique_ptr<environment::Episode>> begin(const std::string& task,
                                                      const std::stop_token&) override {
    return std::make_unique<ScriptedEpisode>(*this, task);
  }

 private:
  class ScriptedEpisode : public environment::Episode {
   public:
    ScriptedEpisode(ScriptedEnvironment& owner, std::string task)
        : owner_(owner), task_(std::move(task)), observation_{{{"user", task_}}, true} {}
    const Observation& observation() const override { return observation_; }
    Result<Step> step(const Answer& answer, const std::stop_token&) override {
      KW_TRY(Step out, owner_.script_(task_, turn_, answer));
      ++turn_;
      observation_ = out.next;
      return out;
    }

   private:
    ScriptedEnvironment& owner_;
    const std::string task_;
    Observation observation_;
    int turn_ = 0;
  };
  Script script_;
};

class Playing : public testing::Test {
 protected:
  Result<Played> run(Script script, PlaySettings settings, std::int64_t context = 200,
                     const std::stop_token& stop = {}) {
    ScriptedEnvironment environment(std::move(script));
    environment.lost = &lost_;
    lm::FakeEngine engine({3, context, 16}, 258);  // never the end of a turn
    engine.weights_changed(6);
    settings.pause_seconds = 0;
    return play({environment, chat_, engine}, settings, {"a", "b"}, 40, stop);
  }
  static PlaySettings settings() {
    PlaySettings out;
    out.sampler = {.seed = 1, .answer_tokens = 4};
    out.samples = 3;
    out.judges = 2;
    out.tries = 3;
    return out;
  }

  std::atomic<bool> lost_{false};
  Json config_ = {{"eos_token", "<|im_end|>"}};
  lm::Tokenizer tokenizer_ =
      lm::Tokenizer::from_json(lm::testing::tokenizer_json({}), &config_).value();
  ChatEncoder chat_{tokenizer_};
};

Step paid(double reward) {
  Step out;
  out.reward = reward;
  out.done = true;
  return out;
}

TEST_F(Playing, TokensGoIntoTheTrajectoryAsTheyWereSampled) {
  std::mutex mutex;
  std::map<double, Answer> answers;
  const Played played = run(
                            [&](const std::string&, int, const Answer& answer) -> Result<Step> {
                              std::lock_guard lock(mutex);
                              const double reward = static_cast<double>(answers.size());
                              answers[reward] = answer;
                              return paid(reward);
                            },
                            settings())
                            .value();
  ASSERT_EQ(played.groups.size(), 2U);
  EXPECT_EQ(played.episodes, 6);
  for (const rollout::Group& group : played.groups) {
    ASSERT_EQ(group.trajectories.size(), 3U);
    for (const rollout::Trajectory& one : group.trajectories) {
      ASSERT_EQ(one.turns.size(), 1U);
      const rollout::Turn& turn = one.turns[0];
      const Answer& answer = answers.at(turn.reward);
      EXPECT_EQ(turn.tokens, answer.sampled.tokens);
      EXPECT_EQ(turn.logprobs, answer.sampled.logprobs);
      EXPECT_EQ(turn.versions, std::vector<std::int32_t>(4, 6));
      EXPECT_EQ(turn.context, chat_.begin({{"user", group.id}}).value());
      EXPECT_TRUE(turn.truncated);
      EXPECT_EQ(answer.text, chat_.text(turn.tokens));
    }
  }
}

TEST_F(Playing, ALaterTurnFollowsOnOrBeginsAnew) {
  for (const bool whole : {false, true}) {
    const Played played = run(
                              [&](const std::string&, int turn, const Answer&) -> Result<Step> {
                                Step out = paid(turn);
                                out.done = turn == 1;
                                if (!out.done) out.next = {{{"user", "Again"}}, whole};
                                return out;
                              },
                              settings())
                              .value();
    for (const rollout::Trajectory& one : played.groups[1].trajectories) {
      ASSERT_EQ(one.turns.size(), 2U);
      const rollout::Turn &first = one.turns[0], &second = one.turns[1];
      EXPECT_TRUE(first.observed.empty());
      EXPECT_EQ(std::ranges::count(second.observed, 1), whole ? 0 : 5);  // bytes of "Again"
      EXPECT_EQ(second.observed.size(), whole ? 0 : second.context.size());
      const auto& read = played.conversations.at(one.number);
      ASSERT_EQ(read.size(), 2U);
      EXPECT_EQ(read[0].back().content, "b");
      EXPECT_EQ(read[1].size(), whole ? 1U : 3U);
      EXPECT_EQ(read[1].back().content, "Again");
      const auto want = whole
                            ? chat_.begin({{"user", "Again"}})
                            : chat_.follow({{"user", "b"}, {"assistant", chat_.text(first.tokens)}},
                                           false, {{"user", "Again"}});
      EXPECT_EQ(second.context, want.value());
      EXPECT_FALSE(first.follows);
      EXPECT_EQ(second.follows, !whole);
      EXPECT_NE(second.tokens, first.tokens);
      EXPECT_EQ(second.reward, 1);
    }
  }
}

TEST_F(Playing, AFailureIsNoRewardAndNeverZero) {
  std::atomic<int> calls{0};
  const Played played = run(
                            [&](const std::string& task, int, const Answer&) -> Result<Step> {
                              if (task == "a") return fail(ErrorCode::kUnsupported, "quarantined");
                              if (++calls % 2 == 1) return fail(ErrorCode::kUnavailable, "busy");
                              return paid(0.5);
                            },
                            [] {
                              PlaySettings out = settings();
                              out.judges = 1;
                              return out;
                            }())
                            .value();
  EXPECT_EQ(played.without_reward, 3);
  EXPECT_EQ(played.failure, "quarantined");
  EXPECT_TRUE(played.groups[0].trajectories.empty());
  EXPECT_EQ(played.groups[1].trajectories.size(), 3U);  // each at its second try
  EXPECT_EQ(calls, 6);
}

TEST_F(Playing, ALostEnvironmentEndsTheStep) {
  std::atomic<int> calls{0};
  PlaySettings one = settings();
  one.judges = 1;
  const auto played = run(
      [&](const std::string&, int, const Answer&) -> Result<Step> {
        if (++calls < 3) return paid(1);
        lost_ = true;
        return fail(ErrorCode::kUnavailable, "the process has ended");
      },
      one);
  ASSERT_FALSE(played.has_value());
  EXPECT_EQ(played.error().message(), "the process has ended");
  EXPECT_EQ(calls, 6);  // none of them a second time
}

TEST_F(Playing, AMeasuredRewardKeepsItsInterval) {
  const Played played = run(
                            [&](const std::string& task, int, const Answer&) -> Result<Step> {
                              Step out = paid(2);
                              if (task == "a") out.interval = environment::RewardInterval{1, 4};
                              return out;
                            },
                            settings())
                            .value();
  const rollout::Turn& measured = played.groups[0].trajectories[0].turns[0];
  EXPECT_EQ(measured.reward_low, 1);
  EXPECT_EQ(measured.reward_high, 4);
  const rollout::Turn& exact = played.groups[1].trajectories[0].turns[0];
  EXPECT_EQ(exact.reward_low, 2);
  EXPECT_EQ(exact.reward_high, 2);
}

TEST_F(Playing, ALongConversationEndsAndALongPromptIsRefused) {
  const Script again = [](const std::string&, int turn, const Answer&) -> Result<Step> {
    Step out = paid(1);
    out.done = turn == 5;
    if (!out.done) out.next = {{{"user", "Again"}}, false};
    return out;
  };
  const auto first = static_cast<std::int64_t>(chat_.begin({{"user", "a"}}).value().size());
  const Played played = run(again, settings(), first + 6).value();
  EXPECT_EQ(played.no_room, 6);
  EXPECT_EQ(played.groups[0].trajectories[0].turns.size(), 1U);
  const auto refused = run(again, settings(), first);
  ASSERT_FALSE(refused.has_value());
  EXPECT_NE(refused.error().message().find("max_tokens"), std::string::npos);
}

TEST_F(Playing, AStopEndsIt) {
  std::stop_source stop;
  const auto played = run(
      [&](const std::string&, int, const Answer&) -> Result<Step> {
        stop.request_stop();
        return fail(ErrorCode::kCancelled, "cancelled");
      },
      settings(), 200, stop.get_token());
  ASSERT_FALSE(played.has_value());
  EXPECT_EQ(played.error().code(), ErrorCode::kCancelled);
}

}  // namespace
}  // namespace kw::train
