#include "service/problem_shelf.h"

#include <gtest/gtest.h>

namespace kw::service {
namespace {

using Texts = std::vector<std::pair<std::string, std::string>>;
using Hashes = std::vector<std::string>;

TEST(ProblemShelf, StoresEachProblemOnce) {
  ProblemShelf shelf({});
  shelf.put("a", "text");
  shelf.put("a", "another");
  EXPECT_EQ(*shelf.find("a"), "text");
  EXPECT_EQ(shelf.find("b"), nullptr);
  EXPECT_EQ(shelf.take_changes().added, (Texts{{"a", "text"}}));
  EXPECT_EQ(shelf.take_changes().added, Texts{});
}

TEST(ProblemShelf, WhatIsStoredIsNoChange) {
  ProblemShelf shelf({});
  shelf.restore("a", "text");
  EXPECT_EQ(*shelf.find("a"), "text");
  EXPECT_EQ(shelf.take_changes().added, Texts{});
}

TEST(ProblemShelf, ForgetsTheIdleOneThatWasWantedLongestAgo) {
  ProblemShelf shelf({.most_idle = 2});
  for (const char* hash : {"a", "b", "c"}) shelf.put(hash, "text");
  shelf.hold("a");
  shelf.put("d", "text");
  ASSERT_NE(shelf.find("b"), nullptr);
  EXPECT_EQ(shelf.take_changes().forgotten, Hashes{"c"});
  EXPECT_FALSE(shelf.contains("c"));
  shelf.let_go("a");  // is the one that was wanted last now
  EXPECT_EQ(shelf.take_changes().forgotten, Hashes{"d"});
}

TEST(ProblemShelf, AProblemIsHeldUntilItsLastTaskEnds) {
  ProblemShelf shelf({.most_idle = 0});
  shelf.put("a", "text");
  shelf.hold("a");
  shelf.hold("a");
  EXPECT_EQ(shelf.held_bytes(), 4U);
  shelf.let_go("a");
  EXPECT_EQ(shelf.take_changes().forgotten, Hashes{});
  shelf.let_go("a");
  EXPECT_EQ(shelf.held_bytes(), 0U);
  EXPECT_EQ(shelf.take_changes().forgotten, Hashes{"a"});
}

TEST(ProblemShelf, IdleProblemsHaveALimitOfBytes) {
  ProblemShelf shelf({.most_idle_bytes = 10});
  for (const char* hash : {"a", "b", "c"}) shelf.put(hash, "12345");
  EXPECT_EQ(shelf.take_changes().forgotten, Hashes{"a"});
}

}  // namespace
}  // namespace kw::service
