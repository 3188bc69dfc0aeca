#include "train/rl/rl_settings.h"

#include <gtest/gtest.h>

namespace kw::train {
namespace {

Json table(Json rl) {
  return {{"rl", std::move(rl)}};
}

TEST(RlSettings, NamesBecomeChoices) {
  const RlSettings s = rl_settings(table({{"model", "m"}, {"estimator", "rloo"}, {"seed", 3}}),
                                   {"loss=cispo", "kl=k3", "correction=decoupled",
                                    "importance=token", "dual_clip=3", "seed=4"})
                           .value();
  EXPECT_EQ(s.seed, 4U);
  EXPECT_EQ(s.advantage_settings().estimator, rollout::Estimator::kRloo);
  const LossSettings loss = s.loss_settings();
  EXPECT_EQ(loss.loss, PolicyLoss::kCispo);
  EXPECT_EQ(loss.kl, KlForm::kK3);
  EXPECT_EQ(loss.correction.mode, CorrectionMode::kDecoupled);
  EXPECT_EQ(loss.correction.importance, ImportanceLevel::kToken);
  EXPECT_EQ(loss.dual_clip, 3);
  EXPECT_FALSE(rl_settings(table({{"model", "m"}}), {}).value().loss_settings().dual_clip);
  for (const char* estimator :
       {"grpo", "dr_grpo", "rloo", "trloo", "reinforce_plus_plus", "reinforce_plus_plus_baseline"})
    EXPECT_EQ(to_string(rl_settings(table({{"model", "m"}, {"estimator", estimator}}), {})
                            .value()
                            .advantage_settings()
                            .estimator),
              estimator);
}

TEST(RlSettings, WhatTheyRefuseIsNamed) {
  const std::vector<std::pair<std::string, std::string>> bad = {
      {"estimatr=grpo", "estimator"},
      {"estimator=grop", "estimator"},
      {"loss=sft", "loss"},
      {"environment=gym", "[environment]"},
      {"environment=gm", "environment"},
      {"patience_seconds=0", "patience"},
      {"environment=recorded", "records"},
      {"kl=k4", "kl"},
      {"temperature=0", "temperature"},
      {"top_p=0", "top_p"},
      {"top_k=-1", "top_k"},
      {"eval_every=5", "held_out"},
      {"eval_every=-1", "eval_every"},
      {"eval_samples=0", "eval_samples"},
      {"eval_temperature=-1", "eval_temperature"},
      {"sample_rows=-1", "sample_rows"},
      {"updates=100", "updates"},
      {"updates=0", "updates"},
      {"importance=token", "importance"},
      {"discount=2", "discount"},
      {"clip_low=2", "clip_low"},
      {"dual_clip=0.5", "dual_clip"},
      {"samples=0", "samples"},
      {"steps=0", "steps"},
      {"products=torch", "products"},
      {"schedule=square", "schedule"},
      {"beta1=1", "beta1"},
      {"teacher_divergence=full", "teacher_divergence"},
      {"teacher_divergence=reverse", "estimator=none"},
      {"teacher_top_k=-1", "teacher_top_k"},
      {"feedback_coefficient=-1", "feedback_coefficient"},
      {"observation_coefficient=-1", "observation_coefficient"},
      {"feedback_source=facts", "feedback_source"},
      {"feedback_teacher=ema", "feedback_teacher"},
      {"feedback_divergence=full", "feedback_divergence"},
      {"feedback_average=2", "feedback_average"},
      {"feedback_beta=0", "feedback_beta"},
      {"feedback_top_k=-1", "feedback_top_k"},
      {"estimator=none", "feedback_coefficient"},
      {"model=", "model"}};
  for (const auto& [word, key] : bad) {
    const auto read = rl_settings(table({{"model", "m"}}), {word});
    ASSERT_FALSE(read.has_value()) << word;
    EXPECT_EQ(read.error().code(), ErrorCode::kInvalidArgument) << word;
    EXPECT_NE(read.error().message().find(key), std::string::npos) << read.error().message();
  }
  EXPECT_FALSE(rl_settings(table({{"model", "m"}}), {"top_p=0.9", "kl=k1"}).has_value());
  EXPECT_TRUE(rl_settings(table({{"model", "m"}}), {"products=engine"}));
  EXPECT_FALSE(rl_settings(table({{"model", "m"}}), {"products=engine", "matmuls=fastest"}));
  EXPECT_FALSE(
      rl_settings(table({{"model", "m"}}), {"top_k=9", "entropy_coefficient=0.1"}).has_value());
  EXPECT_TRUE(rl_settings(table({{"model", "m"}}), {"estimator=none", "feedback_coefficient=1"}));
  for (const char* teacher : {"feedback_teacher=start", "teacher_divergence=reverse"})
    EXPECT_FALSE(rl_settings(table({{"model", "m"}}),
                             {"teacher=t", "estimator=none", "feedback_coefficient=1", teacher}));
  EXPECT_FALSE(rl_settings(table({{"model", "m"}}),
                           {"kl=k3", "feedback_coefficient=1", "feedback_teacher=average"}));
  const auto outside = rl_settings({{"model", "m"}}, {});
  ASSERT_FALSE(outside.has_value());
  EXPECT_NE(outside.error().message().find("[rl]"), std::string::npos);
  EXPECT_FALSE(rl_settings({{"rl", 3}}, {}).has_value());
}

TEST(RlSettings, AnswersOfEarlierWeightsNeedACorrection) {
  const auto read = [](std::vector<std::string> words) {
    words.emplace_back("max_staleness=1");
    return rl_settings(table({{"model", "m"}}), words);
  };
  const std::vector<std::string> corrected = {"correction=decoupled", "importance=token"};
  EXPECT_TRUE(read(corrected));
  EXPECT_TRUE(read({"correction=decoupled", "importance=sequence"}));
  for (const std::vector<std::string>& biased :
       {std::vector<std::string>{}, {"correction=decoupled"}, {"max_staleness=-1"}})
    EXPECT_EQ(read(biased).error().code(), ErrorCode::kInvalidArgument);
  EXPECT_NE(read({}).error().message().find("importance=token"), std::string::npos);
  EXPECT_FALSE(read({corrected[0], corrected[1], "top_p=0.9"}));
  // Rewards and log-probabilities of a teacher teach by the sampler's distribution, and divergences
  // at the places of an answer do not.
  EXPECT_FALSE(read({"estimator=none", "teacher=t"}));
  EXPECT_TRUE(read({"estimator=none", "teacher=t", "teacher_divergence=reverse"}));
  EXPECT_TRUE(read({"estimator=none", "feedback_coefficient=1"}));
}

TEST(RlSettings, TheGymsTableIsPassedOn) {
  const Json file = {{"rl", {{"model", "m"}}},
                     {"environment", {{"kind", "plans"}, {"eval", {{"max_seconds", 9}}}}}};
  const RlSettings s =
      rl_settings(file, {"samples=4", "environment.turns=2", "environment.eval.max_seconds=1",
                         "environment.reward.terms=[\"correct\"]"})
          .value();
  EXPECT_EQ(s.environment, "gym");
  EXPECT_EQ(s.samples, 4);
  EXPECT_EQ(parse_json(s.gym).value(), (parse_json(R"({"eval": {"max_seconds": 1}, "kind": "plans",
                            "reward": {"terms": ["correct"]}, "turns": 2})")
                                            .value()));
  EXPECT_EQ(rl_settings(file, {"environment=toy"}).value().environment, "toy");
  EXPECT_FALSE(rl_settings(file, {"environment.kind.x=1"}).has_value());
  EXPECT_FALSE(rl_settings({{"rl", {{"model", "m"}}}, {"environment", 1}}, {}).has_value());

