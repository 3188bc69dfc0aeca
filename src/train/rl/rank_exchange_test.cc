// Ranks, as threads of this process, over 127.0.0.1; the toy's episodes are answered here.
#include "train/rl/rank_exchange.h"

#include <future>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "environment/toy_environment.h"
#include "lm/tokenizer/testing/small_tokenizer.h"
#include "train/parallel/testing/local_groups.h"

namespace kw::train {
namespace {

constexpr std::int64_t kMostTokens = 400;

RolloutPlan whole_plan() {
  RolloutPlan out;
  out.step = 4;
  out.tasks = {"a", "b", "c"};
  out.samples = 2;
  out.first_episode = 60;
  return out;
}

// Another text for each episode and turn.
environment::Answer answer_of(std::uint64_t episode, int turn) {
  environment::Answer out;
  out.text = std::string(episode % 7, 'a') + std::string(static_cast<std::size_t>(turn) + 1, 'b');
  const auto token = static_cast<std::int32_t>(episode);
  out.sampled = {{token, turn}, {-0.1F, -1e-8F}, {4, 4}, {}};
  return out;
}

std::string text_of(const Played& played) {
  std::string out;
  for (const environment::Record& one : played.records) out += to_json(one).dump() + "\n";
  for (const rollout::Group& group : played.groups)
    for (const rollout::Trajectory& trajectory : group.trajectories)
      for (const rollout::Turn& turn : trajectory.turns)
        out += fmt::format("{} {} {}\n", group.id, turn.reward, turn.tokens.size());
  return out;
}

class Exchange : public testing::Test {
 protected:
  ExchangeParts parts() { return {*environment_, chat_, kMostTokens}; }

  // A plan whose episodes are all answered. judged: seconds of each judgement.
  std::unique_ptr<RolloutBatch> batch_of(RolloutPlan plan, double judged = 0) {
    JudgedAnswers none;
    auto out =
        RolloutBatch::begin(*environment_, chat_, kMostTokens, std::move(plan), none, {}).value();
    for (OpenEpisode& one : out->episodes()) {
      while (one.state() == OpenEpisode::State::kReady) {
        one.begin_answer();
        one.answered(answer_of(one.number(), static_cast<int>(one.next_turn())));
        const Judgement judgement = one.judgement();
        EXPECT_TRUE(one.settle(judgement.episode->step(judgement.answer, {}),
                               {.queued = 2 * judged, .judged = judged}, chat_, kMostTokens));
      }
    }
    return out;
  }

  // Gives what every rank's `work` returned.
  template <typename Work>
  auto on_all(int ranks, Work work) {
    const auto groups = groups_of(ranks);
    std::vector<std::future<decltype(work(std::declval<RankExchange&>()))>> all;
    for (const auto& group : groups)
      all.push_back(std::async(std::launch::async, [&work, &group] {
        RankExchange exchange(*group);
        return work(exchange);
      }));
    std::vector<decltype(work(std::declval<RankExchange&>()))> out;
    for (auto& one : all) out.push_back(one.get());
    return out;
  }

