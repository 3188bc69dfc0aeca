#include "kernelwright/eval/turns.h"

#include <set>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace kw::front {
namespace {

using testing::ElementsAre;

// The indices that callers get who ask in turn.
std::vector<std::vector<std::size_t>> taken_in_turn(Turns& turns, std::size_t callers) {
  std::vector<std::vector<std::size_t>> out(callers);
  std::vector<std::optional<std::size_t>> groups(callers);
  for (bool any = true; any;) {
    any = false;
    for (std::size_t caller = 0; caller < callers; ++caller) {
      const auto turn = turns.next(groups[caller]);
      if (!turn) continue;
      any = true;
      groups[caller] = turn->group;
      out[caller].push_back(turn->index);
    }
  }
  return out;
}

TEST(Turns, OneCallerTakesAGroupAfterTheOther) {
  Turns turns({7, 3, 7, 3, 7});
  EXPECT_THAT(taken_in_turn(turns, 1), ElementsAre(ElementsAre(0, 2, 4, 1, 3)));
}

TEST(Turns, EachCallerHasAGroupOfItsOwnWhileThereAreSome) {
  Turns turns({0, 0, 1, 1, 2, 2});
  EXPECT_THAT(taken_in_turn(turns, 3),
              ElementsAre(ElementsAre(0, 1), ElementsAre(2, 3), ElementsAre(4, 5)));
}

TEST(Turns, WhoHasNoGroupLeftHelpsWithTheFullest) {
  Turns turns({0, 1, 1, 2, 2, 2, 2});
  EXPECT_THAT(taken_in_turn(turns, 2), ElementsAre(ElementsAre(0, 3, 4, 6), ElementsAre(1, 2, 5)));
  Turns one_group({5, 5, 5});
  EXPECT_THAT(taken_in_turn(one_group, 2), ElementsAre(ElementsAre(0, 2), ElementsAre(1)));
}

TEST(Turns, NothingAtAll) {
  Turns turns({});
  EXPECT_FALSE(turns.next(std::nullopt));
}

TEST(Turns, ThreadsTakeEachIndexOnce) {
  std::vector<std::size_t> group_of(1000);
  for (std::size_t i = 0; i < group_of.size(); ++i) group_of[i] = i % 37;
  Turns turns(group_of);
  std::vector<std::vector<std::size_t>> taken(4);
  {
    std::vector<std::jthread> threads;
    for (auto& own : taken) {
      threads.emplace_back([&turns, &own] {
        std::optional<std::size_t> group;
        while (const auto turn = turns.next(group)) {
          group = turn->group;
          own.push_back(turn->index);
        }
      });
    }
  }
  std::multiset<std::size_t> all;
  for (const auto& own : taken) all.insert(own.begin(), own.end());
  EXPECT_EQ(all.size(), group_of.size());
  EXPECT_EQ(std::set(all.begin(), all.end()).size(), group_of.size());
}

}  // namespace
}  // namespace kw::front
