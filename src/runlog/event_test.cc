// Events survive JSON; a log that cannot be is refused.
#include "runlog/event.h"

#include <set>

#include <gtest/gtest.h>

#include "runlog/tree.h"

namespace kw::runlog {
namespace {

using task::Progress;

std::vector<Event> one_of_each() {
  RunStarted run{"0.1",
                 3,
                 "2025-01-31T12:00:00Z",
                 "solve",
                 {{"method", "metr"}},
                 {{"p", "p", "h"}},
                 "one",
                 {{"q", "rows.jsonl:2: no module"}}};
  return {
      {0, run},
      {1, ProblemStarted{"p"}},
      {2, Decided{"p", 0, 0, kReferenceParent, 0.25, 7, "implement", "aa"}},
      {3, Failed{"p",
                 0,
                 "propose",
                 1,
                 ErrorCode::kUnavailable,
                 "gone",
                 true,
                 "cut",
                 {100, 7, 0.25, true}}},
      {4,
       Answered{
           "p", 0, "m", "tiled", "bb", text::Finish::kLength, {10, 20, 0.5}, 12.5, "hh", "empty"}},
      {5, Extracted{"p", 0, "cc", "dd", ""}},
      {6, Judged{"p", 0, task::Outcome::kWrongValue, "", Progress::kRightShape, 3.5, std::nullopt,
                 "ee", kNoParent, 99}},
      {7, Decided{"p", 1, 1, 0, std::nullopt, 8, "refine", "ff"}},
      {8, Answered{"p", 1, "m", "", "bb", text::Finish::kStop, {}, 1}},
      {9, Extracted{"p", 1, "cc", "dd", ""}},
      {10, Judged{"p", 1, task::Outcome::kPassed, "", Progress::kCorrect, std::nullopt,
                  task::Speedup{2, 1.5, 2.5}, "gg", 0, 0}},
      {11, ProblemEnded{"p", End::kTarget, "2x", 1, 0.5}},
      {12, RunEnded{}},
      {13, RunResumed{"0.1", "2025-01-31T13:00:00Z", "another"}}};
}

TEST(Event, SurvivesJson) {
  for (const Event& event : one_of_each()) {
    const std::string text = to_json(event).dump();
    auto json = parse_json(text);
    ASSERT_TRUE(json) << text;
    auto back = event_from_json(*json);
    ASSERT_TRUE(back) << back.error().message();
    EXPECT_EQ(to_json(*back).dump(), text);
    EXPECT_EQ(back->body.index(), event.body.index());
  }
}

TEST(Event, EveryMissingFieldIsNamed) {
  for (const Event& event : one_of_each()) {
    const Json whole = to_json(event);
    for (const auto& [key, value] : whole.items()) {
      if (value.is_null()) continue;
      Json less = whole;
      less.erase(key);
      auto read = event_from_json(less);
      const bool may_be_null = key == "error" || key == "draw" || key == "speedup";
      // Logs of before these fields were there are read too.
      const bool is_later = key == "kind" || key == "estimated" || key == "hardware" ||
                            key == "unread" || key == "reasoning" || key == "suspicion" ||
                            (whole["type"] == "failed" && key == "prompt_tokens");
      if (may_be_null || is_later) {
        EXPECT_TRUE(read) << key;
      } else {
        ASSERT_FALSE(read) << key;
        EXPECT_NE(read.error().message().find(key), std::string::npos) << read.error().message();
      }
    }
  }
}

TEST(Event, FailuresOfBeforeTheirCostWasWritten) {
  Json json = to_json(one_of_each()[3]);
  for (const char* key : {"kind", "prompt_tokens", "completion_tokens", "cost_usd", "estimated"})
    json.erase(key);
  auto event = event_from_json(json);
  ASSERT_TRUE(event) << event.error().message();
  const auto& failed = std::get<Failed>(event->body);
  EXPECT_EQ(failed.usage, text::Usage{});
  EXPECT_EQ(kind_of(failed), "propose_unavailable");
  EXPECT_EQ(kind_of(std::get<Failed>(one_of_each()[3].body)), "cut");
}

TEST(Event, ASuspicionOfBeforeStoodInTheLabel) {
  for (const std::string label : {"empty", "prompt_echo", "template_tokens", "tiled lanes=8"}) {
    Json json = to_json(one_of_each()[8]);
    json["label"] = label;
    json.erase("suspicion");
    const auto answered = std::get<Answered>(event_from_json(json).value().body);
    const bool strategy = label.starts_with("tiled");
    EXPECT_EQ(answered.label, strategy ? label : "");
    EXPECT_EQ(answered.suspicion, strategy ? "" : label);
  }
}

TEST(Event, AnotherSchemaIsUnsupported) {
  Json json = to_json(one_of_each()[0]);
  json["schema"] = 2;
  EXPECT_EQ(event_from_json(json).error().code(), ErrorCode::kUnsupported);
}

TEST(Run, IsBuiltFromEvents) {
  runlog::Run run;
  for (const Event& event : one_of_each()) {
    auto applied = run.apply(event);
    ASSERT_TRUE(applied) << applied.error().message();
  }
  const ProblemTree& tree = *run.find("p");
  ASSERT_EQ(tree.attempts.size(), 2U);
  EXPECT_EQ(tree.best()->id, 1);
  EXPECT_EQ(tree.best(1), nullptr);
  EXPECT_EQ(tree.usage(), (text::Usage{110, 27, 0.75, true}));
  EXPECT_EQ(tree.failures.size(), 1U);
  EXPECT_EQ(tree.ended->end, End::kTarget);
  EXPECT_FALSE(run.ended);  // it was resumed
  EXPECT_EQ(run.hardware, (std::set<std::string>{"another", "one"}));
}

TEST(Run, RefusesWhatCannotFollow) {
  const std::vector<Event> events = one_of_each();
  // Each event but the first, left out, leaves one that cannot follow (or a shorter run).
  for (std::size_t missing : {0U, 1U, 2U, 4U, 5U}) {
    runlog::Run run;
    bool refused = false;
    for (std::size_t i = 0; i < events.size(); ++i) {
      if (i != missing && !run.apply(events[i])) refused = true;
    }
    EXPECT_TRUE(refused) << missing;
  }
  // And each twice.
  for (std::size_t twice : {0U, 2U, 4U, 5U, 6U}) {
    runlog::Run run;
    for (std::size_t i = 0; i < twice; ++i) ASSERT_TRUE(run.apply(events[i]));
    ASSERT_TRUE(run.apply(events[twice]));
    EXPECT_FALSE(run.apply(events[twice])) << twice;
  }
}

// Judging an attempt failed for the last time.
Failed judging_failed(int attempt, const std::string& message) {
  return {"p", attempt, std::string(kJudgeStage), 4, ErrorCode::kUnavailable, message, false,
          "",  {}};
}

// From the events of one attempt whose judging failed for the last time at 6 s.
runlog::Run abandoned() {
  runlog::Run run;
  for (const Event& event : one_of_each()) {
    if (!std::holds_alternative<Judged>(event.body)) {
      EXPECT_TRUE(run.apply(event));
      continue;
    }
    EXPECT_TRUE(run.apply({6000, judging_failed(0, "disk full")}));
    break;
  }
  return run;
}

TEST(Run, TheFirstAbandonedAttemptIsNamedWhicheverFailedLast) {
  for (bool second_fails_first : {false, true}) {
    runlog::Run run;
    for (const Event& event : one_of_each()) {
      if (std::holds_alternative<Judged>(event.body)) continue;
      ASSERT_TRUE(run.apply(event));
      if (std::holds_alternative<Extracted>(event.body) && run.find("p")->attempts.size() == 2)
        break;
    }
    for (int attempt : {second_fails_first ? 1 : 0, second_fails_first ? 0 : 1})
      ASSERT_TRUE(run.apply({6000, judging_failed(attempt, std::to_string(attempt))}));
    ASSERT_NE(run.find("p")->abandonment(), nullptr);
    EXPECT_EQ(run.find("p")->abandonment()->message, "0");
  }
}

TEST(Run, AnAbandonedAttemptIsOpenAgainWhereItsProblemFailed) {
  for (End end : {End::kFailed, End::kAttempts}) {
    runlog::Run run = abandoned();
    ProblemTree& tree = *run.find("p");
    ASSERT_TRUE(tree.attempts[0].finished());
    ASSERT_NE(tree.abandonment(), nullptr);
    EXPECT_EQ(tree.abandonment()->message, "disk full");
    ASSERT_TRUE(run.apply({7000, ProblemEnded{"p", end, "", kNoParent, 7}}));
    ASSERT_TRUE(run.apply({7000, RunResumed{"0.1", "later"}}));
    ASSERT_TRUE(run.apply({7000, ProblemStarted{"p"}}));
    const bool open = end == End::kFailed;
    EXPECT_EQ(tree.attempts[0].finished(), !open);
    EXPECT_EQ(tree.abandonment() == nullptr, open);
  }
}

TEST(Run, NoTimePassesForAProblemThatWaits) {
  runlog::Run run = abandoned();
  const ProblemTree& tree = *run.find("p");
  EXPECT_EQ(tree.searched_ms(8000), 7999);  // it began at 1
  ASSERT_TRUE(run.apply({8001, ProblemEnded{"p", End::kFailed, "", kNoParent, 8}}));
  EXPECT_EQ(tree.searched_ms(100'000), 8000);  // others go on
  // Gone on with, and killed 2 s after.
  ASSERT_TRUE(run.apply({100'000, RunResumed{"0.1", "later"}}));
  ASSERT_TRUE(run.apply({100'000, ProblemStarted{"p"}}));
  EXPECT_EQ(tree.searched_ms(102'000), 10'000);
  ASSERT_TRUE(run.apply({102'000, RunResumed{"0.1", "later"}}));
  EXPECT_EQ(tree.searched_ms(200'000), 10'000);  // others are searched first
  ASSERT_TRUE(run.apply({200'000, ProblemStarted{"p"}}));
  EXPECT_EQ(tree.searched_ms(201'000), 11'000);
}

Attempt attempt_with(Progress progress, std::optional<double> error, double speedup) {
  Attempt out;
  out.judged = Judged{};
  out.judged->progress = progress;
  out.judged->error = error;
  if (speedup > 0) out.judged->speedup = task::Speedup{speedup, speedup, speedup};
  return out;
}

TEST(Attempt, OrderOfProgress) {
  // From the least to the most.
  std::vector<Attempt> order(2);
  order[1].extracted = Extracted{"p", 0, "cc", "dd", ""};
  order.push_back(attempt_with(Progress::kCompiled, std::nullopt, 0));
  order.push_back(attempt_with(Progress::kRan, std::nullopt, 0));
  order.push_back(attempt_with(Progress::kRightShape, std::nullopt, 0));  // NaN
  order.push_back(attempt_with(Progress::kRightShape, 100, 0));
  order.push_back(attempt_with(Progress::kRightShape, 2, 0));
  order.push_back(attempt_with(Progress::kCorrect, std::nullopt, 0));  // not timed
  order.push_back(attempt_with(Progress::kCorrect, std::nullopt, 0.5));
  order.push_back(attempt_with(Progress::kCorrect, std::nullopt, 3));
  for (std::size_t i = 0; i < order.size(); ++i) {
    for (std::size_t j = 0; j < order.size(); ++j)
      EXPECT_EQ(further(order[i], order[j]), i > j) << i << " " << j;
  }
}

}  // namespace
}  // namespace kw::runlog
