// Over the shell: the socket, how it ended, and that it is not left behind.
#include "os/child_program.h"

#include <array>
#include <cstdlib>
#include <ctime>
#include <thread>
#include <utility>

#include <gtest/gtest.h>
#include <sys/socket.h>

namespace kw::os {
namespace {

using namespace std::chrono_literals;

std::vector<std::string> shell(const std::string& script) {
  return {"/bin/sh", "-c", script};
}

TEST(ChildProgram, TalksOverItsSocket) {
  auto child = ChildProgram::start(shell("read line <&3; echo \"got $line\" >&3; exit 7"));
  ASSERT_TRUE(child) << child.error().message();
  UniqueFd socket = child->take_socket();
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
  UniqueFd socket;
  {
    auto child = ChildProgram::start(shell("exec sleep 1000"));
    ASSERT_TRUE(child);
    socket = child->take_socket();
  }
  auto said = os::read_to_end(socket.get(), 1000);
  ASSERT_TRUE(said);
  EXPECT_EQ(*said, "");
}

// Core time of a process so far.
std::chrono::nanoseconds cpu_time(pid_t pid) {
  clockid_t clock = 0;
  timespec time{};
  EXPECT_EQ(::clock_getcpuclockid(pid, &clock), 0);
  EXPECT_EQ(::clock_gettime(clock, &time), 0);
  return std::chrono::seconds(time.tv_sec) + std::chrono::nanoseconds(time.tv_nsec);
}

TEST(ChildProgram, StandsStillWhilePaused) {
  auto child = ChildProgram::start(shell("echo $$ >&3; while :; do :; done"));
  ASSERT_TRUE(child);
  UniqueFd socket = child->take_socket();
  std::array<char, 20> text{};
  ASSERT_GT(::recv(socket.get(), text.data(), text.size() - 1, 0), 1);
  const auto pid = static_cast<pid_t>(std::strtol(text.data(), nullptr, 10));
  for (int times = 0; times < 3; ++times) {
    child->pause();
    // The kernel counts the last moments late, and a hypervisor may stretch them.
    auto paused = cpu_time(pid), before = paused - 1ns;
    for (int tries = 0; tries < 100 && paused != before; ++tries) {
      std::this_thread::sleep_for(20ms);
      before = std::exchange(paused, cpu_time(pid));
    }
    std::this_thread::sleep_for(50ms);
    EXPECT_EQ(cpu_time(pid), paused);
    child->resume();
    while (cpu_time(pid) == paused) std::this_thread::yield();
  }
}

TEST(ChildProgram, EndsByItselfWhenItWasPaused) {
  auto child = ChildProgram::start(shell("read line <&3; exit 7"));
  ASSERT_TRUE(child);
  child->pause();
  child->take_socket().reset();
  EXPECT_EQ(child->wait(20s), "exit code 7");
  child->pause();  // nothing is there
}

TEST(ChildProgram, IsPausedWhenItHasEnded) {
  auto child = ChildProgram::start(shell("exit 7"));
  ASSERT_TRUE(child);
  auto said = os::read_to_end(child->take_socket().get(), 1000);
  child->pause();
  child->resume();
  EXPECT_EQ(child->wait(20s), "exit code 7");
}

TEST(ChildProgram, NamesAProgramThatIsNotThere) {
  auto child = ChildProgram::start({"/no/such/program"});
  ASSERT_FALSE(child);
  EXPECT_EQ(child.error().code(), ErrorCode::kNotFound);
  EXPECT_NE(child.error().message().find("/no/such/program"), std::string::npos);
}

}  // namespace
}  // namespace kw::os
