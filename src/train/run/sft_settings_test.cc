#include "train/run/sft_settings.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace kw::train {
namespace {

using ::testing::HasSubstr;

const Json kRequired = {{"model", "m"}, {"data", "rows.jsonl"}};

std::string refusal(const std::vector<std::string>& words) {
  const auto settings = sft_settings(kRequired, words);
  return settings ? "" : settings.error().message();
}

TEST(SftSettings, WordsWinOverTheFile) {
  Json file = kRequired;
  file["steps"] = 5;
  const auto settings =
      sft_settings(file, {"steps=7", "data=[\"a\", \"b\"]", "data_weights=[1, 2.5]",
                          "shuffle=false", "learning_rate=1e-4", "run=12/x", "schedule=wsd"});
  ASSERT_TRUE(settings) << settings.error().message();
  EXPECT_EQ(settings->steps, 7);
  EXPECT_EQ(settings->data, (std::vector<std::string>{"a", "b"}));
  EXPECT_EQ(settings->data_weights[1], 2.5);
  EXPECT_FALSE(settings->shuffle);
  EXPECT_EQ(settings->learning_rate, 1e-4);
  EXPECT_EQ(settings->run, "12/x");
  EXPECT_EQ(settings->schedule.kind, "wsd");
  EXPECT_EQ(sft_settings(kRequired, {})->data, std::vector<std::string>{"rows.jsonl"});
}

TEST(SftSettings, StoredSettingsReadBackEqual) {
  const auto settings = sft_settings(kRequired, {"seed=9", "epsilon=1e-7", "recompute=true"});
  ASSERT_TRUE(settings);
  const auto again = sft_settings(to_json(*settings), {});
  ASSERT_TRUE(again) << again.error().message();
  EXPECT_EQ(to_json(*again), to_json(*settings));
}

TEST(SftSettings, MistakesAreNamed) {
  EXPECT_THAT(refusal({"learning_rte=1"}), HasSubstr("learning_rate"));
  EXPECT_THAT(refusal({"steps=0"}), HasSubstr("steps: expected 1 or more"));
  EXPECT_THAT(refusal({"steps"}), HasSubstr("expected key=value"));
  EXPECT_THAT(refusal({"dtype=fp8"}), HasSubstr("dtype: no \"fp8\""));
  EXPECT_THAT(refusal({"data_weights=[1, 2]"}), HasSubstr("expected 1 numbers"));
  EXPECT_THAT(refusal({"beta1=1"}), HasSubstr("beta1"));
  EXPECT_THAT(refusal({"optimizer=moun"}), HasSubstr("optimizer: no \"moun\""));
  EXPECT_THAT(refusal({"muon_scale=rms"}), HasSubstr("muon_scale"));
  EXPECT_THAT(refusal({"muon_momentum=1"}), HasSubstr("muon_momentum"));
  EXPECT_THAT(refusal({"muon_learning_rate=-1"}), HasSubstr("muon_learning_rate"));
  EXPECT_THAT(refusal({"optimizer=muon", "learning_rate=0"}), HasSubstr("learning_rate"));
  EXPECT_THAT(sft_settings(Json::object(), {}).error().message(), HasSubstr("model: name"));
}

TEST(SftSettings, ResumeKeepsWhatDecidesTheResult) {
  const auto settings = sft_settings(kRequired, {"seed=3"});
  ASSERT_TRUE(settings);
  const Json stored = to_json(*settings);
  EXPECT_EQ(differs_for_resume(stored, *settings), "");
  SftSettings other = *settings;
  other.steps = 5000;
  other.micro_tokens = 1;
  EXPECT_EQ(differs_for_resume(stored, other), "");
  other.seed = 4;
  EXPECT_EQ(differs_for_resume(stored, other), "seed");
  EXPECT_EQ(differs_for_resume(Json::object(), *settings), "data");
}

// A checkpoint has the adapter alone to go on from: beside another model it would be another one.
TEST(SftSettings, AnAdapterIsResumedBesideItsModel) {
  const auto settings = sft_settings(kRequired, {"lora_rank=4"});
  ASSERT_TRUE(settings);
  SftSettings other = *settings;
  other.model = "another";
  EXPECT_EQ(differs_for_resume(to_json(*settings), other), "model");
  other.lora.rank = 0;
  EXPECT_EQ(differs_for_resume(to_json(*settings), other), "lora_rank");
  const auto whole = sft_settings(kRequired, {});
  other = *whole;
  other.model = "another";
  EXPECT_EQ(differs_for_resume(to_json(*whole), other), "");
}

}  // namespace
}  // namespace kw::train
