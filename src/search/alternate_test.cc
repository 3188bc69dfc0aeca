// Two proposers in turn: whose attempt it is, what each knows to be in flight, and who goes on when
// the other has nothing more.
#include <functional>
#include <utility>

#include <gtest/gtest.h>

#include "search/proposer.h"

namespace kw::search {
namespace {

using Asked = std::vector<std::pair<int, int>>;  // attempt, in flight

class Listening : public Proposer {
 public:
  using Say = std::function<Result<Proposed>(const ProposalRequest&)>;
  Listening(std::string name, Asked& asked, Say say)
      : name_(std::move(name)), asked_(asked), say_(std::move(say)) {}

  Result<Proposed> propose(const ProposalRequest& request, std::stop_token) override {
    asked_.emplace_back(request.attempt, request.in_flight);
    return say_(request);
  }
  std::string name() const override { return name_; }
  gym::Background* background() override { return background_; }

  gym::Background* background_ = nullptr;

 private:
  const std::string name_;
  Asked& asked_;
  const Say say_;
};

class AlternateTest : public testing::Test {
 protected:
  Proposed ask(int attempt, int visible) {
    if (!both)
      both = alternate(std::make_unique<Listening>("one", first, first_says),
                       std::make_unique<Listening>("two", second, second_says));
    ProposalRequest request;
    request.attempt = attempt;
    request.in_flight = attempt - visible;
    return both->propose(request, {}).value();
  }
  static Listening::Say answers(const std::string& by) {
    return [by](const ProposalRequest&) {
      Proposal out;
      out.by = by;
      return Result<Proposed>(std::move(out));
    };
  }
  static Listening::Say ends(runlog::End end) {
    return [end](const ProposalRequest&) { return Result<Proposed>(Exhausted{"no more", end}); };
  }

  Asked first, second;
  Listening::Say first_says = answers("one"), second_says = answers("two");
  std::unique_ptr<Proposer> both;
};

TEST_F(AlternateTest, EachKnowsWhatOfItsOwnIsInFlight) {
  for (int attempt = 0; attempt < 6; ++attempt) {
    const auto proposal = std::get<Proposal>(ask(attempt, 0));
    EXPECT_EQ(proposal.by, attempt % 2 == 0 ? "one" : "two");
  }
  EXPECT_EQ(first, (Asked{{0, 0}, {2, 1}, {4, 2}}));
  EXPECT_EQ(second, (Asked{{1, 0}, {3, 1}, {5, 2}}));
  first.clear();
  second.clear();
  // Attempts below 5 are finished.
  ask(8, 5);
  ask(9, 5);
  EXPECT_EQ(first, (Asked{{8, 1}}));   // 6
  EXPECT_EQ(second, (Asked{{9, 2}}));  // 5 and 7
}

TEST_F(AlternateTest, TheOtherGoesOn) {
  second_says = ends(runlog::End::kExhausted);
  EXPECT_EQ(std::get<Proposal>(ask(1, 0)).by, "one");
  EXPECT_EQ(first, (Asked{{1, 1}}));
  EXPECT_EQ(second.size(), 1U);
}

TEST_F(AlternateTest, BothAreExhausted) {
  first_says = second_says = ends(runlog::End::kExhausted);
  EXPECT_EQ(std::get<Exhausted>(ask(0, 0)).end, runlog::End::kExhausted);
  EXPECT_EQ(first.size() + second.size(), 2U);
}

TEST_F(AlternateTest, ABudgetIsTheReasonWhereItIsOne) {
  first_says = ends(runlog::End::kExhausted);
  second_says = ends(runlog::End::kCost);
  EXPECT_EQ(std::get<Exhausted>(ask(0, 0)).end, runlog::End::kCost);
  EXPECT_EQ(std::get<Exhausted>(ask(1, 0)).end, runlog::End::kCost);
}

TEST_F(AlternateTest, AFailureIsNotTheOthersTurn) {
  first_says = [](const ProposalRequest&) {
    return Result<Proposed>(NoAnswer{{{Error(ErrorCode::kUnavailable, "busy"), "", {}}}, true});
  };
  EXPECT_TRUE(std::get<NoAnswer>(ask(0, 0)).again);
  EXPECT_TRUE(second.empty());
}

class Nothing : public gym::Background {
  void pause() override {}
  void resume() override {}
};

TEST_F(AlternateTest, TheBackgroundIsThatOfEither) {
  Nothing background;
  for (std::size_t whose : {0U, 1U, 2U}) {
    auto one = std::make_unique<Listening>("one", first, first_says);
    auto two = std::make_unique<Listening>("two", second, second_says);
    if (whose < 2) (whose == 0 ? one : two)->background_ = &background;
    EXPECT_EQ(alternate(std::move(one), std::move(two))->background(),
              whose < 2 ? &background : nullptr);
  }
}

}  // namespace
}  // namespace kw::search
