#include "train/rl/rank_share.h"

#include <set>

#include <gtest/gtest.h>

namespace kw::train {
namespace {

RolloutPlan plan_of(std::size_t tasks) {
  RolloutPlan out;
  for (std::size_t i = 0; i < tasks; ++i) out.tasks.push_back("task " + std::to_string(i));
  out.samples = 3;
  out.first_episode = 60;
  return out;
}

TEST(RankShare, EveryEpisodeIsPlayedOnceUnderItsNumber) {
  for (const std::size_t tasks : {0U, 1U, 4U, 7U}) {
    for (const int ranks : {1, 2, 3, 5}) {
      std::uint64_t next = 60;
      std::size_t task = 0;
      for (int rank = 0; rank < ranks; ++rank) {
        const RolloutPlan share = share_of(plan_of(tasks), {rank, ranks});
        EXPECT_EQ(share.first_episode, next) << tasks << " tasks, rank " << rank << " of " << ranks;
        for (const std::string& one : share.tasks) EXPECT_EQ(one, "task " + std::to_string(task++));
        next += 3 * share.tasks.size();
      }
      EXPECT_EQ(task, tasks);
    }
  }
}

TEST(RankShare, TheLargestShareHasOneTaskMoreThanTheSmallest) {
  std::set<std::size_t> sizes;
  for (int rank = 0; rank < 3; ++rank) sizes.insert(share_of(plan_of(7), {rank, 3}).tasks.size());
  EXPECT_EQ(sizes, (std::set<std::size_t>{2, 3}));
}

// Steps of 4 prompts with 3 samples each: answers ahead are those of the plans' shares.
TEST(RankShare, AnswersOfACheckpointGoToWhoPlaysTheirEpisodes) {
  JudgedAnswers all;
  for (std::uint64_t number = 0; number < 36; ++number) all[number] = {};
  for (int ranks = 1; ranks <= 5; ++ranks) {
    std::size_t count = 0;
    for (int rank = 0; rank < ranks; ++rank) {
      const JudgedAnswers mine = share_of(all, 4, 3, {rank, ranks});
      count += mine.size();
      for (std::uint64_t step = 0; step < 3; ++step) {
        RolloutPlan plan = plan_of(4);
        plan.first_episode = step * 12;
        const RolloutPlan share = share_of(plan, {rank, ranks});
        for (std::uint64_t i = 0; i < 3 * share.tasks.size(); ++i)
          EXPECT_TRUE(mine.contains(share.first_episode + i)) << rank << " of " << ranks;
      }
    }
    EXPECT_EQ(count, all.size()) << ranks;
  }
}

TEST(RankShare, AReportTravelsAsText) {
  ShareReport report;
  report.longest_judgement = 0.1;
  report.queued_seconds = 2.5;
  report.drawn_tokens = 77;
  environment::Answer answer{
      "a \xff text", text::Finish::kLength, {{4, 5}, {-0.1F, -7e-9F}, {3, 3}, {}}};
  environment::Step step;
  step.reward = 1.0 / 3;
  step.done = true;
  report.answers[9] = {{answer, step}};
  report.answers[11] = {{answer, fail(ErrorCode::kUnavailable, "no judge")}};
  const auto read = share_report(to_text(report), "rank 1");
  ASSERT_TRUE(read) << read.error().message();
  EXPECT_FALSE(read->stopped);
  EXPECT_EQ(read->longest_judgement, 0.1);
  EXPECT_EQ(read->queued_seconds, 2.5);
  EXPECT_EQ(read->drawn_tokens, 77);
  ASSERT_EQ(read->answers.size(), 2U);
  const JudgedAnswer& one = read->answers.at(9).front();
  EXPECT_EQ(one.answer.sampled.logprobs, answer.sampled.logprobs);
  EXPECT_EQ((*one.step)->reward, step.reward);
  EXPECT_EQ(read->answers.at(11).front().step->error().message(), "no judge");
  report.stopped = true;
  EXPECT_TRUE(share_report(to_text(report), "").value().stopped);
}

TEST(RankShare, AReportThatCannotBeReadIsRefused) {
  for (const char* text : {"", "[]", "{}", R"({"stopped": 1})",
                           R"({"stopped": false, "longest_judgement": 0, "queued_seconds": 0,
                              "drawn_tokens": 0, "answers": "{"})"}) {
    const auto read = share_report(text, "rank 2");
    ASSERT_FALSE(read) << text;
    EXPECT_EQ(read.error().code(), ErrorCode::kInvalidArgument);
    EXPECT_EQ(read.error().message().rfind("rank 2", 0), 0U) << read.error().message();
  }
}

}  // namespace
}  // namespace kw::train
