// The limit of a build whose compiler others freeze.
#include "gym/compile/compile.h"

#include <gtest/gtest.h>
#include <sys/socket.h>

#include "os/file.h"

namespace kw::gym {
namespace {

class RunCompile : public testing::Test {
 protected:
  // Of a compiler that says nothing and closes its end when that is reset.
  BuildOutcome run(std::function<std::chrono::nanoseconds()> frozen) {
    CompilerLink link;
    link.control = sockets_.first.get();
    link.timeout = std::chrono::milliseconds(2);
    link.frozen = std::move(frozen);
    BuildCache cache(folder_.path());
    return run_compile(CompilePlan{}, link, cache).value();
  }

  os::TempDir folder_ = os::TempDir::make("kw-compile-").value();
  os::SocketPair sockets_ = os::make_message_socket_pair().value();
};

// It has been frozen for another hour at each look, and its byte makes the next look come at once.
TEST_F(RunCompile, ACompilerThatIsFrozenIsNotLate) {
  int looks = 0;
  BuildOutcome outcome = run([&] {
    if (++looks == 10) {
      sockets_.second.reset();
    } else {
      EXPECT_EQ(::send(sockets_.second.get(), "", 1, 0), 1);
    }
    return std::chrono::hours(looks);
  });
  EXPECT_EQ(outcome.status, BuildStatus::kFailed);  // it ended without an answer
  EXPECT_GE(looks, 10);
}

TEST_F(RunCompile, ACompilerThatHasBeenFrozenHasItsWholeTimeYetNoMore) {
  EXPECT_EQ(run([] { return std::chrono::hours(1); }).status, BuildStatus::kTimedOut);
  EXPECT_EQ(run({}).status, BuildStatus::kTimedOut);
}

}  // namespace
}  // namespace kw::gym
