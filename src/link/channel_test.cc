// Over real sockets: order, a side that does not read, ends and damage.
#include "link/channel.h"

#include <gtest/gtest.h>
#include <sys/socket.h>

#include "os/fd.h"

namespace kw::link {
namespace {

class ChannelTest : public testing::Test {
 protected:
  ChannelTest() : pair(std::move(*os::make_socket_pair())) {}
  os::SocketPair pair;
};

TEST_F(ChannelTest, KeepsTheOrder) {
  Channel first(std::move(pair.first)), second(std::move(pair.second));
  for (int i = 0; i < 100; ++i) ASSERT_TRUE(first.queue({{"i", i}, {"text", "\xc3\xa9\n"}}));
  ASSERT_TRUE(first.flush());
  std::vector<Json> got;
  ASSERT_TRUE(second.receive(got));
  ASSERT_EQ(got.size(), 100U);
  for (int i = 0; i < 100; ++i) EXPECT_EQ(got[static_cast<std::size_t>(i)]["i"], i);
  EXPECT_EQ(got[0]["text"], "\xc3\xa9\n");
}

TEST_F(ChannelTest, NeverWaitsForAReader) {
  Channel first(std::move(pair.first)), second(std::move(pair.second));
  const std::string large(100'000, 'x');
  for (int i = 0; i < 100; ++i) {
    ASSERT_TRUE(first.queue({{"i", i}, {"text", large}}));
    ASSERT_TRUE(first.flush());
  }
  EXPECT_GT(first.queued_bytes(), 1'000'000U);
  std::vector<Json> got;
  while (got.size() < 100) {
    ASSERT_TRUE(second.receive(got));
    ASSERT_TRUE(first.flush());
  }
  EXPECT_EQ(first.queued_bytes(), 0U);
  EXPECT_EQ(got[99]["i"], 99);
}

TEST_F(ChannelTest, SeesTheEndBehindTheLastMessage) {
  Channel second(std::move(pair.second));
  {
    Channel first(std::move(pair.first));
    ASSERT_TRUE(first.queue({{"last", true}}));
    ASSERT_TRUE(first.flush());
  }
  std::vector<Json> got;
  auto received = second.receive(got);
  ASSERT_FALSE(received);
  EXPECT_EQ(received.error().code(), ErrorCode::kUnavailable);
  EXPECT_EQ(got.size(), 1U);
  ASSERT_TRUE(second.queue({{"a", 1}}));
  auto sent = second.flush();
  ASSERT_FALSE(sent);
  EXPECT_EQ(sent.error().code(), ErrorCode::kUnavailable);
}

TEST_F(ChannelTest, RefusesDamage) {
  for (std::string bytes :
       {std::string("\2\0\0\0{]", 6), std::string("\xff\xff\xff\xff", 4), std::string(4, '\0')}) {
    auto made = os::make_socket_pair();
    ASSERT_TRUE(made);
    Channel reader(std::move(made->second));
    ASSERT_EQ(::send(made->first.get(), bytes.data(), bytes.size(), 0),
              static_cast<ssize_t>(bytes.size()));
    std::vector<Json> got;
    auto received = reader.receive(got);
    ASSERT_FALSE(received);
    EXPECT_EQ(received.error().code(), ErrorCode::kInvalidArgument);
    EXPECT_TRUE(got.empty());
  }
}

TEST_F(ChannelTest, RefusesAMessageOverTheLimit) {
  Channel first(std::move(pair.first));
  auto queued = first.queue({{"text", std::string(kMaxFrameBytes, 'x')}});
  ASSERT_FALSE(queued);
  EXPECT_EQ(queued.error().code(), ErrorCode::kResourceExhausted);
  EXPECT_EQ(first.queued_bytes(), 0U);
}

}  // namespace
}  // namespace kw::link
