// Plans over a scripted gym: what the policy reads, which kernel is judged, and what is paid.
#include "plan_environment/plan_environment.h"

#include <cmath>
#include <set>

#include <gtest/gtest.h>

#include "gym/testing/fake_judge.h"
#include "plan_environment/plan_prompt.h"
#include "reward/named_reward.h"
#include "writer/author/author.h"

namespace kw::plan_environment {
namespace {

using environment::Step;

// relu(x @ w)
constexpr const char* kGraph =
    R"({"schema": 1, "conditions": [], "sizes": {"M": 40, "K": 64, "N": 48},
 "inputs": [{"name": "x", "role": "input", "dtype": "float32", "shape": ["M", "K"]},
            {"name": "w", "role": "input", "dtype": "float32", "shape": ["K", "N"]}],
 "nodes": [{"op": "mm.default", "arguments": {"self": {"input": "x"}, "mat2": {"input": "w"}},
            "outputs": [{"dtype": "float32", "shape": ["M", "N"]}]},
           {"op": "relu.default", "arguments": {"self": {"node": 0}},
            "outputs": [{"dtype": "float32", "shape": ["M", "N"]}]}],
 "outputs": [{"node": 1}]})";

task::Problem product() {
  task::Problem out;
  out.name = "product";
  out.hash = "hash of product";
  task::Definition definition;
  definition.name = out.name;
  definition.axes = {{"M", 40, ""}, {"K", 64, ""}, {"N", 48, ""}};
  definition.inputs = {{"x", std::vector<std::string>{"M", "K"}, tensor::DType::kFloat32, ""},
                       {"w", std::vector<std::string>{"K", "N"}, tensor::DType::kFloat32, ""}};
  definition.outputs = {{"out", std::vector<std::string>{"M", "N"}, tensor::DType::kFloat32, ""}};
  definition.reference = "def run(x, w):\n    return torch.relu(x @ w)\n";
  out.body = definition;
  out.workloads = {{"u", {}, {{"x", task::RandomInput{}}, {"w", task::RandomInput{}}}}};
  return out;
}

class Plans : public testing::Test {
 protected:
  std::unique_ptr<PlanEnvironment> make(int turns = 1) {
    judge_.on_trace = [this](const gym::TraceRequest&,
                             const std::stop_token&) -> Result<std::string> {
      ++traced_;
      return std::string(kGraph);
    };
    judge_.on_judge = [this](const gym::EvalRequest& request,
                             const std::stop_token&) -> Result<task::Verdict> {
      source_ = request.candidate.sources.at(0).content;
      task::Verdict out;
      out.outcome = task::Outcome::kPassed;
      out.speedup = task::Speedup{2, 1.8, 2.2};
      return out;
    };
    PlanEnvironmentParts parts;
    parts.judge = &judge_;
    parts.reward = [](const reward::Finding& finding) {
      return reward::named_reward(finding, {.terms = {"gated_log"}, .max_speedup = 8});
    };
    parts.turns = turns;
    return PlanEnvironment::make({{"product", product()}}, std::move(parts)).value();
  }
  gym::FakeJudge judge_;
  std::string source_;
  int traced_ = 0;
};

TEST_F(Plans, ThePlansKernelIsJudged) {
  const auto plans = make();
  auto episode = plans->begin("product", {}).value();
  const std::string& asked = episode->observation().messages.at(0).content;
  EXPECT_EQ(asked.find("mm > relu\n40x64 64x48 -> 40x48\n"), 0U) << asked;
  EXPECT_NE(asked.find("\nblocked: tile_vectors=1|2|3|4 "), std::string::npos) << asked;
  const Step step = episode->step({"\nblocked tile_vectors=3\n"}, {}).value();
  EXPECT_DOUBLE_EQ(step.reward, std::log(2));
  ASSERT_TRUE(step.interval.has_value());
  EXPECT_DOUBLE_EQ(step.interval->low, std::log(1.8));
  EXPECT_DOUBLE_EQ(step.interval->high, std::log(2.2));
  EXPECT_TRUE(step.done);
  EXPECT_EQ(step.facts["plan"], "blocked tile_vectors=3");
  const std::string tuned = source_;
  ASSERT_TRUE(plans->begin("product", {}).value()->step({"blocked"}, {}).has_value());
  EXPECT_NE(source_, tuned);
  EXPECT_EQ(traced_, 1);
}

