#include "train/rl/judged_answer.h"

#include <gtest/gtest.h>

namespace kw::train {
namespace {

JudgedAnswer drawn(std::string text) {
  JudgedAnswer out;
  out.answer.text = std::move(text);
  out.answer.finish = text::Finish::kLength;
  out.answer.sampled = {{259, 0}, {-0.1F, -1.0F / 3}, {4, 4}, {}};
  return out;
}

TEST(JudgedAnswers, KeepWhatIsKnown) {
  JudgedAnswers answers;
  answers[7] = {drawn("judged"), drawn("not judged yet")};
  environment::Step step;
  step.reward = 0.1;
  step.interval = environment::RewardInterval{0.05, 0.2};
  step.next = {{{"user", "Again."}}, false};
  step.facts = {{"outcome", "passed"}};
  answers[7][0].step = step;
  answers[9] = {drawn("without a reward")};
  answers[9][0].step = fail(ErrorCode::kUnsupported, "quarantined");

  const std::string text = to_jsonl(answers);
  const JudgedAnswers read = judged_answers_from_jsonl(text, "ahead.jsonl").value();
  EXPECT_EQ(to_jsonl(read), text);
  ASSERT_EQ(read.size(), 2U);
  EXPECT_EQ(read.at(7)[0].answer, answers[7][0].answer);
  EXPECT_EQ((*read.at(7)[0].step)->interval, step.interval);
  EXPECT_EQ((*read.at(7)[0].step)->next, step.next);
  EXPECT_FALSE(read.at(7)[1].step.has_value());
  EXPECT_EQ(read.at(9)[0].step->error().message(), "quarantined");
  EXPECT_EQ(to_jsonl({}), "");
}

TEST(JudgedAnswers, RowsAreChecked) {
  JudgedAnswers answers;
  answers[7] = {drawn("a"), drawn("b")};
  const std::string text = to_jsonl(answers);
  const auto fails_with = [](const std::string& rows, const std::string& part) {
    const auto read = judged_answers_from_jsonl(rows, "ahead.jsonl");
    ASSERT_FALSE(read.has_value()) << part;
    EXPECT_NE(read.error().message().find(part), std::string::npos) << read.error().message();
  };
  fails_with(text.substr(text.find('\n') + 1), "turn");  // the second turn alone
  fails_with("{\"schema\": 2}\n", "schema");
  fails_with("no JSON\n", "ahead.jsonl:1");
}

}  // namespace
}  // namespace kw::train
