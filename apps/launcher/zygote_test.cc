// Forks of a Python zygote: the same walls, and an interpreter that still works behind them. torch
// is a stub here; the leaf "executor" is the test's own.
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <thread>

#include <sys/stat.h>
#include <unistd.h>

#include "base/text.h"
#include "os/file.h"
#include "os/message.h"
#include "testing/sandboxes.h"

namespace kw::sandbox {
namespace {

constexpr const char* kLeaf = R"(import os, sys

def check(name, good):
    if not good:
        print("failed:", name, flush=True)
        os._exit(1)

def walls():
    import colorsys                      # not imported before the fork: read through the binds
    import subprocess, threading
    check("environment", sorted(os.environ) == sorted(["PATH", "LANG", "HOME", "USER", "TMPDIR", "ACTION"]))
    import getpass                       # the uid has no name in passwd
    check("user", getpass.getuser() == "sandbox")
    check("no secret", "KW_PLANTED_SECRET" not in os.environ)
    check("descriptors", sorted(os.listdir("/proc/self/fd"))[:4] == ["0", "1", "2", "3"] and len(os.listdir("/proc/self/fd")) == 5)
    check("folder", os.access(".", os.W_OK))
    open("file", "w").write("x")
    check("threads", threading.Thread(target=lambda: None).start() is None)
    check("processes", subprocess.run(["/bin/true"]).returncode == 0)
    check("hash", colorsys.rgb_to_hls(0, 0, 0) is not None)
    try:
        open(os.path.join(os.path.dirname(__file__), "written"), "w")
        check("read-only", False)
    except OSError:
        pass

def main(fd):
    check("control", fd == 3)
    action = os.environ["ACTION"]
    if action == "walls":
        walls()
        os._exit(7)
    if action == "print":
        print("text of the leaf")
        sys.exit(5)
    if action == "uid":
        os._exit(1 if 61000 <= os.getuid() < 62000 and os.getuid() == os.geteuid() else 2)
    if action == "raise":
        raise RuntimeError("a leaf's own failure")
    if action == "memory":
        blocks = []
        while True:
            blocks.append(bytearray(1 << 22))
    while True:
        pass
)";

std::string python() {
  if (const char* given = std::getenv("KW_TEST_PYTHON")) return given;
  const char* path = std::getenv("PATH");
  for (const std::string& folder : split(path != nullptr ? path : "/usr/bin", ':')) {
    std::filesystem::path program = std::filesystem::path(folder) / "python3";
    if (::access(program.c_str(), X_OK) == 0) return program.string();
  }
  return "/usr/bin/python3";
}

std::string zygote_source() {
  const char* copies = std::getenv("KW_TEST_BINARIES");
  std::filesystem::path folder = copies != nullptr
                                     ? std::filesystem::path(copies)
                                     : std::filesystem::path(KW_SOURCE_DIR) / "python";
  return (folder / "zygote.py").string();
}

class ZygoteTest : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    ::setenv("KW_PLANTED_SECRET", "x", 1);
    folder_ = new os::TempDir(os::TempDir::make("kw-zygote-").value());
    ::chmod(folder_->path().c_str(), 0755);
    write("executor.py", kLeaf);
    write("torch.py", "");
    write("zygote.py", os::read_file(zygote_source()).value());
    launcher_ = make(python()).value().release();
  }
  static void TearDownTestSuite() {
    delete launcher_;
    delete folder_;
    ::unsetenv("KW_PLANTED_SECRET");
  }
  static void write(const std::string& name, const std::string& text) {
    std::ofstream(folder_->path() / name) << text;
    ::chmod((folder_->path() / name).c_str(), 0644);
  }
  static Result<std::unique_ptr<ProcessLauncher>> make(const std::string& interpreter) {
    Launcher::Options options;
    options.launcher_program = binary("kernelwright-launcher");
    options.zygote_argv = {interpreter,
                           "-I",
                           (folder_->path() / "zygote.py").string(),
                           binary("libkw_sandbox_leaf.so"),
                           "executor=executor",
                           "oracle=oracle"};
    return ProcessLauncher::start(std::move(options));
  }
  // Runs one action of the leaf; `text` gets what it printed.
  Exit run(const std::string& action, std::string& text, const std::string& role = "executor") {
    auto pipe = os::make_pipe().value();
    Spec spec;
    spec.role = role;
    spec.environment = {{"ACTION", action}};
    spec.control = os::make_message_socket_pair().value().second;
    spec.log = std::move(pipe.write_end);
    spec.limits.memory_bytes = 200U << 20U;
    auto sandbox = launcher_->launch(Where::kZygote, std::move(spec));
    if (!sandbox) {
      ADD_FAILURE() << sandbox.error().message();
      return {false, -1, false, {}};
    }
    auto exit = (*sandbox)->wait(seconds(30));
    if (!exit) ADD_FAILURE() << exit.error().message();
    text = os::read_to_end(pipe.read_end.get(), 1U << 20U).value_or("");
    return exit.value_or(Exit{false, -1, false, {}});
  }

  static os::TempDir* folder_;
  static ProcessLauncher* launcher_;
};
os::TempDir* ZygoteTest::folder_ = nullptr;
ProcessLauncher* ZygoteTest::launcher_ = nullptr;

