// Gym::submit over a target whose judgements end when the test says so.
#include "gym/gym.h"

#include <condition_variable>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace kw::gym {
namespace {

using Time = std::chrono::steady_clock::time_point;
constexpr Time kNever = Time::max();

// Records the target's requests and says when it may answer. It outlives the gym.
class Script {
 public:
  // On the gym's threads: returns when finish() was called for the name, or at a stop.
  Result<task::Verdict> judge(const std::string& name, const std::stop_token& stop) {
    std::unique_lock lock(mutex_);
    begun_.push_back(name);
    changed_.notify_all();
    if (!changed_.wait(lock, stop, [&] { return finished_.contains(name); })) {
      stopped_.push_back(name);
      changed_.notify_all();
      return fail(ErrorCode::kCancelled, "the target was stopped");
    }
    task::Verdict verdict;
    verdict.candidate_name = verdict.candidate_hash = name;
    return verdict;
  }
  void finish(const std::string& name) {
    std::lock_guard lock(mutex_);
    finished_.insert(name);
    changed_.notify_all();
  }
  void wait_until_begun(std::size_t count) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return begun_.size() >= count; });
  }
  std::vector<std::string> begun() {
    std::lock_guard lock(mutex_);
    return begun_;
  }
  std::vector<std::string> stopped() {
    std::lock_guard lock(mutex_);
    return stopped_;
  }
  std::string open;  // the name whose problem is open; set before submit

 private:
  std::mutex mutex_;
  std::condition_variable_any changed_;
  std::set<std::string> finished_;
  std::vector<std::string> begun_, stopped_;
};

class ScriptedTarget : public Target {
 public:
  explicit ScriptedTarget(Script& script) : script_(script) {}
  task::Target target() const override { return task::Target::kCpu; }
  Capabilities capabilities() const override { return {}; }
  Result<task::Verdict> judge(const EvalRequest& request, std::stop_token stop) override {
    return script_.judge(request.candidate.name, stop);
  }
  std::string session_key(const EvalRequest& request) const override {
    return request.candidate.name;
  }
  bool is_open(const std::string& session_key) const override {
    return session_key == script_.open;
  }
  Result<task::Signature> describe(const task::Problem&) override {
    return fail(ErrorCode::kUnsupported, "not here");
  }

 private:
  Script& script_;
};

EvalRequest request(const std::string& name) {
  EvalRequest out;
  out.candidate.name = name;
  out.candidate.hash = name;
  return out;
}

class GymTest : public testing::Test {
 protected:
  GymTest() { restart(1); }
  void restart(int jobs) {
    std::vector<std::unique_ptr<Target>> targets;
    targets.push_back(std::make_unique<ScriptedTarget>(script_));
    gym_ = Gym::with_targets(std::move(targets), jobs);
  }
  std::future<Result<task::Verdict>> submit(const std::string& name, std::stop_token stop = {},
                                            Time deadline = kNever) {
    return gym_->submit(request(name), deadline, std::move(stop));
  }
  static std::string answer(std::future<Result<task::Verdict>>& future) {
    auto result = future.get();
    return result ? result->candidate_hash : result.error().message();
  }

  Script script_;
  std::unique_ptr<Gym> gym_;
};

TEST_F(GymTest, TheSameRequestIsJudgedOnce) {
  auto first = submit("a"), second = submit("a");
  script_.finish("a");
  EXPECT_EQ(answer(first), "a");
  EXPECT_EQ(answer(second), "a");
  EXPECT_THAT(script_.begun(), testing::ElementsAre("a"));
}

TEST_F(GymTest, EverySubmitterGetsItsOwnNameOfTheCandidate) {
  EvalRequest other = request("a");
  other.candidate.name = "b";
  auto first = submit("a"), second = gym_->submit(other, kNever, {});
  script_.finish("a");
  EXPECT_EQ(first.get()->candidate_name, "a");
  EXPECT_EQ(second.get()->candidate_name, "b");
  EXPECT_THAT(script_.begun(), testing::ElementsAre("a"));
}

TEST_F(GymTest, OneSubmittersStopLeavesTheOther) {
  std::stop_source stop;
  auto stopped = submit("a", stop.get_token()), kept = submit("a");
  script_.wait_until_begun(1);
  stop.request_stop();
  EXPECT_EQ(answer(stopped), "stopped by its submitter");
  script_.finish("a");
  EXPECT_EQ(answer(kept), "a");
  EXPECT_THAT(script_.stopped(), testing::IsEmpty());
}

