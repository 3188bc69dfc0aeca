// The limit of a build whose compiler others freeze.
#include "gym/compile/compile.h"

#include <thread>

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include "gym/protocol.h"
#include "os/file.h"
#include "os/message.h"

namespace kw::gym {
namespace {

class RunCompile : public testing::Test {
 protected:
  // The outcome of a compiler that sends nothing and closes its end when its `frozen` is reset.
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

// Its answer has a status of its own, and its words are what it wrote.
TEST_F(RunCompile, ARefusalIsNobodysFault) {
  CompilePlan plan;
  plan.kind = ArtifactKind::kRecordedPlan;
  BuildHeader header{};
  header.magic = BuildHeader::kMagic;
  header.status = 4;
  auto answer = [&] {
    std::jthread compiler([&] {
      os::Message request =
          os::receive_message(sockets_.second.get(), std::chrono::minutes(1)).value();
      ASSERT_EQ(::pwrite(request.fds.at(1).get(), &header, sizeof header, 0), sizeof header);
      sockets_.second.reset();
    });
    CompilerLink link;
    link.control = sockets_.first.get();
    link.log = [] { return std::string("aten.sum computes\n"); };
    BuildCache cache(folder_.path());
    return run_compile(plan, link, cache).value();
  };
  BuildOutcome outcome = answer();
  EXPECT_EQ(outcome.status, BuildStatus::kRefused);
  EXPECT_EQ(outcome.diagnostics, "aten.sum computes\n");
  sockets_ = os::make_message_socket_pair().value();
  header.exit_code = -11;
  outcome = answer();
  EXPECT_EQ(outcome.status, BuildStatus::kRefused);
  EXPECT_TRUE(outcome.diagnostics.starts_with("host code looks into a tensor's memory"));
}

}  // namespace
}  // namespace kw::gym
