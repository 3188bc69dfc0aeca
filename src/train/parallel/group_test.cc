// Ranks, as threads of this process, meet over 127.0.0.1 and hear of each other's end.
#include "train/parallel/group.h"

#include <array>
#include <future>

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include "train/parallel/agreement.h"
#include "train/parallel/testing/local_groups.h"

namespace kw::train {
namespace {

using std::chrono::milliseconds;
using Made = JoinedGroup;

constexpr milliseconds kLong = kTestLimit;

TEST(Groups, ExchangeByRank) {
  const auto groups = groups_of(3);
  for (int round = 0; round < 20; ++round) {
    std::vector<std::future<Result<std::vector<std::string>>>> all;
    for (const auto& group : groups)
      all.push_back(std::async(std::launch::async, [&group, round] {
        return group->exchange(std::to_string(10 * round + group->rank()));
      }));
    for (auto& one : all)
      EXPECT_EQ(one.get().value(),
                (std::vector{std::to_string(10 * round), std::to_string(10 * round + 1),
                             std::to_string(10 * round + 2)}));
  }
}

TEST(Groups, AFailureReachesAllWithItsRankAndReason) {
  const auto groups = groups_of(3);
  std::promise<void> called;
  groups[1]->on_failure([&] { called.set_value(); });
  groups[2]->fail("out of paper");
  for (const auto& group : groups) {
    const auto failure = group->failure(kLong);
    ASSERT_TRUE(failure);
    EXPECT_EQ(failure->rank, 2);
    EXPECT_EQ(failure->reason, "out of paper");
    EXPECT_EQ(group->speaks(), group->is_root());
  }
  called.get_future().get();
  const Error error = groups[1]->end_with(Error(ErrorCode::kUnavailable, "closed"));
  EXPECT_EQ(error.message(), "rank 2: out of paper");
  EXPECT_EQ(groups[0]->exchange("x").error().message(), "rank 2: out of paper");
}

TEST(Groups, AnEndWithoutAWordIsSeen) {
  auto groups = groups_of(3);
  groups[1]->fail("it says so first");  // a group with a failure says no goodbye
  groups[1].reset();
  const auto failure = groups[2]->failure(kLong);
  ASSERT_TRUE(failure);
  EXPECT_EQ(failure->rank, 1);

  auto others = groups_of(3);
  others[0].reset();  // with a goodbye, but others wait for it
  const auto waiting = others[2]->exchange("x");
  ASSERT_FALSE(waiting);
  EXPECT_EQ(waiting.error().message(), "rank 0: it ended before the others");
  EXPECT_TRUE(others[1]->failure(kLong).has_value());
  EXPECT_TRUE(others[1]->speaks()) << "rank 0 cannot";
  EXPECT_FALSE(others[2]->speaks());
}

TEST(Groups, StrangersAreNotRanks) {
  const Launch launch = launch_here(2);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  address.sin_port = htons(static_cast<std::uint16_t>(launch.port));
  const int stranger = ::socket(AF_INET, SOCK_STREAM, 0);
  ASSERT_EQ(::connect(stranger, reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
  ASSERT_EQ(::write(stranger, "GET / HTTP/1.1\r\n\r\n", 18), 18);
  auto root = joining(launch, 0), other = joining(launch, 1);
  EXPECT_TRUE(root.get()) << "a stranger took the place of a rank";
  EXPECT_TRUE(other.get());
  ::close(stranger);
}

TEST(Groups, AnotherNumberOfRanksIsRefused) {
  Launch launch = launch_here(2);
  auto root = joining(launch, 0);
  launch.size = 3;
  auto other = joining(launch, 2);
  const Made made = root.get();
  ASSERT_FALSE(made);
  EXPECT_NE(made.error().message().find("as rank 2 of 3"), std::string::npos);
  const Made refused = other.get();
  ASSERT_TRUE(refused);
  EXPECT_TRUE((*refused)->failure(kLong).has_value());
}

TEST(Groups, MissingRanksAreNamed) {
  Launch launch = launch_here(3);
  const Made other = joining(launch, 1).get();  // the connection waits until rank 0 accepts it
  ASSERT_TRUE(other);
  const Made made = Group::join(launch, milliseconds(500));
  ASSERT_FALSE(made);
  EXPECT_NE(made.error().message().find("2 of 3 did not come"), std::string::npos)
      << made.error().message();
}

TEST(Groups, DifferencesAreNamed) {
  const auto groups = groups_of(2);
  const std::array<Json, 2> settings = {Json{{"seed", 1}, {"steps", 5}},
                                        Json{{"seed", 1}, {"steps", 6}}};
  auto first = std::async(std::launch::async, [&] { return agree(*groups[0], settings[0]); });
  const Status second = agree(*groups[1], settings[1]);
  for (const Status& one : {first.get(), second}) {
    ASSERT_FALSE(one);
    EXPECT_EQ(one.error().message(),
              "steps: 6 on rank 1, and 5 on rank 0; all ranks need the same");
  }
}

}  // namespace
}  // namespace kw::train