TEST_F(GymTest, TheSecondSubmittersStopWorks) {
  std::stop_source stop;
  auto kept = submit("a"), stopped = submit("a", stop.get_token());
  script_.wait_until_begun(1);
  stop.request_stop();
  EXPECT_EQ(answer(stopped), "stopped by its submitter");
  script_.finish("a");
  EXPECT_EQ(answer(kept), "a");
}

TEST_F(GymTest, TheLastStopStopsTheJudgement) {
  std::stop_source stop;
  auto first = submit("a", stop.get_token()), second = submit("a", stop.get_token());
  script_.wait_until_begun(1);
  stop.request_stop();
  EXPECT_EQ(answer(first), "stopped by its submitter");
  EXPECT_EQ(answer(second), "stopped by its submitter");
  auto next = submit("b");  // the only thread is free again
  script_.finish("b");
  EXPECT_EQ(answer(next), "b");
  EXPECT_THAT(script_.stopped(), testing::ElementsAre("a"));
}

TEST_F(GymTest, AStopBeforeSubmitAnswersAtOnce) {
  std::stop_source stop;
  stop.request_stop();
  auto future = submit("a", stop.get_token());
  EXPECT_EQ(answer(future), "stopped by its submitter");
}

TEST_F(GymTest, OneSubmittersDeadlineLeavesTheOther) {
  [[maybe_unused]] auto busy = submit("busy");
  script_.wait_until_begun(1);
  auto late = submit("a", {}, Time::min()), kept = submit("a");
  EXPECT_EQ(answer(late), "not judged by its deadline");
  script_.finish("busy");
  script_.finish("a");
  EXPECT_EQ(answer(kept), "a");
}

TEST_F(GymTest, ADeadlineStopsARunningJudgement) {
  auto late = submit("a", {}, std::chrono::steady_clock::now() + std::chrono::milliseconds(20));
  EXPECT_EQ(answer(late), "not judged by its deadline");
  auto next = submit("b");
  script_.finish("b");
  EXPECT_EQ(answer(next), "b");
}

TEST_F(GymTest, ShutdownStopsWhatRunsAndAnswersWhatWaits) {
  auto running = submit("a"), waiting = submit("b");
  script_.wait_until_begun(1);
  gym_.reset();
  EXPECT_EQ(answer(running), "the target was stopped");
  EXPECT_EQ(answer(waiting), "the gym was shut down");
  EXPECT_THAT(script_.begun(), testing::ElementsAre("a"));
}

TEST_F(GymTest, AnOpenProblemAndPriorityGoFirst) {
  script_.open = "open";
  [[maybe_unused]] auto busy = submit("busy");
  script_.wait_until_begun(1);
  [[maybe_unused]] auto cold = submit("cold"), open = submit("open");
  EvalRequest urgent_request = request("urgent");
  urgent_request.priority = 1;
  [[maybe_unused]] auto urgent = gym_->submit(std::move(urgent_request), kNever, {});
  for (const char* name : {"busy", "cold", "open", "urgent"}) script_.finish(name);
  EXPECT_EQ(answer(cold), "cold");
  EXPECT_THAT(script_.begun(), testing::ElementsAre("busy", "urgent", "open", "cold"));
}

TEST_F(GymTest, JobsOpenProblemsOfTheirOwn) {
  restart(2);
  const auto submit_of = [&](const std::string& problem, const std::string& name) {
    EvalRequest of_problem = request(name);
    of_problem.problem.hash = problem;
    return gym_->submit(of_problem, kNever, {});
  };
  std::vector<std::future<Result<task::Verdict>>> answers;
  for (const char* name : {"busy", "busy too"}) answers.push_back(submit_of(name, name));
  script_.wait_until_begun(2);
  for (const char* name : {"first of p", "second of p"}) answers.push_back(submit_of("p", name));
  answers.push_back(submit_of("q", "first of q"));
  script_.finish("busy");
  script_.wait_until_begun(3);
  script_.finish("busy too");
  script_.wait_until_begun(4);
  EXPECT_EQ(script_.begun()[2], "first of p");
  EXPECT_EQ(script_.begun()[3], "first of q");
  for (const char* name : {"first of p", "second of p", "first of q"}) script_.finish(name);
  for (auto& one : answers) EXPECT_TRUE(one.get());
}

TEST_F(GymTest, ATargetThatTheGymLacksIsNamed) {
  EvalRequest cuda = request("a");
  cuda.options.target = task::Target::kCuda;
  auto future = gym_->submit(std::move(cuda), kNever, {});
  EXPECT_EQ(answer(future), "target \"cuda\" is not available in this build");
}

}  // namespace
}  // namespace kw::gym