TEST_F(ZygoteTest, ForksHaveTheWallsAndAWorkingInterpreter) {
  for (int i = 0; i < 3; ++i) {
    std::string text;
    Exit exit = run("walls", text);
    EXPECT_EQ(exit.code, 7) << text;
    EXPECT_FALSE(exit.signalled);
  }
}

TEST_F(ZygoteTest, PrintedTextAndExitCodeArrive) {
  std::string text;
  EXPECT_EQ(run("print", text).code, 5);
  EXPECT_EQ(text, "text of the leaf\n");
}

TEST_F(ZygoteTest, ExceptionsOfALeafEndItsForkOnly) {
  std::string text;
  EXPECT_EQ(run("raise", text).code, 1);
  EXPECT_THAT(text, ::testing::HasSubstr("a leaf's own failure"));
  EXPECT_EQ(run("print", text).code, 5);
}

TEST_F(ZygoteTest, UnknownRolesEnd) {
  std::string text;
  EXPECT_EQ(run("print", text, "stranger").code, 1);
  EXPECT_THAT(text, ::testing::HasSubstr("stranger"));
}

TEST_F(ZygoteTest, HasAUidOfItsOwnWhereTheLevelSaysSo) {
  std::string text;
  EXPECT_EQ(run("uid", text).code, launcher_->reached().layers.own_uid ? 1 : 2);
}

TEST_F(ZygoteTest, MemoryIsBounded) {
  std::string text;
  Exit exit = run("memory", text);
  if (launcher_->reached().memory_group) {
    EXPECT_TRUE(exit.signalled && exit.out_of_memory);
  } else {
    EXPECT_EQ(exit.code, 1);
    EXPECT_THAT(text, ::testing::HasSubstr("MemoryError"));
  }
}

TEST_F(ZygoteTest, FreezeAndKillWorkOnForks) {
  Spec spec;
  spec.role = "executor";
  spec.environment = {{"ACTION", "spin"}};
  auto sandbox = launcher_->launch(Where::kZygote, std::move(spec));
  ASSERT_TRUE(sandbox) << sandbox.error().message();
  Monitor& monitor = (*sandbox)->monitor();
  ASSERT_TRUE(monitor.freeze());
  EXPECT_TRUE(comes_to_rest(monitor));
  ASSERT_TRUE((*sandbox)->kill());
  EXPECT_EQ((*sandbox)->wait(milliseconds(0)).value().code, SIGKILL);
}

TEST_F(ZygoteTest, ImportThatFailsSaysWhy) {
  write("torch.py", "raise ImportError('this torch is broken')");
  auto launcher = make(python());
  ASSERT_TRUE(launcher);
  auto warmed = (*launcher)->warm_zygote();
  write("torch.py", "");
  ASSERT_FALSE(warmed);
  EXPECT_THAT(warmed.error().message(), ::testing::HasSubstr("this torch is broken"));
}

TEST_F(ZygoteTest, NoPythonIsAnError) {
  auto launcher = make("/no/such/python");
  ASSERT_TRUE(launcher);  // native sandboxes need none
  auto warmed = (*launcher)->warm_zygote();
  ASSERT_FALSE(warmed);
  EXPECT_THAT(warmed.error().message(), ::testing::HasSubstr("/no/such/python"));
}

}  // namespace
}  // namespace kw::sandbox
