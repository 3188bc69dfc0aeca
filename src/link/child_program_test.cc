// Over the shell: the socket, how it ended, and that it is not left behind.
#include "link/child_program.h"

#include <gtest/gtest.h>
#include <sys/socket.h>

namespace kw::link {
namespace {

using namespace std::chrono_literals;

std::vector<std::string> shell(const std::string& script) {
  return {"/bin/sh", "-c", script};
}

TEST(ChildProgram, TalksOverItsSocket) {
  auto child = ChildProgram::start(shell("read line <&3; echo \"got $line\" >&3; exit 7"));
  ASSERT_TRUE(child) << child.error().message();
  os::UniqueFd socket = child->take_socket();
  ASSERT_EQ(::send(socket.get(), "word\n", 5, 0), 5);
  auto said = os::read_to_end(socket.get(), 1000);
  ASSERT_TRUE(said);
  EXPECT_EQ(*said, "got word\n");
  EXPECT_EQ(child->wait(20s), "exit code 7");
  EXPECT_EQ(child->wait(20s), "ended before");
}

TEST(ChildProgram, SaysWhichSignal) {
  auto child = ChildProgram::start(shell("kill -9 $$"));
  ASSERT_TRUE(child);
  EXPECT_EQ(child->wait(20s), "signal 9 (Killed)");
}

TEST(ChildProgram, IsKilledWhenItStays) {
  auto child = ChildProgram::start(shell("exec sleep 1000"));
  ASSERT_TRUE(child);
  EXPECT_EQ(child->wait(0ms), "signal 9 (Killed)");
}

TEST(ChildProgram, EndsWithItsOwner) {
  os::UniqueFd socket;
  {
    auto child = ChildProgram::start(shell("exec sleep 1000"));
    ASSERT_TRUE(child);
    socket = child->take_socket();
  }
  auto said = os::read_to_end(socket.get(), 1000);
  ASSERT_TRUE(said);
  EXPECT_EQ(*said, "");
}

TEST(ChildProgram, NamesAProgramThatIsNotThere) {
  auto child = ChildProgram::start({"/no/such/program"});
  ASSERT_FALSE(child);
  EXPECT_EQ(child.error().code(), ErrorCode::kNotFound);
  EXPECT_NE(child.error().message().find("/no/such/program"), std::string::npos);
}

}  // namespace
}  // namespace kw::link
