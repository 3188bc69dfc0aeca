// Episodes over a scripted gym: rewards, what the next turn reads, and failures without a reward.
#include "gym_environment/kernel_environment.h"

#include <gtest/gtest.h>

#include "gym/testing/fake_judge.h"
#include "reward/named_reward.h"

namespace kw::gym_environment {
namespace {

using environment::Answer;
using environment::Step;
using task::Outcome;

task::Problem doubled() {
  task::Problem out;
  out.name = "doubled";
  out.hash = "hash of doubled";
  task::Definition definition;
  definition.name = out.name;
  definition.axes = {{"N", 8, ""}};
  definition.inputs = {{"x", std::vector<std::string>{"N"}, tensor::DType::kFloat32, ""}};
  definition.outputs = {{"y", std::vector<std::string>{"N"}, tensor::DType::kFloat32, ""}};
  definition.reference = "def run(x):\n    return 2 * x\n";
  out.body = definition;
  out.workloads = {{"w", {}, {{"x", task::RandomInput{}}}}};
  return out;
}

Answer kernel(const std::string& body) {
  Answer out;
  out.text = "Here it is.\n```cpp\nextern \"C\" void run(const float* x, float* y) { " + body +
             " }\n```\n";
  return out;
}

task::Verdict verdict(Outcome outcome, double speedup = 0) {
  task::Verdict out;
  out.problem_name = "doubled";
  out.outcome = outcome;
  task::WorkloadVerdict workload;
  workload.uuid = "w";
  workload.outcome = outcome;
  if (speedup > 0) {
    out.speedup = task::Speedup{speedup, speedup * 0.9, speedup * 1.1};
    out.clock = task::Clock::kProcessor;
    workload.speedup = out.speedup;
  }
  out.workloads = {workload};
  return out;
}

class Kernels : public testing::Test {
 protected:
  KernelEnvironment make(int turns) {
    KernelEnvironmentParts parts;
    parts.judge = &judge_;
    parts.reward = [](const reward::Finding& finding) {
      return reward::named_reward(finding, {.terms = {"kevin"}, .max_speedup = 3});
    };
    parts.chosen = prompt::template_named("zero_shot").value();
    parts.turns = turns;
    return {{{"first", doubled()}, {"second", doubled()}}, std::move(parts)};
  }
  void answer_with(Result<task::Verdict> with) {
    judge_.on_judge = [with = std::move(with)](const gym::EvalRequest&, const std::stop_token&) {
      return with;
    };
  }
  gym::FakeJudge judge_;
};

// A plan of other operators costs no judgement.
TEST_F(Kernels, AnAnswerThatDoesNotFitTheGraphIsNotJudged) {
  int traced = 0, judged = 0;
  KernelEnvironmentParts parts;
  parts.judge = &judge_;
  parts.reward = [](const reward::Finding& finding) {
    return reward::named_reward(finding, {.terms = {"correct"}});
  };
  parts.chosen = prompt::template_named("compact").value();
  parts.prompt.strategy = "naive";
  parts.graph_of = [&](const task::Problem&, const std::stop_token&) -> Result<ProblemGraph> {
    ++traced;
    return ProblemGraph{"%0 = mul(self=x, other=2)\n", [](std::string_view answer) {
                          return answer.starts_with("operators: mul") ? "" : "another operator";
                        }};
  };
  KernelEnvironment kernels({{"first", doubled()}}, std::move(parts));
  judge_.on_judge = [&](const gym::EvalRequest&, const std::stop_token&) -> Result<task::Verdict> {
    ++judged;
    return verdict(Outcome::kPassed);
  };
  auto episode = kernels.begin("first", {}).value();
  EXPECT_NE(episode->observation().messages.at(0).content.find(
                "%0 = mul(self=x, other=2)\nstrategy: naive\n"),
            std::string::npos);
  const Step refused = episode->step(kernel("y[0] = 2 * x[0];"), {}).value();
  EXPECT_EQ(refused.facts.at("why_not"), "another operator");
  EXPECT_EQ(std::pair(refused.reward, judged), std::pair(0.0, 0));

  Answer fits = kernel("y[0] = 2 * x[0];");
  fits.text = "operators: mul(2)\n" + fits.text;
  EXPECT_EQ(kernels.begin("first", {}).value()->step(fits, {}).value().reward, 1);
  EXPECT_EQ(std::pair(traced, judged), std::pair(1, 1));
}

TEST_F(Kernels, TheVerdictIsPaid) {
  KernelEnvironment kernels = make(1);
  EXPECT_EQ(kernels.tasks(), (std::vector<std::string>{"first", "second"}));
  auto episode = kernels.begin("second", {}).value();
  EXPECT_NE(episode->observation().messages.at(0).content.find("return 2 * x"), std::string::npos);
  judge_.on_judge = [](const gym::EvalRequest& request,
                       const std::stop_token&) -> Result<task::Verdict> {
    EXPECT_EQ(request.trajectory, "second");
    EXPECT_EQ(request.turn, 0);
    EXPECT_EQ(request.candidate.name, "attempt_0");
    EXPECT_NE(request.candidate.sources.at(0).content.find("y[0]"), std::string::npos);
    return verdict(Outcome::kPassed, 2);
  };
  const Step step = episode->step(kernel("y[0] = 2 * x[0];"), {}).value();
  EXPECT_DOUBLE_EQ(step.reward, 2.3);
  EXPECT_TRUE(step.done);
  EXPECT_TRUE(step.next.messages.empty());
  EXPECT_EQ(step.facts["outcome"], "passed");
  EXPECT_EQ(step.facts["progress"], "correct");
  EXPECT_DOUBLE_EQ(step.facts["speedup"][0].get<double>(), 2);
  EXPECT_EQ(step.facts["clock"], "processor");
  ASSERT_TRUE(step.interval.has_value());
  EXPECT_DOUBLE_EQ(step.interval->low, 0.3 + 1.8);
  EXPECT_DOUBLE_EQ(step.interval->high, 0.3 + 2.2);
  EXPECT_EQ(judge_.judged, 1);
}

TEST_F(Kernels, AnAnswerWithoutCodeIsPaidNothingAndNotJudged) {
  KernelEnvironment kernels = make(2);
  auto episode = kernels.begin("first", {}).value();
  Answer answer;
  answer.text = "I cannot.";
  const Step step = episode->step(answer, {}).value();
  EXPECT_EQ(step.reward, 0);
  EXPECT_FALSE(step.interval.has_value());
  EXPECT_EQ(judge_.judged, 0);
  EXPECT_EQ(step.facts["progress"], "nothing");
  EXPECT_FALSE(step.facts["why_not"].get<std::string>().empty());
  EXPECT_NE(step.next.messages.at(0).content.find("held no code"), std::string::npos);
}

TEST_F(Kernels, TheNextTurnReadsCodeFindingAndTheBestSoFar) {
  KernelEnvironment kernels = make(4);
  auto episode = kernels.begin("first", {}).value();
  answer_with(verdict(Outcome::kPassed, 2));
  ASSERT_TRUE(episode->step(kernel("fast();"), {}).has_value());
  answer_with(verdict(Outcome::kWrongValue));
  const Step wrong = episode->step(kernel("wrong();"), {}).value();
  EXPECT_EQ(wrong.reward, 0);
  EXPECT_TRUE(wrong.next.whole);
  EXPECT_EQ(wrong.next, episode->observation());
  const std::string& asked = wrong.next.messages.at(0).content;
  EXPECT_NE(asked.find("wrong();"), std::string::npos);
  EXPECT_NE(asked.find("its values are wrong"), std::string::npos);
  EXPECT_NE(asked.find("a speedup of 2 ("), std::string::npos) << asked;
  // A slower kernel does not become the best.
  answer_with(verdict(Outcome::kPassed, 1.5));
  const Step slow = episode->step(kernel("slow();"), {}).value();
  EXPECT_NE(slow.next.messages.at(0).content.find("a speedup of 2 ("), std::string::npos);
  EXPECT_TRUE(episode->step(kernel("slow();"), {}).value().done);
}

TEST_F(Kernels, ABorderlinePassIsPaidAsAWrongValueAndIsNotTheBest) {
  KernelEnvironment kernels = make(2);
  auto episode = kernels.begin("first", {}).value();
  task::Verdict near = verdict(Outcome::kPassed, 2);
  near.workloads.emplace_back().borderline = task::Borderline{1.03, {0.97, 1.02}};
  answer_with(near);
  const Step step = episode->step(kernel("near();"), {}).value();
  EXPECT_EQ(step.reward, 0);
  EXPECT_EQ(step.facts.at("outcome"), "borderline");
  EXPECT_EQ(step.facts.at("progress"), "right_shape");
  EXPECT_FALSE(step.facts.contains("speedup"));
  EXPECT_EQ(step.next.messages.at(0).content.find("best correct attempt"), std::string::npos);
}

TEST_F(Kernels, WhatIsNotTheAnswersFaultIsNoReward) {
  KernelEnvironment kernels = make(1);
  auto episode = kernels.begin("first", {}).value();
  const std::vector<std::pair<Outcome, ErrorCode>> outcomes = {
      {Outcome::kNoisy, ErrorCode::kUnavailable},
      {Outcome::kQuarantined, ErrorCode::kUnsupported},
      {Outcome::kUnsupported, ErrorCode::kUnsupported}};
  for (const auto& [outcome, code] : outcomes) {
    answer_with(verdict(outcome));
    auto step = episode->step(kernel("y[0] = 1;"), {});
    ASSERT_FALSE(step.has_value()) << task::to_string(outcome);
    EXPECT_EQ(step.error().code(), code) << task::to_string(outcome);
  }
  answer_with(fail(ErrorCode::kUnavailable, "the checker went away"));
  EXPECT_EQ(episode->step(kernel("y[0] = 1;"), {}).error().code(), ErrorCode::kUnavailable);
  // The episode is as it was: the same answer is judged when the gym is back.
  answer_with(verdict(Outcome::kPassed, 1));
  EXPECT_DOUBLE_EQ(episode->step(kernel("y[0] = 1;"), {}).value().reward, 1.3);
}

TEST_F(Kernels, ASpeedupThatWasNotMeasuredIsNoReward) {
  KernelEnvironment kernels = make(1);
  auto episode = kernels.begin("first", {}).value();
  answer_with(verdict(Outcome::kPassed));
  auto step = episode->step(kernel("y[0] = 1;"), {});
  ASSERT_FALSE(step.has_value());
  EXPECT_EQ(step.error().code(), ErrorCode::kUnavailable);
  EXPECT_EQ(step.error().message(),
            "no reward: a kernel of doubled is correct, and no speedup was measured in the seconds "
            "of its measurement");
}

TEST_F(Kernels, AProblemIsDescribedOnce) {
  KernelEnvironment kernels = make(1);
  int described = 0;
  judge_.on_describe = [&](const task::Problem& problem) {
    ++described;
    return task::signature_of(problem.definition(), problem.workloads.at(0));
  };
  ASSERT_TRUE(kernels.begin("first", {}).has_value());
  ASSERT_TRUE(kernels.begin("first", {}).has_value());
  EXPECT_EQ(described, 1);
  EXPECT_EQ(kernels.begin("third", {}).error().code(), ErrorCode::kNotFound);
}

}  // namespace
}  // namespace kw::gym_environment
