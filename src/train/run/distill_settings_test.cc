#include "train/run/distill_settings.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace kw::train {
namespace {

using ::testing::HasSubstr;

const Json kRequired = {{"model", "m"}, {"data", "rows.jsonl"}, {"teacher", "t"}};

std::string refusal(const std::vector<std::string>& words) {
  const auto settings = distill_settings(kRequired, words);
  return settings ? "" : settings.error().message();
}

TEST(DistillSettings, HasTheKeysOfSftAndItsOwn) {
  const auto settings = distill_settings(
      kRequired, {"steps=7", "divergence=jensen_shannon", "beta=0.2", "top_k=9", "temperature=2"});
  ASSERT_TRUE(settings) << settings.error().message();
  EXPECT_EQ(settings->rows.steps, 7);
  EXPECT_EQ(settings->rows.run, "runs/distill");
  const DistillLoss loss = settings->loss();
  EXPECT_EQ(loss.divergence, Divergence::kJensenShannon);
  EXPECT_EQ(loss.beta, 0.2);
  EXPECT_EQ(loss.top_k, 9);
  EXPECT_EQ(loss.temperature, 2);
  EXPECT_EQ(distill_settings(kRequired, {"divergence=reverse"})->loss().divergence,
            Divergence::kReverse);
  const auto again = distill_settings(to_json(*settings), {});
  ASSERT_TRUE(again) << again.error().message();
  EXPECT_EQ(to_json(*again), to_json(*settings));
}

TEST(DistillSettings, MistakesAreNamed) {
  EXPECT_THAT(refusal({"teacher="}), HasSubstr("teacher: name"));
  EXPECT_THAT(refusal({"divergence=backward"}), HasSubstr("divergence: no \"backward\""));
  EXPECT_THAT(refusal({"beta=1"}), HasSubstr("beta: expected 1e-06 to 0.999999, not 1"));
  EXPECT_THAT(refusal({"top_k=-1"}), HasSubstr("top_k"));
  EXPECT_THAT(refusal({"temperature=0"}), HasSubstr("temperature"));
  EXPECT_THAT(refusal({"cross_entropy=1.5"}), HasSubstr("cross_entropy: expected 0 to 1"));
  EXPECT_THAT(refusal({"steps=0"}), HasSubstr("steps"));
  EXPECT_THAT(refusal({"teachr=x"}), HasSubstr("teacher"));
}

TEST(DistillSettings, ResumeKeepsTheTeacherAndTheLoss) {
  const auto settings = distill_settings(kRequired, {"top_k=5"});
  ASSERT_TRUE(settings);
  const Json stored = to_json(*settings);
  EXPECT_EQ(differs_for_resume(stored, *settings), "");
  DistillSettings other = *settings;
  other.rows.steps = 5000;
  EXPECT_EQ(differs_for_resume(stored, other), "");
  other.top_k = 6;
  EXPECT_EQ(differs_for_resume(stored, other), "top_k");
  other = *settings;
  other.rows.seed = 4;
  EXPECT_EQ(differs_for_resume(stored, other), "seed");
  // Neither command goes on with a run of the other one.
  EXPECT_EQ(differs_for_resume(to_json(settings->rows), *settings), "teacher");
  EXPECT_EQ(differs_for_resume(stored, settings->rows), "teacher");
}

}  // namespace
}  // namespace kw::train
