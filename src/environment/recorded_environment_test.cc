#include "environment/recorded_environment.h"

#include <gtest/gtest.h>

#include "environment/toy_environment.h"

namespace kw::environment {
namespace {

// Log-probabilities that decimal texts of fewer digits would change.
Answer sampled(std::string text) {
  Answer out;
  out.text = std::move(text);
  out.finish = text::Finish::kLength;
  out.sampled = {{259, 0, 17}, {-0.1F, -1.0F / 3, -1e-30F}, {4, 4, 5}, {-1e30F, -0.7F, -1e30F}};
  return out;
}

// Writes down what another environment says.
class Recorder : public Episode {
 public:
  Recorder(const std::string& task, std::unique_ptr<Episode> inner, std::string& rows)
      : task_(task), state_(first_state(task)), inner_(std::move(inner)), rows_(rows) {
    rows_ += to_json(Record{task_, state_, inner_->observation(), false, {}, {}}).dump() + "\n";
  }
  const Observation& observation() const override { return inner_->observation(); }
  Result<Step> step(const Answer& answer, const std::stop_token& stop) override {
    KW_TRY(Step step, inner_->step(answer, stop));
    state_ = state_after(state_, answer);
    rows_ += to_json(Record{task_, state_, {}, true, answer, step}).dump() + "\n";
    return step;
  }

 private:
  const std::string task_;
  std::string state_;
  const std::unique_ptr<Episode> inner_;
  std::string& rows_;
};

class Recorded : public testing::Test {
 protected:
  std::unique_ptr<Episode> recording(const std::string& task) {
    return std::make_unique<Recorder>(task, toy_->begin(task, {}).value(), rows_);
  }
  std::unique_ptr<RecordedEnvironment> replay() {
    return RecordedEnvironment::make(rows_, "rows").value();
  }

  std::unique_ptr<ToyEnvironment> toy_ = ToyEnvironment::make({.bytes = "ab", .turns = 2}).value();
  std::string rows_;
};

TEST_F(Recorded, SaysTheSameAgain) {
  auto episode = recording("a");
  const Observation first = episode->observation();
  const Step one = episode->step(sampled("abab"), {}).value();
  const Step two = episode->step(sampled("a"), {}).value();

  auto record = replay();
  EXPECT_EQ(record->tasks(), std::vector<std::string>{"a"});
  auto again = record->begin("a", {}).value();
  EXPECT_EQ(again->observation(), first);
  const Step one_again = again->step(sampled("abab"), {}).value();
  EXPECT_EQ(one_again.reward, one.reward);
  EXPECT_EQ(one_again.next, one.next);
  EXPECT_EQ(one_again.facts, one.facts);
  EXPECT_EQ(again->observation(), one.next);
  const Step two_again = again->step(sampled("a"), {}).value();
  EXPECT_EQ(two_again.reward, two.reward);
  EXPECT_TRUE(two_again.done);
}

TEST(Records, AMeasuredRewardKeepsItsInterval) {
  Record record{"a", first_state("a"), {}, true, sampled("x"), {}};
  record.step.reward = 0.1;
  record.step.interval = RewardInterval{0.1 / 3, 0.2};
  record.step.done = true;
  const Json row = to_json(record);
  EXPECT_EQ(record_from_json(row, "row").value().step.interval, record.step.interval);
  Json wrong = row;
  wrong["interval"] = {0.2};
  EXPECT_FALSE(record_from_json(wrong, "row").has_value());
  record.step.interval.reset();
  EXPECT_FALSE(to_json(record).contains("interval"));
}

TEST_F(Recorded, TokensAndLogprobsKeepTheirBits) {
  auto episode = recording("a");
  ASSERT_TRUE(episode->step(sampled("abab"), {}).has_value());
  const std::string last = rows_.substr(rows_.find('\n') + 1);
  const Record record = record_from_json(parse_json(last).value(), "row").value();
  EXPECT_EQ(record.answer, sampled("abab"));
}

TEST_F(Recorded, AnotherAnswerHasNoReward) {
  auto episode = recording("a");
  ASSERT_TRUE(episode->step(sampled("abab"), {}).has_value());
  auto again = replay()->begin("a", {});
  auto record = replay();
  auto other = record->begin("a", {}).value();
  EXPECT_EQ(other->step(sampled("baba"), {}).error().code(), ErrorCode::kNotFound);
  Answer whole = sampled("abab");
  whole.finish = text::Finish::kStop;
  EXPECT_EQ(other->step(whole, {}).error().code(), ErrorCode::kNotFound);
  // The episode is as it was.
  EXPECT_DOUBLE_EQ(other->step(sampled("abab"), {}).value().reward, 0.5);
  EXPECT_EQ(record->begin("b", {}).error().code(), ErrorCode::kNotFound);
}

TEST_F(Recorded, RowsAreChecked) {
  auto episode = recording("a");
  ASSERT_TRUE(episode->step(sampled("abab"), {}).has_value());
  const Json good = parse_json(rows_.substr(rows_.find('\n') + 1)).value();
  auto fails_with = [&](const std::function<void(Json&)>& change, const std::string& key) {
    Json bad = good;
    change(bad);
    auto read = record_from_json(bad, "row");
    ASSERT_FALSE(read.has_value()) << key;
    EXPECT_NE(read.error().message().find(key), std::string::npos) << read.error().message();
  };
  fails_with([](Json& row) { row["schema"] = 2; }, "row.schema");
  fails_with([](Json& row) { row["extra"] = 1; }, "row.extra");
  fails_with([](Json& row) { row["answer"]["finish"] = "tired"; }, "row.answer.finish");
  fails_with([](Json& row) { row["answer"]["tokens"][0] = 1.5; }, "row.answer.tokens");
  fails_with([](Json& row) { row["answer"]["logprobs"] = 1; }, "row.answer.logprobs");
  fails_with([](Json& row) { row.erase("next"); }, "row.next");
  EXPECT_FALSE(RecordedEnvironment::make("{}\n", "rows").has_value());
}

}  // namespace
}  // namespace kw::environment
