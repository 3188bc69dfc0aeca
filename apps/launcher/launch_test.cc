// Starting sandboxes: what a program finds inside, how its end is reported, what refuses to start.
#include <atomic>
#include <csignal>
#include <thread>

#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "os/file.h"
#include "os/memory.h"
#include "os/message.h"
#include "testing/sandboxes.h"

namespace kw::sandbox {
namespace {

class LaunchTest : public SandboxTest {};

TEST_F(LaunchTest, ReachesTheLevelOfThisUser) {
  EXPECT_EQ(launcher().level(), expected_level());
}

TEST_F(LaunchTest, ReportsExitCodesAndSignals) {
  Exit zero = run({"exit", "0"});
  EXPECT_FALSE(zero.signalled);
  EXPECT_EQ(zero.code, 0);
  EXPECT_EQ(run({"exit", "7"}).code, 7);
  Exit crash = run({"crash"});
  EXPECT_TRUE(crash.signalled);
  EXPECT_EQ(crash.code, SIGSEGV);
  expect_nothing_left();
}

TEST_F(LaunchTest, CountsCpuTime) {
  Exit exit = run({"spin", "0.2"});
  EXPECT_GT(exit.cpu_time, milliseconds(190));
  EXPECT_LT(exit.cpu_time, seconds(2));
}

TEST_F(LaunchTest, ProgramThatIsNotThereIsAnErrorByName) {
  auto sandbox = start({}, [](Spec& spec) {
    spec.program_fd = -1;
    spec.argv = {"/usr/bin/no-such-program"};
  });
  ASSERT_TRUE(sandbox) << sandbox.error().message();
  auto exit = (*sandbox)->wait(seconds(10));
  ASSERT_FALSE(exit);
  EXPECT_THAT(exit.error().message(), ::testing::HasSubstr("no-such-program"));
  auto seen = (*sandbox)->monitor().exited();
  ASSERT_TRUE(seen);
  EXPECT_EQ(seen->code, 127);
}

TEST_F(LaunchTest, MissingBindIsAnErrorByName) {
  if (launcher().level() < Level::kNamespaces) return;  // Landlock skips what is not there
  auto sandbox =
      start({"exit", "0"}, [](Spec& spec) { spec.binds = {{"/no/such/folder", "/opt/x", false}}; });
  ASSERT_FALSE(sandbox);
  EXPECT_THAT(sandbox.error().message(), ::testing::HasSubstr("/no/such/folder"));
  expect_nothing_left();
}

TEST_F(LaunchTest, ControlIsDescriptorThreeAndNothingElseIsOpen) {
  EXPECT_EQ(run({"descriptors"}).code, 3);  // 0, 1, 2
  auto sockets = os::make_message_socket_pair();
  ASSERT_TRUE(sockets);
  EXPECT_EQ(
      run({"descriptors"}, [&](Spec& spec) { spec.control = std::move(sockets->second); }).code, 4);
}

TEST_F(LaunchTest, EnvironmentIsMadeFromScratch) {
  ::setenv("KW_PLANTED_SECRET", "x", 1);
  EXPECT_GE(run_bare({"environment", "PATH", "LANG", "HOME", "USER", "TMPDIR", "GIVEN"}), 1);
  Exit exit = run({"environment", "PATH", "LANG", "HOME", "USER", "TMPDIR", "GIVEN"},
                  [](Spec& spec) { spec.environment = {{"GIVEN", "1"}}; });
  EXPECT_EQ(exit.code, 0);
  ::unsetenv("KW_PLANTED_SECRET");
}

TEST_F(LaunchTest, LogGetsStandardOutput) {
  auto pipe = os::make_pipe();
  ASSERT_TRUE(pipe);
  Exit exit = run({"flood", "4096"}, [&](Spec& spec) { spec.log = std::move(pipe->write_end); });
  EXPECT_EQ(exit.code, 0);
  auto text = os::read_to_end(pipe->read_end.get(), 1U << 20U);  // ends: nobody else holds the pipe
  ASSERT_TRUE(text);
  EXPECT_EQ(text->size(), 65536U);
}

TEST_F(LaunchTest, LoadsSharedObjectsFromMemoryFiles) {
  std::string library = os::read_file(binary("libkw_sandbox_probe_library.so")).value();
  EXPECT_EQ(
      run({"load"},
          [&](Spec& spec) { spec.control = os::make_sealed_file("library", library).value(); })
          .code,
      kProbeWorked);
}

TEST_F(LaunchTest, BindsAreReadable) {
  auto folder = os::TempDir::make("kw-sandbox-bind-");
  ASSERT_TRUE(folder);
  ::chmod(folder->path().c_str(), 0755);
  ASSERT_TRUE(os::write_file_atomic(folder->path() / "data", "1"));
  ::chmod((folder->path() / "data").c_str(), 0644);
  std::string path = folder->path().string();
  auto bind = [&](Spec& spec) { spec.binds = {{path, path, false}}; };
  EXPECT_EQ(run({"read", path + "/data"}, bind).code, kProbeWorked);
  EXPECT_EQ(run({"write", path}, bind).code, kProbeDenied);
  EXPECT_EQ(run({"read", path + "/data"}).code, kProbeDenied);  // and not without the bind
}

TEST_F(LaunchTest, ADeviceNodeOpensOnlyWhereItsBindSaysSo) {
  if (!launcher().reached().layers.namespaces) GTEST_SKIP() << "no mounts of its own";
  for (const bool device : {true, false}) {
    auto bind = [&](Spec& spec) { spec.binds = {{"/dev/zero", "/opt/zero", false, device}}; };
    EXPECT_EQ(run({"read", "/opt/zero"}, bind).code, device ? kProbeWorked : kProbeDenied);
  }
}

TEST_F(LaunchTest, TooWeakIsolationIsRefused) {
  Launcher::Options options;
  options.launcher_program = binary("kernelwright-launcher");
  options.at_least = Level::kFull;
  auto weak = ProcessLauncher::start(std::move(options), Tuning{Level::kBasic, {}});
  ASSERT_FALSE(weak);
  EXPECT_EQ(weak.error().code(), ErrorCode::kIsolationTooWeak);
}

TEST_F(LaunchTest, LauncherProgramThatIsNotThereIsAnError) {
  Launcher::Options options;
  options.launcher_program = "/no/such/launcher";
  auto launcher = Launcher::start(std::move(options));
  ASSERT_FALSE(launcher);
  EXPECT_THAT(launcher.error().message(), ::testing::HasSubstr("/no/such/launcher"));
}

TEST_F(LaunchTest, ManyThreadsMayLaunch) {
  std::vector<std::thread> threads;
  std::atomic<int> good = 0;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 5; ++i) {
        auto sandbox = start({"exit", "3"});
        if (!sandbox) continue;
        auto exit = (*sandbox)->wait(seconds(20));
        if (exit && exit->code == 3) ++good;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(good, 20);
  expect_nothing_left();
}

}  // namespace
}  // namespace kw::sandbox
