#include "train/rl/rl_plan.h"

#include <gtest/gtest.h>

namespace kw::train {
namespace {

lm::ModelConfig small() {
  lm::ModelConfig out;
  out.hidden = 8;
  out.layers = 3;
  out.heads = 2;
  out.kv_heads = 1;
  out.head_dim = 4;
  out.intermediate = 16;
  out.vocabulary = 32;
  out.max_position = 64;
  return out;
}

RlSettings settings() {
  RlSettings out;
  out.max_tokens = 64;
  out.answer_tokens = 10;
  out.prompts = 3;
  out.samples = 5;
  out.turns = 2;
  out.slots = 7;
  out.steps = 10;
  return out;
}

TEST(RlPlan, CountsAnswersTokensAndMemory) {
  const RlPlan plan = plan_rl(small(), settings(), false).value();
  EXPECT_EQ(plan.answers, 30);
  EXPECT_EQ(plan.sampled_tokens, 300);
  EXPECT_EQ(plan.trained_tokens, 30 * 64);
  EXPECT_EQ(plan.moments, 2 * plan.masters);
  EXPECT_EQ(plan.gradients, plan.masters);
  EXPECT_EQ(plan.keys, 7U * 64 * 3 * 2 * 4 * 4);  // slots, places, layers, both, width, bytes
  EXPECT_EQ(plan.reference, 0U);
  EXPECT_EQ(plan.judge_seconds, 0);
  RlSettings with_kl = settings();
  with_kl.kl = "k3";
  const RlPlan other = plan_rl(small(), with_kl, false).value();
  EXPECT_EQ(other.memory(), plan.memory() + plan.masters);
  EXPECT_GT(other.train_flop, plan.train_flop);
}

// Matrices of a layer: q 8x8, k and v 4x8, o 8x8, gate, up and down 16x8.
TEST(RlPlan, MuonHasOneMomentForAMatrix) {
  RlSettings s = settings();
  s.muon.optimizer = "muon";
  const RlPlan plan = plan_rl(small(), settings(), false).value();
  const RlPlan muon = plan_rl(small(), s, false).value();
  EXPECT_EQ(muon.moments, plan.moments - 4U * 3 * (2 * 64 + 2 * 32 + 3 * 128));
  EXPECT_EQ(muon.muon, 4U * 4 * 3 * 128);  // blocks, bytes, layers, the largest matrix
  EXPECT_EQ(muon.memory(), plan.memory() - (plan.moments - muon.moments) + muon.muon);
}

TEST(RlPlan, AnswersAheadWaitAndAreJudgedBesideTheRest) {
  RlSettings s = settings();
  s.environment = "gym";
  s.gym = R"({"turns": 2, "eval": {"max_seconds": 60}})";  // 30 answers: 30 min a step
  RlSettings one = s;
  one.max_staleness = 1;
  const RlPlan plan = plan_rl(small(), s, false).value(),
               ahead = plan_rl(small(), one, false).value();
  EXPECT_EQ(plan.ahead, 0U);
  EXPECT_EQ(ahead.ahead, 30U * 64 * 4 + 300 * 16);
  EXPECT_EQ(ahead.memory(), plan.memory());    // the host's
  const double slow = plan.train_flop / 1800;  // training takes as long as judging
  const auto of_the_run = [&](const RlPlan& of, const RlSettings& settings) {
    const std::string text = to_text(of, settings, slow);
    return text.substr(text.find("the run"));
  };
  EXPECT_NE(of_the_run(plan, s), of_the_run(ahead, one));
}

TEST(RlPlan, FeedbackTakesAPassOfItsTeacher) {
  const RlPlan plan = plan_rl(small(), settings(), false).value();
  RlSettings s = settings();
  s.feedback_coefficient = 1;
  const RlPlan by_policy = plan_rl(small(), s, false).value();
  EXPECT_EQ(by_policy.reference, 0U);
  EXPECT_GT(by_policy.train_flop, plan.train_flop);
  EXPECT_GT(by_policy.logits, plan.logits);
  s.feedback_teacher = "start";
  EXPECT_EQ(plan_rl(small(), s, false).value().reference, plan.masters);
}

TEST(RlPlan, AGpuHasWeightsInBfloat16Besides) {
  RlSettings s = settings();
  s.kl = "k1";
  const RlPlan cpu = plan_rl(small(), s, false).value(), gpu = plan_rl(small(), s, true).value();
  EXPECT_EQ(cpu.computed, 0U);
  EXPECT_EQ(gpu.computed, gpu.masters / 2);
  EXPECT_EQ(gpu.reference, gpu.masters + gpu.computed);
  EXPECT_EQ(gpu.keys, cpu.keys / 2);
  EXPECT_NE(to_text(gpu, s, 1e12).find("masters"), std::string::npos);
}

TEST(RlPlan, CountsEvaluationsAtBothEnds) {
  RlSettings s = settings();
  s.held_out = {"a", "b"};
  s.eval_samples = 4;
  for (const auto& [every, count] : {std::pair(5, 3), std::pair(4, 4), std::pair(100, 2)}) {
    s.eval_every = every;
    const RlPlan plan = plan_rl(small(), s, false).value();
    EXPECT_EQ(plan.evaluations, count) << every;
    EXPECT_EQ(plan.evaluation_answers, count * 2 * 4 * 2) << every;
  }
}

TEST(RlPlan, TakesTurnsAndJudgesTimeFromTheGymsTable) {
  RlSettings s = settings();
  s.environment = "gym";
  s.gym = R"({"turns": 3, "eval": {"max_seconds": 2.5}})";
  EXPECT_EQ(plan_rl(small(), s, false).value().answers, 45);
  EXPECT_EQ(plan_rl(small(), s, false).value().judge_seconds, 2.5);
  s.gym = "{}";
  EXPECT_EQ(plan_rl(small(), s, false).value().answers, 15);
  EXPECT_EQ(plan_rl(small(), s, false).value().judge_seconds, 30);
  s.gym = R"({"eval": {"max_seconds": "long"}})";
  EXPECT_FALSE(plan_rl(small(), s, false));
  s = settings();
  s.max_tokens = 65;
  EXPECT_FALSE(plan_rl(small(), s, false));
}

TEST(RlPlan, TheTimeOfARunEndsWithTheStepThatEndsIt) {
  RlSettings s = settings();
  s.environment = "gym";
  s.gym = R"({"turns": 3, "eval": {"max_seconds": 2.5}})";  // 45 answers: 112.5 s a step
  const RlPlan plan = plan_rl(small(), s, false).value();
  const auto of_the_run = [&] {
    const std::string text = to_text(plan, s, 1e12);
    return text.substr(text.find("the run"));
  };
  EXPECT_NE(of_the_run().find(" 19 min"), std::string::npos) << of_the_run();
  s.seconds = 600;
  EXPECT_NE(of_the_run().find(" 12 min"), std::string::npos) << of_the_run();
  s.steps = 6;
  EXPECT_NE(of_the_run().find(" 11 min"), std::string::npos) << of_the_run();
}

}  // namespace
}  // namespace kw::train
