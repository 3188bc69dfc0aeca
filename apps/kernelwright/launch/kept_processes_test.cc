// Real processes: restarts, ends, and what is left of them.
#include "kernelwright/launch/kept_processes.h"

#include <string>
#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "os/file.h"

namespace kw::front {
namespace {

using testing::HasSubstr;

KeptProcess shell(const std::string& name, const std::string& script, bool prints = false) {
  return {name, {"/bin/sh", "-c", script}, prints};
}

// Whether it runs: what has ended may still wait for its parent.
bool runs(const std::string& pid) {
  const auto text = os::read_file("/proc/" + pid + "/stat");
  return text && text->find(") Z") == std::string::npos;
}

class KeptProcesses : public testing::Test {
 protected:
  KeptProcesses() {
    options_.first_pause = options_.longest_pause = std::chrono::milliseconds(1);
    options_.on_line = [this](const KeptProcess& process, std::string_view line) {
      lines_.push_back(process.name + ": " + std::string(line));
      if (lines_.size() == most_lines_) stop_.request_stop();
    };
    options_.on_event = [this](std::string_view event) { events_ += std::string(event) + "\n"; };
  }
  Status keep(const std::vector<KeptProcess>& processes) {
    return keep_running(processes, options_, stop_.get_token());
  }

  KeepingOptions options_;
  std::stop_source stop_;
  std::size_t most_lines_ = 1000;
  std::vector<std::string> lines_;
  std::string events_;
};

TEST_F(KeptProcesses, FailuresInARowEndAll) {
  const Status status = keep({shell("good", "sleep 1000"), shell("bad", "echo born; exit 3")});
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().code(), ErrorCode::kUnavailable);
  EXPECT_EQ(status.error().message(),
            "bad has ended 5 times in a row, the last time with exit code 3");
  EXPECT_EQ(lines_, std::vector<std::string>(5, "bad: born"));
  EXPECT_THAT(events_, HasSubstr("bad has ended (exit code 3) and starts again in 0.0 s"));
}

TEST_F(KeptProcesses, WhatRanForAWhileMayEndAnyNumberOfTimes) {
  options_.healthy = std::chrono::milliseconds(0);
  most_lines_ = 9;
  EXPECT_TRUE(keep({shell("one", "echo born; kill -KILL $$")}));
  EXPECT_EQ(lines_.size(), 9U);
  EXPECT_THAT(events_, HasSubstr("signal 9 (Killed)"));
}

TEST_F(KeptProcesses, AStopEndsAllAndWhatTheyHaveStarted) {
  most_lines_ = 2;
  EXPECT_TRUE(keep({shell("one", "sleep 1000 & echo $!; wait"),
                    shell("two", "trap 'exit 0' TERM; sleep 1000 & echo $!; wait")}));
  ASSERT_EQ(lines_.size(), 2U);
  for (const std::string& line : lines_) {
    const std::string pid = line.substr(line.find(": ") + 2);
    while (runs(pid)) std::this_thread::yield();
  }
  EXPECT_EQ(events_, "");
}

TEST_F(KeptProcesses, WhatDoesNotListenIsKilled) {
  options_.grace = std::chrono::milliseconds(20);
  most_lines_ = 1;
  EXPECT_TRUE(keep({shell("deaf", "trap '' TERM; echo ready; while :; do sleep 1; done")}));
  EXPECT_EQ(events_, "deaf does not end and is killed\n");
}

TEST_F(KeptProcesses, AnEndBeforeItIsReadyIsAnErrorAtOnce) {
  const Status status = keep({shell("server", "exit 2", true), shell("worker", "sleep 1000")});
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().message(), "server has ended with exit code 2");
  // Later it starts again.
  most_lines_ = 3;
  EXPECT_TRUE(keep({shell("server", "echo ready", true)}));
}

TEST_F(KeptProcesses, AMissingProgramIsNamed) {
  const Status status = keep({{"worker", {"/none/kernelwright", "worker"}, false}});
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().code(), ErrorCode::kNotFound);
  EXPECT_EQ(status.error().message(), "worker: cannot start /none/kernelwright");
}

}  // namespace
}  // namespace kw::front
