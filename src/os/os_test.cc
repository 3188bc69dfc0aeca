// Tests of descriptors, memory files, messages and files.
#include <cstring>

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include "os/fd.h"
#include "os/file.h"
#include "os/memory.h"
#include "os/message.h"

namespace kw::os {
namespace {

TEST(Fd, AFileIsReadWholeWhereverItStands) {
  const UniqueFd file = make_sealed_file("file", std::string(100'000, 'a') + "b").value();
  const UniqueFd shared = file.duplicate().value();
  EXPECT_EQ(read_whole(file.get(), 200'000)->size(), 100'001U);
  EXPECT_EQ(read_to_end(shared.get(), 200'000)->size(), 100'001U);
  EXPECT_EQ(read_to_end(file.get(), 200'000)->size(), 0U);  // they stand at the same place
  EXPECT_EQ(read_whole(file.get(), 200'000)->back(), 'b');
  EXPECT_EQ(read_whole(file.get(), 100'000).error().code(), ErrorCode::kResourceExhausted);
}

TEST(MemoryFile, SealsKeepOthersFromWritingAndResizing) {
  UniqueFd fd = make_memory_file("inputs", 8192).value();
  Mapping mine = Mapping::shared(fd.get(), 8192, true).value();
  ASSERT_TRUE(seal_against_new_writers(fd.get()));
  std::memset(mine.data(), 7, 8192);
  EXPECT_FALSE(Mapping::shared(fd.get(), 8192, true));
  EXPECT_EQ(::ftruncate(fd.get(), 0), -1);
  EXPECT_EQ(::pwrite(fd.get(), "x", 1, 0), -1);
  Mapping read_only = Mapping::shared(fd.get(), 8192, false).value();
  EXPECT_EQ(read_only.data()[8191], std::byte{7});
  EXPECT_EQ(::mprotect(read_only.data(), 8192, PROT_READ | PROT_WRITE), -1);
}

TEST(Message, CarriesJsonAndDescriptors) {
  SocketPair pair = make_message_socket_pair().value();
  UniqueFd file = make_sealed_file("text", "hello").value();
  ASSERT_TRUE(
      send_message(pair.first.get(), Json{{"op", "setup"}, {"fds", {"text"}}}, {file.get()}));
  Message message = receive_message(pair.second.get(), std::chrono::milliseconds(1000)).value();
  EXPECT_EQ(message.body["op"], "setup");
  ASSERT_EQ(message.fds.size(), 1U);
  EXPECT_EQ(read_to_end(message.fds[0].get(), 100).value(), "hello");
  EXPECT_EQ(receive_message(pair.second.get(), std::chrono::milliseconds(1)).error().code(),
            ErrorCode::kDeadlineExceeded);
  pair.first.reset();
  EXPECT_EQ(receive_message(pair.second.get(), std::chrono::milliseconds(1000)).error().code(),
            ErrorCode::kUnavailable);
}

// So many rows of a large output are compared with float64.
TEST(Message, ALongOneComesInAFile) {
  SocketPair pair = make_message_socket_pair().value();
  UniqueFd file = make_sealed_file("text", "hello").value();
  Json rows = Json::array();
  for (int i = 0; i < 75000; ++i) rows.push_back(i);
  const Json body = {{"op", "run"}, {"fds", {"text"}}, {"rows", rows}};
  ASSERT_GT(body.dump().size(), kMaxPacketBytes);
  ASSERT_TRUE(send_message(pair.first.get(), body, {file.get()}));
  Message message = receive_message(pair.second.get(), std::chrono::milliseconds(1000)).value();
  EXPECT_EQ(message.body, body);
  ASSERT_EQ(message.fds.size(), 1U);
  EXPECT_EQ(read_to_end(message.fds[0].get(), 100).value(), "hello");
  ASSERT_TRUE(send_message(pair.first.get(), Json{{"message_in_file", true}}));
  EXPECT_EQ(receive_message(pair.second.get(), std::chrono::milliseconds(1000)).error().message(),
            "a message's file is not there");
  EXPECT_EQ(send_message(pair.first.get(), Json(std::string(kMaxMessageBytes, 'x'))).error().code(),
            ErrorCode::kResourceExhausted);
}

TEST(Message, StructsMustHaveTheirSize) {
  SocketPair pair = make_message_socket_pair().value();
  std::uint64_t out = 0;
  std::uint64_t in[2] = {5, 6};
  ASSERT_TRUE(send_struct(pair.first.get(), in, 8));
  ASSERT_TRUE(receive_struct(pair.second.get(), &out, 8, std::chrono::milliseconds(1000)));
  EXPECT_EQ(out, 5U);
  ASSERT_TRUE(send_struct(pair.first.get(), in, 16));
  EXPECT_FALSE(receive_struct(pair.second.get(), &out, 8, std::chrono::milliseconds(1000)));
}

TEST(File, ReadsWithLimitsAndReplacesAtomically) {
  TempDir dir = TempDir::make("kw-os-test-").value();
  auto path = dir.path() / "a.json";
  EXPECT_EQ(read_file(path).error().code(), ErrorCode::kNotFound);
  ASSERT_TRUE(write_file_atomic(path, "one"));
  ASSERT_TRUE(write_file_atomic(path, "two"));
  EXPECT_EQ(read_file(path).value(), "two");
  EXPECT_EQ(read_file(path, 2).error().code(), ErrorCode::kResourceExhausted);
  EXPECT_THAT(read_file(dir.path()).error().message(), testing::HasSubstr("not a regular file"));
  ASSERT_TRUE(append_line(path, "!"));
  EXPECT_EQ(read_file(path).value(), "two!\n");
}

TEST(File, TempDirLeavesNothing) {
  std::filesystem::path path;
  {
    TempDir dir = TempDir::make("kw-os-test-").value();
    path = dir.path();
    ASSERT_TRUE(write_file_atomic(path / "x", "y"));
  }
  EXPECT_FALSE(std::filesystem::exists(path));
}

}  // namespace
}  // namespace kw::os
