// Episodes over an engine that needs no model and environments that are scripted.
#include "train/rl/scheduler.h"

#include <algorithm>
#include <atomic>
#include <future>
#include <map>
#include <mutex>
#include <optional>
#include <utility>

#include <gtest/gtest.h>

#include "lm/testing/fake_engine.h"
#include "lm/tokenizer/testing/small_tokenizer.h"
#include "train/rl/played.h"
#include "train/rl/rank_share.h"

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

class HookedEngine : public lm::FakeEngine {
 public:
  using FakeEngine::FakeEngine;
  void run(const lm::Step& step, std::span<lm::Sample> samples) override {
    if (before_run) before_run(drawn_);
    drawn_ += samples.size();
    FakeEngine::run(step, samples);
  }
  std::function<void(std::size_t drawn)> before_run;  // with the number of tokens so far

 private:
  std::size_t drawn_ = 0;
};

class Scheduling : public testing::Test {
 protected:
  // A scheduler with what it borrows; one of them at a time.
  struct World {
    World(const Scheduling& test, Script script, const SchedulerSettings& settings, int judges = 2,
          std::int64_t context = 200, JudgedAnswers saved = {})
        : environment(std::move(script)),
          engine({3, context, 16}, 258),  // never the end of a turn
          pool(std::in_place, judges),
          scheduler({environment, test.chat_, engine, *pool, standstill}, settings,
                    std::move(saved)) {
      environment.lost = &lost;
    }
    // The answers of a step's plan, for tests that begin several.
    Status begin(std::int64_t step, const std::vector<std::string>& tasks = {"a", "b"}) {
      return scheduler.begin(plan(step, tasks), {});
    }
    // Weights change before each step.
    Result<Played> finish(std::int64_t step, const std::stop_token& stop = {}) {
      engine.weights_changed(static_cast<std::int32_t>(step));
      return scheduler.finish(step, stop);
    }

    std::atomic<bool> lost{false};
    ScriptedEnvironment environment;
    HookedEngine engine;
    os::Standstill standstill;
    std::optional<Judges> pool;
    Scheduler scheduler;
  };

