// Which idle sessions are kept, over sessions that hold as much memory as a test says.
#include "gym/evaluation/session_pool.h"

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "gym/evaluation/testing/fake_cuda_bench.h"

namespace kw::gym {
namespace {

using testing::FakeCudaSession;
using testing::FakeGpu;

// It says when it ends.
class PooledSession : public FakeCudaSession {
 public:
  PooledSession(FakeGpu& gpu, std::string key, std::vector<std::string>& ended)
      : FakeCudaSession(gpu, {}), key_(std::move(key)), ended_(ended) {}
  ~PooledSession() override { ended_.push_back(key_); }

 private:
  std::string key_;
  std::vector<std::string>& ended_;
};

class SessionPoolTest : public ::testing::Test {
 protected:
  void give_back(const std::string& key, std::uint64_t bytes) {
    gpu_.resident_bytes = bytes;
    pool_.give_back(key, std::make_unique<PooledSession>(gpu_, key, ended_));
  }

  FakeGpu gpu_;
  std::vector<std::string> ended_;
  SessionPool pool_{100};
};

TEST_F(SessionPoolTest, KeepsByMemoryTheMostRecentlyUsed) {
  for (const char* key : {"a", "b", "c"}) give_back(key, 40);
  EXPECT_EQ(ended_, std::vector<std::string>{"a"});
  EXPECT_FALSE(pool_.contains("a"));
  EXPECT_TRUE(pool_.contains("b") && pool_.contains("c"));
  // The session that is used again is not the oldest any more.
  pool_.give_back("b", pool_.take("b"));
  give_back("d", 40);
  EXPECT_EQ(ended_, (std::vector<std::string>{"a", "c"}));
}

TEST_F(SessionPoolTest, ASessionIsTakenOnceAndItsMemoryWithIt) {
  EXPECT_EQ(pool_.take("a"), nullptr);
  give_back("a", 60);
  const auto taken = pool_.take("a");
  ASSERT_NE(taken, nullptr);
  EXPECT_EQ(pool_.take("a"), nullptr);
  give_back("b", 60);
  give_back("c", 40);
  EXPECT_TRUE(pool_.contains("b") && pool_.contains("c"));
  EXPECT_EQ(ended_, std::vector<std::string>{});
}

TEST_F(SessionPoolTest, OneBeyondTheBudgetStaysAlone) {
  give_back("small", 10);
  give_back("large", 1000);
  EXPECT_TRUE(pool_.contains("large"));
  EXPECT_EQ(ended_, std::vector<std::string>{"small"});
}

TEST_F(SessionPoolTest, KeepsNoMoreThanItMay) {
  SessionPool pool(1000, 2);
  for (const char* key : {"a", "b", "c"})
    pool.give_back(key, std::make_unique<PooledSession>(gpu_, key, ended_));
  EXPECT_EQ(ended_, std::vector<std::string>{"a"});
  EXPECT_TRUE(pool.contains("b") && pool.contains("c"));
}

// Two evaluations of the same workload may have had a session each.
TEST_F(SessionPoolTest, TwoOfOneKeyAreTwo) {
  give_back("a", 10);
  give_back("a", 10);
  EXPECT_NE(pool_.take("a"), nullptr);
  EXPECT_NE(pool_.take("a"), nullptr);
  EXPECT_EQ(pool_.take("a"), nullptr);
}

}  // namespace
}  // namespace kw::gym