  const Json stored = to_json(s);
  EXPECT_EQ(differs_for_resume(
                stored, rl_settings(file, {"samples=4", "environment.turns=2",
                                           "environment.eval.max_seconds=1",
                                           "environment.reward.terms=[\"correct\"]",
                                           "environment.jobs=8", "environment.verdicts=v.jsonl"})
                            .value()),
            "");
  EXPECT_EQ(differs_for_resume(stored, rl_settings(file, {"samples=4"}).value()), "gym");
}

TEST(RlSettings, AResumedRunKeepsWhatDecides) {
  RlSettings now;
  const Json stored = to_json(now);
  EXPECT_EQ(differs_for_resume(stored, now), "");
  now.steps = 7;
  now.slots = 1;
  now.seconds = 9;
  EXPECT_EQ(differs_for_resume(stored, now), "");
  now.samples = 3;
  EXPECT_EQ(differs_for_resume(stored, now), "samples");
  Json older = stored;  // of a program without this setting
  older.erase("top_p");
  EXPECT_EQ(differs_for_resume(older, RlSettings{}), "");
  now = {};
  now.max_staleness = 1;
  EXPECT_EQ(differs_for_resume(stored, now), "max_staleness");
  now = {};
  now.top_p = 0.9;
  EXPECT_EQ(differs_for_resume(older, now), "top_p");
}

}  // namespace
}  // namespace kw::train