  static RolloutPlan plan(std::int64_t step, const std::vector<std::string>& tasks = {"a", "b"}) {
    RolloutPlan out;
    out.step = step;
    out.tasks = tasks;
    out.samples = 3;
    out.first_episode = static_cast<std::uint64_t>(40 + 6 * step);
    out.sampler = {.seed = 1, .answer_tokens = 4};
    return out;
  }
  static SchedulerSettings settings() {
    SchedulerSettings out;
    out.tries = 3;
    out.pause_seconds = 0;
    return out;
  }
  // A step on its own.
  Result<Played> run(Script script, int judges = 2, std::int64_t context = 200,
                     const std::stop_token& stop = {}) {
    World world(*this, std::move(script), settings(), judges, context);
    KW_TRY_STATUS(world.begin(6));
    return world.finish(6, stop);
  }
  // All that a step learns from.
  static std::string text_of(const Played& played) {
    std::string out = played.failure + "\n";
    for (const environment::Record& one : played.records) out += to_json(one).dump() + "\n";
    return out;
  }

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

TEST_F(Scheduling, TokensGoIntoTheTrajectoryAsTheyWereSampled) {
  std::mutex mutex;
  std::map<double, Answer> answers;
  const Played played = run([&](const std::string&, int, const Answer& answer) -> Result<Step> {
                          std::lock_guard lock(mutex);
                          const double reward = static_cast<double>(answers.size());
                          answers[reward] = answer;
                          return paid(reward);
                        }).value();
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

TEST_F(Scheduling, ALaterTurnFollowsOnOrBeginsAnew) {
  for (const bool whole : {false, true}) {
    const Played played = run([&](const std::string&, int turn, const Answer&) -> Result<Step> {
                            Step out = paid(turn);
                            out.done = turn == 1;
                            if (!out.done) out.next = {{{"user", "Again"}}, whole};
                            return out;
                          }).value();
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

TEST_F(Scheduling, AFailureIsNoRewardAndNeverZero) {
  std::atomic<int> calls{0};
  const Played played = run(
                            [&](const std::string& task, int, const Answer&) -> Result<Step> {
                              if (task == "a") return fail(ErrorCode::kUnsupported, "quarantined");
                              if (++calls % 2 == 1) return fail(ErrorCode::kUnavailable, "busy");
                              return paid(0.5);
                            },
                            1)
                            .value();
  EXPECT_EQ(played.without_reward, 3);
  EXPECT_EQ(played.failure, "quarantined");
  EXPECT_TRUE(played.groups[0].trajectories.empty());
  EXPECT_EQ(played.groups[1].trajectories.size(), 3U);  // each at its second try
  EXPECT_EQ(calls, 6);
}

TEST_F(Scheduling, ALostEnvironmentEndsTheStep) {
  World* here = nullptr;
  std::atomic<int> calls{0};
  World world(
      *this,
      [&](const std::string&, int, const Answer&) -> Result<Step> {
        if (++calls < 3) return paid(1);
        here->lost = true;
        return fail(ErrorCode::kUnavailable, "the process has ended");
      },
      settings(), 1);
  here = &world;
  ASSERT_TRUE(world.begin(6));
  const auto played = world.finish(6);
  ASSERT_FALSE(played.has_value());
  EXPECT_EQ(played.error().message(), "the process has ended");
  world.pool.reset();
  EXPECT_LE(calls, 6);  // none of them a second time
}

TEST_F(Scheduling, AMeasuredRewardKeepsItsInterval) {
  const Played played = run([&](const std::string& task, int, const Answer&) -> Result<Step> {
                          Step out = paid(2);
                          if (task == "a") out.interval = environment::RewardInterval{1, 4};
                          return out;
                        }).value();
  const rollout::Turn& measured = played.groups[0].trajectories[0].turns[0];
  EXPECT_EQ(measured.reward_low, 1);
  EXPECT_EQ(measured.reward_high, 4);
  const rollout::Turn& exact = played.groups[1].trajectories[0].turns[0];
  EXPECT_EQ(exact.reward_low, 2);
  EXPECT_EQ(exact.reward_high, 2);
}

TEST_F(Scheduling, ALongConversationEndsAndALongPromptIsRefused) {
  const Script again = [](const std::string&, int turn, const Answer&) -> Result<Step> {
    Step out = paid(1);
    out.done = turn == 5;
    if (!out.done) out.next = {{{"user", "Again"}}, false};
    return out;
  };
  const auto first = static_cast<std::int64_t>(chat_.begin({{"user", "a"}}).value().size());
  const Played played = run(again, 2, first + 6).value();
  EXPECT_EQ(played.no_room, 6);
  EXPECT_EQ(played.groups[0].trajectories[0].turns.size(), 1U);
  const auto refused = run(again, 2, first);
  ASSERT_FALSE(refused.has_value());
  EXPECT_NE(refused.error().message().find("max_tokens"), std::string::npos);
}

TEST_F(Scheduling, AStopEndsIt) {
  std::stop_source stop;
  const auto played = run(
      [&](const std::string&, int, const Answer&) -> Result<Step> {
        stop.request_stop();
        return fail(ErrorCode::kCancelled, "cancelled");
      },
      2, 200, stop.get_token());
  ASSERT_FALSE(played.has_value());
  EXPECT_EQ(played.error().code(), ErrorCode::kCancelled);
}

// ---- what overlaps

TEST_F(Scheduling, AnAnswerIsJudgedWhileOthersAreSampled) {
  std::promise<void> judged;
  std::once_flag first;
  World world(
      *this,
      [&](const std::string&, int, const Answer&) -> Result<Step> {
        std::call_once(first, [&] { judged.set_value(); });
        return paid(1);
      },
      settings());
  ASSERT_TRUE(world.begin(0));
  // Of six answers with four tokens, on three slots, some are done by then and others are not.
  bool waited = false;
  auto heard = judged.get_future();
  world.engine.before_run = [&](std::size_t drawn) {
    if (drawn < 20 || std::exchange(waited, true)) return;
    EXPECT_EQ(heard.wait_for(std::chrono::seconds(60)), std::future_status::ready);
  };
  EXPECT_TRUE(world.finish(0));
  EXPECT_TRUE(waited);
}

TEST_F(Scheduling, AStepIsDoneWhileTheNextOneIsJudged) {
  SchedulerSettings one = settings();
  one.staleness = 1;
  std::promise<void> is_trained;
  std::shared_future<void> trained = is_trained.get_future().share();
  World world(
      *this,
      [&](const std::string& task, int, const Answer&) -> Result<Step> {
        if (task == "b") trained.wait();
        return paid(1);
      },
      one);
  ASSERT_TRUE(world.begin(0, {"a"}) && world.begin(1, {"b"}));
  const Played first = world.finish(0).value();  // the next one's judges wait until this is done
  EXPECT_EQ(first.groups[0].id, "a");
  is_trained.set_value();
  const Played second = world.finish(1).value();
  EXPECT_EQ(second.groups[0].trajectories.size(), 3U);
  EXPECT_EQ(second.groups[0].trajectories[0].turns[0].versions, std::vector<std::int32_t>(4, 0));
}

// By step and turn: the weights that draw it. The last step has no other behind it.
std::map<std::pair<int, int>, std::int32_t> versions_of(const std::vector<Played>& all) {
  std::map<std::pair<int, int>, std::int32_t> out;
  for (std::size_t step = 0; step < all.size(); ++step)
    for (const rollout::Group& group : all[step].groups)
      for (const rollout::Trajectory& one : group.trajectories)
        for (std::size_t turn = 0; turn < one.turns.size(); ++turn) {
          const std::vector<std::int32_t>& versions = one.turns[turn].versions;
          EXPECT_EQ(std::ranges::count(versions, versions[0]), std::ssize(versions));
          const auto key = std::pair(static_cast<int>(step), static_cast<int>(turn));
          const auto [known, added] = out.try_emplace(key, versions[0]);
          EXPECT_EQ(known->second, versions[0]);
        }
  return out;
}

// Two turns; the reward depends on the answer alone.
Result<Step> two_turns(const std::string&, int turn, const Answer& answer) {
  Step out = paid(static_cast<double>(answer.text.size()) + answer.sampled.tokens[0] / 1000.0);
  out.done = turn == 1;
  if (!out.done) out.next = {{{"user", "Again, after " + answer.text}}, false};
  return out;
}

TEST_F(Scheduling, WeightsOfATurnDependOnNumbersAlone) {
  constexpr std::int64_t kSteps = 5;
  std::string want;
  for (const int judges : {1, 6}) {
    SchedulerSettings two = settings();
    two.staleness = 2;
    two.turns = 2;
    World world(*this, two_turns, two, judges);
    std::vector<Played> all;
    for (std::int64_t step = 0; step < kSteps; ++step) {
      for (std::int64_t next = step; next <= std::min(step + 2, kSteps - 1); ++next)
        ASSERT_TRUE(world.scheduler.has_begun(next) || world.begin(next));
      all.push_back(world.finish(step).value());
    }
    const std::map<std::pair<int, int>, std::int32_t> expected = {
        {{0, 0}, 0}, {{0, 1}, 0}, {{1, 0}, 0}, {{1, 1}, 0}, {{2, 0}, 0},
        {{2, 1}, 1}, {{3, 0}, 1}, {{3, 1}, 2}, {{4, 0}, 2}, {{4, 1}, 3}};
    EXPECT_EQ(versions_of(all), expected);
    std::string text;
    for (const Played& one : all) text += text_of(one);
    EXPECT_EQ(want.empty() ? text : want, text);
    want = text;
  }
}

TEST_F(Scheduling, TurnsThatNobodyKnewOfAreDrawnInTheirOwnStep) {
  SchedulerSettings two = settings();
  two.staleness = 2;  // and one turn
  World world(*this, two_turns, two);
  for (std::int64_t step = 0; step < 3; ++step) ASSERT_TRUE(world.begin(step));
  std::vector<Played> all;
  for (std::int64_t step = 0; step < 3; ++step) all.push_back(world.finish(step).value());
  const std::map<std::pair<int, int>, std::int32_t> expected = {
      {{0, 0}, 0}, {{0, 1}, 0}, {{1, 0}, 0}, {{1, 1}, 1}, {{2, 0}, 0}, {{2, 1}, 2}};
  EXPECT_EQ(versions_of(all), expected);
}

// ---- a process that ends between two steps

TEST_F(Scheduling, AnotherProcessGoesOnWithWhatEarlierWeightsDrew) {
  SchedulerSettings two = settings();
  two.staleness = 2;
  two.turns = 2;
  std::string want;
  for (const bool is_interrupted : {false, true}) {
    std::mutex mutex;
    std::map<std::pair<int, std::vector<std::int32_t>>, int> judged;  // by turn and tokens
    const Script counted = [&](const std::string& task, int turn, const Answer& answer) {
      std::lock_guard lock(mutex);
      ++judged[{turn, answer.sampled.tokens}];
      return two_turns(task, turn, answer);
    };
    std::optional<World> world(std::in_place, *this, counted, two);
    for (std::int64_t step = 0; step < 3; ++step) ASSERT_TRUE(world->begin(step));
    std::string text = text_of(world->finish(0).value());
    if (is_interrupted) {
      world->pool.reset();  // some are judged, and others are not
      const JudgedAnswers left = world->scheduler.answers_before(1);
      EXPECT_EQ(left.size(), 12U);
      EXPECT_EQ(left.at(46).size(), 2U);  // both turns of the next step
      EXPECT_EQ(left.at(52).size(), 1U);
      const std::string rows = to_jsonl(left);
      world.emplace(*this, counted, two, 2, 200, judged_answers_from_jsonl(rows, "ahead").value());
      for (std::int64_t step = 1; step < 3; ++step) ASSERT_TRUE(world->begin(step));
      // A process that ends at once leaves the same.
      EXPECT_EQ(to_jsonl(world->scheduler.answers_before(1)), rows);
    }
    ASSERT_TRUE(world->begin(3));
    for (std::int64_t step = 1; step < 4; ++step) text += text_of(world->finish(step).value());
    EXPECT_EQ(want.empty() ? text : want, text);
    want = text;
    for (const auto& [answer, times] : judged)
      EXPECT_TRUE(answer.first == 0 || times == 1);  // a last turn is judged once
  }
}

TEST_F(Scheduling, AnEvaluationLeavesLaterStepsAlone) {
  SchedulerSettings one = settings();
  one.staleness = 1;
  std::string want;
  for (const bool evaluates : {false, true}) {
    World world(*this, two_turns, one);
    ASSERT_TRUE(world.begin(0) && world.begin(1));
    std::string text = text_of(world.finish(0).value());
    world.engine.weights_changed(1);
    if (evaluates) {
      RolloutPlan alone = plan(0);
      alone.sampler.seed = 8;
      EXPECT_EQ(world.scheduler.play(alone, {}).value().episodes, 6);
      EXPECT_EQ(world.scheduler.answers_before(1).size(), 6U);
    }
    text += text_of(world.finish(1).value());
    EXPECT_EQ(want.empty() ? text : want, text);
    want = text;
  }
}

// Two turns, and one answer without a reward.
TEST_F(Scheduling, RanksThatPlayTheirSharesKnowAllEpisodes) {
  const Script script = [](const std::string& task, int turn,
                           const Answer& answer) -> Result<Step> {
    if (turn == 1 && task == "b" && answer.text.size() % 2 == 0)
      return fail(ErrorCode::kInvalidArgument, "not judged");
    Step out = paid(static_cast<double>(answer.text.size()));
    out.done = turn == 1;
    if (!out.done) out.next = {{{"user", "again"}}, false};
    return out;
  };
  const std::vector<std::string> tasks{"a", "b", "a"};
  World whole(*this, script, settings());
  ASSERT_TRUE(whole.begin(6, tasks));
  const auto want = whole.finish(6);
  ASSERT_TRUE(want) << want.error().message();
  JudgedAnswers answers;
  for (int rank = 0; rank < 2; ++rank) {
    World world(*this, script, settings());
    ASSERT_TRUE(world.scheduler.begin(share_of(plan(6, tasks), {rank, 2}), {}));
    world.engine.weights_changed(6);
    const auto batch = world.scheduler.finish_batch(6, {});
    ASSERT_TRUE(batch) << batch.error().message();
    (*batch)->add_answers_before(100, answers);
  }
  int asked = 0;
  ScriptedEnvironment other([&asked](const std::string&, int, const Answer&) -> Result<Step> {
    ++asked;
    return fail(ErrorCode::kInternal, "asked again");
  });
  JudgedAnswers some = answers;
  const auto played = played_from(other, chat_, 200, plan(6, tasks), std::move(answers), {});
  ASSERT_TRUE(played) << played.error().message();
  EXPECT_EQ(text_of(*played), text_of(*want));
  EXPECT_EQ(played->episodes, 9);
  EXPECT_EQ(played->without_reward, want->without_reward);
  EXPECT_GT(want->without_reward, 0);
  EXPECT_EQ(asked, 0);
  some.erase(some.begin());
  const auto missing = played_from(other, chat_, 200, plan(6, tasks), std::move(some), {});
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().message(), "turn 1 of episode 76 was told by no rank");
}

}  // namespace
}  // namespace kw::train