  std::unique_ptr<environment::ToyEnvironment> environment_ =
      environment::ToyEnvironment::make({"abc", 2}).value();
  Json config_ = {{"eos_token", "<|im_end|>"}};
  lm::Tokenizer tokenizer_ =
      lm::Tokenizer::from_json(lm::testing::tokenizer_json({}), &config_).value();
  ChatEncoder chat_{tokenizer_};
};

TEST_F(Exchange, AllRanksStopWhereOneIsAskedAndHaveRank0sTime) {
  struct Said {
    bool stops;
    double seconds;
  };
  for (const int asked : {-1, 0, 2}) {
    const auto all = on_all(3, [asked](RankExchange& exchange) {
      double seconds = 10.25 + exchange.place().rank;
      const bool stops = exchange.stops(exchange.place().rank == asked, seconds).value();
      return Said{stops, seconds};
    });
    for (const Said& one : all) {
      EXPECT_EQ(one.stops, asked >= 0);
      EXPECT_EQ(one.seconds, 10.25);
    }
  }
}

TEST_F(Exchange, Rank0sNumberIsThatOfAll) {
  for (const std::int64_t one : on_all(3, [](RankExchange& exchange) {
         return exchange.of_root(-7 + exchange.place().rank).value();
       }))
    EXPECT_EQ(one, -7);
}

// More ranks than tasks: one has no share.
TEST_F(Exchange, EveryRankKnowsAllEpisodesAsIfItHadPlayedThem) {
  const std::string alone = text_of(batch_of(whole_plan())->played());
  for (const int ranks : {2, 4}) {
    struct Known {
      std::string text;
      std::int64_t episodes, drawn;
      double longest, queued;
    };
    const auto all = on_all(ranks, [&](RankExchange& exchange) {
      const int rank = exchange.place().rank;
      std::int64_t drawn = 100 + rank;
      auto mine = batch_of(share_of(whole_plan(), exchange.place()), 1 + rank);
      const Played out =
          exchange.together(parts(), whole_plan(), std::move(mine), drawn, {}).value();
      return Known{text_of(out), out.episodes, drawn, out.longest_judgement, out.queued_seconds};
    });
    double queued = 0;  // the mean over ranks
    for (int rank = 0; rank < ranks; ++rank)
      if (!share_of(whole_plan(), {rank, ranks}).tasks.empty()) queued += 2.0 * (1 + rank) / ranks;
    for (const Known& one : all) {
      EXPECT_EQ(one.text, alone) << ranks;
      EXPECT_EQ(one.episodes, 6);
      EXPECT_EQ(one.drawn, 100 * ranks + ranks * (ranks - 1) / 2);
      EXPECT_EQ(one.longest, ranks);  // of the last rank, which always has a task
      EXPECT_NEAR(one.queued, queued, 1e-12);
    }
  }
}

TEST_F(Exchange, AStopOfOneRankInterruptsAll) {
  const auto all = on_all(2, [&](RankExchange& exchange) {
    std::int64_t drawn = 0;
    Result<std::unique_ptr<RolloutBatch>> mine = fail(ErrorCode::kCancelled, "interrupted");
    if (exchange.place().rank == 0) mine = batch_of(share_of(whole_plan(), exchange.place()));
    return exchange.together(parts(), whole_plan(), std::move(mine), drawn, {}).error().code();
  });
  for (const ErrorCode one : all) EXPECT_EQ(one, ErrorCode::kCancelled);
}

TEST_F(Exchange, AFailureIsReturnedAtOnce) {
  const auto groups = groups_of(2);
  RankExchange exchange(*groups[1]);
  std::int64_t drawn = 0;
  const auto out =
      exchange.together(parts(), whole_plan(), fail(ErrorCode::kUnavailable, "no gym"), drawn, {});
  EXPECT_EQ(out.error().message(), "no gym");
  groups[1]->fail("no gym");
  RankExchange other(*groups[0]);
  double seconds = 0;
  EXPECT_EQ(other.stops(false, seconds).error().message(), "rank 1: no gym");
}

TEST_F(Exchange, AnswersForLaterStepsAreThoseOfAllRanks) {
  const auto all = on_all(3, [&](RankExchange& exchange) {
    const auto rank = static_cast<std::uint64_t>(exchange.place().rank);
    JudgedAnswers mine;
    mine[90 + rank] = {{answer_of(90 + rank, 0), {}}};
    return exchange.answers_of_all(std::move(mine)).value();
  });
  for (const JudgedAnswers& one : all) {
    ASSERT_EQ(one.size(), 3U);
    for (std::uint64_t number = 90; number < 93; ++number)
      EXPECT_EQ(one.at(number).front().answer, answer_of(number, 0));
  }
}

TEST_F(Exchange, ARankOfOneTellsNobody) {
  const auto all = on_all(1, [&](RankExchange& exchange) {
    EXPECT_TRUE(exchange.is_alone());
    std::int64_t drawn = 5;
    double seconds = 3;
    EXPECT_TRUE(exchange.stops(true, seconds).value());
    EXPECT_EQ(exchange.of_root(8).value(), 8);
    const Played out =
        exchange.together(parts(), whole_plan(), batch_of(whole_plan(), 2), drawn, {}).value();
    EXPECT_EQ(drawn, 5);
    EXPECT_EQ(out.longest_judgement, 2);
    return text_of(out);
  });
  EXPECT_EQ(all.front(), text_of(batch_of(whole_plan())->played()));
}

}  // namespace
}  // namespace kw::train
