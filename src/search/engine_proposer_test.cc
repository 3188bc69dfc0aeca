// An engine of a few lines of shell: that it stands still when it should, whenever it began.
#include "search/engine_proposer.h"

#include <atomic>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <map>
#include <thread>

#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include "link/frame.h"
#include "link/model_messages.h"
#include "os/file.h"

namespace kw::search {
namespace {

namespace fs = std::filesystem;
using namespace std::chrono_literals;

// The running children of this process, each with the kernel's letter for its state.
std::map<pid_t, char> children() {
  std::map<pid_t, char> out;
  for (const auto& entry : fs::directory_iterator("/proc")) {
    const int pid = std::atoi(entry.path().filename().c_str());
    auto stat = pid > 0 ? os::read_file(entry.path() / "stat", 4096) : Result<std::string>("");
    const std::size_t name_end = stat ? stat->rfind(')') : std::string::npos;
    if (name_end == std::string::npos || name_end + 4 >= stat->size()) continue;
    const char state = (*stat)[name_end + 2];
    if (std::atoi(stat->c_str() + name_end + 4) == ::getpid() && state != 'Z') out[pid] = state;
  }
  return out;
}

// Until the one child, other than `not_this`, is in that state, or not in it.
pid_t await_child(char state, bool is, pid_t not_this = 0) {
  for (const auto end = std::chrono::steady_clock::now() + 20s;
       std::chrono::steady_clock::now() < end; std::this_thread::yield()) {
    for (const auto& [pid, letter] : children())
      if (pid != not_this && (letter == state) == is) return pid;
  }
  ADD_FAILURE() << "no child " << (is ? "" : "not ") << "in state " << state;
  return 0;
}

class EngineProposerTest : public testing::Test {
 protected:
  // Says hello and never answers.
  std::unique_ptr<EngineProposer> start() {
    std::string hello;
    EXPECT_TRUE(link::append_frame(hello, to_json(link::EngineMessage(link::Welcome{})).dump()));
    const std::string file = folder_.path() / "hello";
    std::ofstream(file) << hello;
    auto run = [file] {
      return os::ChildProgram::start(
          {"/bin/sh", "-c", "cat " + file + " >&3; exec cat <&3 >/dev/null"});
    };
    return EngineProposer::start(run, "model", {}, {}).value();
  }

 private:
  os::TempDir folder_ = os::TempDir::make("kw-engine-").value();
};

TEST_F(EngineProposerTest, ItsEngineStandsStillFromPauseToResume) {
  auto proposer = start();
  const pid_t engine = await_child('T', false);
  proposer->background()->pause();
  EXPECT_EQ(children()[engine], 'T');
  proposer->background()->resume();
  EXPECT_EQ(await_child('T', false), engine);
}

TEST_F(EngineProposerTest, AnEngineThatBeginsMeanwhileStandsStillToo) {
  auto proposer = start();
  const pid_t first = await_child('T', false);
  proposer->pause();
  ::kill(first, SIGKILL);
  std::atomic<bool> over = false;
  std::jthread asking([&] {
    while (!over) EXPECT_FALSE(proposer->propose({}, {}));
  });
  const pid_t second = await_child('T', true, first);
  over = true;
  proposer->resume();
  EXPECT_EQ(await_child('T', false, first), second);
  if (second > 0) ::kill(second, SIGKILL);
}

}  // namespace
}  // namespace kw::search