TEST_F(Plans, TheTunersPlansAreAnswers) {
  const auto plans = make();
  writer::Tuner tuner = plans->tuner("product", {}).value();
  const writer::Draft first = tuner.next({}, 0).value().value();
  EXPECT_EQ(first.strategy, "blocked");
  const writer::Draft second =
      tuner.next({{first.strategy, first.tuning, true, 2}}, 0).value().value();
  EXPECT_NE(second.source, first.source);
  auto episode = plans->begin("product", {}).value();
  ASSERT_TRUE(episode->step({writer::label_of(second.strategy, second.tuning)}, {}).has_value());
  EXPECT_EQ(source_, second.source);
  EXPECT_EQ(plans->tuner("nothing", {}).error().code(), ErrorCode::kNotFound);
}

TEST_F(Plans, WhatIsNoPlanIsPaidTheLeast) {
  const auto plans = make();
  for (const char* answer : {"", "fast", "blocked tile_vectors", "blocked tile_vectors=5",
                             "blocked tile=1", "I choose blocked"}) {
    auto episode = plans->begin("product", {}).value();
    const Step step = episode->step({answer}, {}).value();
    EXPECT_DOUBLE_EQ(step.reward, -std::log(8)) << answer;
    EXPECT_FALSE(step.interval.has_value());
    EXPECT_FALSE(step.facts["why_not"].get<std::string>().empty());
  }
  EXPECT_EQ(judge_.judged, 0);
}

TEST_F(Plans, ALaterTurnTellsTheSpeedup) {
  const auto plans = make(3);
  auto episode = plans->begin("product", {}).value();
  const Step first = episode->step({"naive"}, {}).value();
  EXPECT_FALSE(first.done);
  EXPECT_FALSE(first.next.whole);
  EXPECT_EQ(first.next.messages.at(0).content, "Speedup 2.00. Another plan:");
  const Step second = episode->step({"quick"}, {}).value();
  EXPECT_EQ(second.next.messages.at(0).content.find("No plan: "), 0U);
  EXPECT_TRUE(episode->step({"fused"}, {}).value().done);
}

TEST_F(Plans, AFailureOfTheGymIsNoReward) {
  const auto plans = make();
  auto episode = plans->begin("product", {}).value();
  const auto judge = judge_.on_judge;
  judge_.on_judge = [](const gym::EvalRequest&, const std::stop_token&) -> Result<task::Verdict> {
    return fail(ErrorCode::kUnavailable, "the checker went away");
  };
  EXPECT_EQ(episode->step({"fused"}, {}).error().code(), ErrorCode::kUnavailable);
  judge_.on_judge = judge;
  EXPECT_DOUBLE_EQ(episode->step({"fused"}, {}).value().reward, std::log(2));
}

TEST(RandomPlans, AreReadAgainAndDiffer) {
  Rng rng(1);
  std::set<std::string> seen;
  for (int i = 0; i < 200; ++i) {
    const writer::Labelled plan = random_plan(rng, task::Language::kCpp, 0.3);
    const std::string label = writer::label_of(plan.strategy, plan.tuning);
    const auto read = read_plan(label, task::Language::kCpp);
    ASSERT_TRUE(read) << label << ": " << read.error().message();
    EXPECT_EQ(read->tuning, plan.tuning);
    seen.insert(label);
  }
  EXPECT_GT(seen.size(), 60U);
}

}  // namespace
}  // namespace kw::plan_environment
