// Signals to a stop token, and back to what was there.
#include "kernelwright/interrupt.h"

#include <condition_variable>
#include <mutex>
#include <semaphore>

#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include "os/fd.h"

namespace kw::front {
namespace {

void wait_for_stop(const std::stop_token& token) {
  std::mutex mutex;
  std::condition_variable_any wake;
  std::unique_lock lock(mutex);
  wake.wait(lock, token, [] { return false; });
}

TEST(Interrupt, FirstSignalAsksToStop) {
  for (int signal : {SIGINT, SIGTERM}) {
    Interrupt interrupt;
    EXPECT_FALSE(interrupt.token().stop_requested());
    ASSERT_EQ(::raise(signal), 0);
    wait_for_stop(interrupt.token());
    EXPECT_TRUE(interrupt.token().stop_requested());
  }
}

TEST(Interrupt, HangupIsNoStop) {
  Interrupt interrupt;
  std::counting_semaphore<> called(0);
  interrupt.on_hangup([&] { called.release(); });
  for (int i = 0; i < 2; ++i) {
    ASSERT_EQ(::raise(SIGHUP), 0);
    called.acquire();
  }
  EXPECT_FALSE(interrupt.token().stop_requested());
  interrupt.on_hangup({});
  ASSERT_EQ(::raise(SIGHUP), 0);
  ASSERT_EQ(::raise(SIGTERM), 0);
  wait_for_stop(interrupt.token());
  EXPECT_FALSE(called.try_acquire());
}

TEST(Interrupt, NoSignalNoStop) {
  std::stop_token token;
  {
    Interrupt interrupt;
    token = interrupt.token();
  }
  EXPECT_FALSE(token.stop_requested());
}

TEST(Interrupt, HandlersAreRestored) {
  struct sigaction before{};
  struct sigaction after{};
  ::sigaction(SIGINT, nullptr, &before);
  {
    Interrupt interrupt;
  }
  ::sigaction(SIGINT, nullptr, &after);
  EXPECT_EQ(before.sa_handler, after.sa_handler);
}

TEST(Interrupt, ClosedPipeIsAnErrorNotADeath) {
  Interrupt interrupt;
  auto pipe = os::make_pipe();
  ASSERT_TRUE(pipe);
  pipe->read_end.reset();
  EXPECT_FALSE(os::write_all(pipe->write_end.get(), "text"));
}

TEST(Interrupt, ASecondRequestToEndChangesNothing) {
  Interrupt interrupt;
  for (int i = 0; i < 3; ++i) ASSERT_EQ(::raise(SIGTERM), 0);
  wait_for_stop(interrupt.token());
  EXPECT_TRUE(interrupt.token().stop_requested());
}

TEST(InterruptDeathTest, SecondSignalEndsAtOnce) {
  testing::GTEST_FLAG(death_test_style) = "threadsafe";
  EXPECT_EXIT(
      {
        Interrupt interrupt;
        ::raise(SIGTERM);
        ::raise(SIGINT);
      },
      testing::ExitedWithCode(130), "");
}

}  // namespace
}  // namespace kw::front
