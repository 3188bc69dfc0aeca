// The pools: how many requests are under way, and that one which waits for its next try takes
// nobody's place.
#include "search/pools.h"

#include <atomic>
#include <future>
#include <latch>
#include <set>

#include <gtest/gtest.h>

#include "os/pause.h"
#include "search/testing/scripted_judge.h"

namespace kw::search {
namespace {

// Answers when the test lets it.
class Held : public Proposer {
 public:
  Result<Proposed> propose(const ProposalRequest& request, std::stop_token stop) override {
    const int now = ++under_way;
    for (int most = highest; now > most && !highest.compare_exchange_weak(most, now);) continue;
    if (hold) os::pause(std::chrono::hours(1), stop);
    --under_way;
    if (stop.stop_requested()) return fail(ErrorCode::kCancelled, "cancelled");
    Proposal out;
    out.answer = std::to_string(request.attempt);
    return Proposed(std::move(out));
  }
  std::string name() const override { return "held"; }

  bool hold = false;
  std::atomic<int> under_way = 0, highest = 0;
};

class PoolsTest : public testing::Test {
 protected:
  Pools make(int proposing) {
    return Pools(&proposer, &judge, std::chrono::steady_clock::now, {proposing, 1, 100});
  }
  static ProposalRequest attempt(int number) {
    ProposalRequest out;
    out.attempt = number;
    return out;
  }
  static int answered(Pools& pools) {
    auto message = pools.take({}, std::chrono::minutes(1));
    return message ? std::get<Answer>(*message).attempt : -1;
  }

  Held proposer;
  ScriptedJudge judge;
};

TEST_F(PoolsTest, AsManyRequestsAsThereArePlaces) {
  Pools pools = make(3);
  for (int i = 0; i < 50; ++i) pools.propose(0, 0, attempt(i));
  for (int i = 0; i < 50; ++i) EXPECT_GE(answered(pools), 0);
  EXPECT_LE(proposer.highest, 3);
  EXPECT_GE(proposer.highest, 1);
}

TEST_F(PoolsTest, APauseTakesNoPlace) {
  Pools pools = make(1);
  pools.propose(0, 3600, attempt(0));  // was told to come back in an hour
  pools.propose(0, 0.02, attempt(1));
  pools.propose(0, 0, attempt(2));
  // On a busy machine the short pause may be over before the thread begins: the order is open.
  const int first = answered(pools);
  EXPECT_EQ((std::set{first, answered(pools)}), (std::set{1, 2}));
  EXPECT_FALSE(pools.take_if_there());
}

TEST_F(PoolsTest, WhatIsStoppedHasNoMessage) {
  proposer.hold = true;
  Pools pools = make(2);
  for (int i = 0; i < 4; ++i) pools.propose(0, 0, attempt(i));
  pools.stop();
  EXPECT_FALSE(pools.take_if_there());
  EXPECT_EQ(proposer.under_way, 0);
}

}  // namespace
}  // namespace kw::search
