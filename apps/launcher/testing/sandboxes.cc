// Launchers, probe runs and the search for leftovers.
#include "sandboxes.h"

#include <cstdlib>
#include <filesystem>
#include <map>
#include <mutex>
#include <thread>

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "os/file.h"
#include "os/memory.h"
#include "sandbox/landlock.h"

namespace kw::sandbox {
namespace {

// A user namespace with rights in it, which some systems refuse to plain users.
bool user_namespaces_work() {
  pid_t child = ::fork();
  if (child == 0) {
    ::_exit(::unshare(CLONE_NEWUSER | CLONE_NEWNS) == 0 &&
                    ::mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0
                ? 0
                : 1);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  return status == 0;
}

}  // namespace

std::string binary(const std::string& name) {
  const char* folder = std::getenv("KW_TEST_BINARIES");
  std::string base = folder != nullptr ? folder : KW_BINARY_DIR;
  for (const char* part : {"/bin/", "/lib/"}) {
    if (::access((base + part + name).c_str(), R_OK) == 0) return base + part + name;
  }
  return base + "/" + name;
}

bool eventually(const std::function<bool()>& wish, seconds limit) {
  using Steady = std::chrono::steady_clock;
  for (auto end = Steady::now() + limit; Steady::now() < end;) {
    if (wish()) return true;
    std::this_thread::sleep_for(milliseconds(2));
  }
  return wish();
}

bool comes_to_rest(Monitor& monitor) {
  return eventually([&] {
    const auto before = monitor.cpu_time();
    std::this_thread::sleep_for(milliseconds(20));
    const auto after = monitor.cpu_time();
    return before && after && *before == *after;
  });
}

Level expected_level() {
  bool root = ::geteuid() == 0;
  if (root && ::access("/sys/fs/cgroup", W_OK) == 0) return Level::kFull;
  if (root || user_namespaces_work()) return Level::kNamespaces;
  return landlock_abi() > 0 ? Level::kBasic : Level::kNone;
}

ProcessLauncher& launcher_for(const Tuning& tuning) {
  static std::mutex mutex;  // tests launch from many threads
  static std::map<std::pair<int, int>, std::unique_ptr<ProcessLauncher>> launchers;
  std::lock_guard guard(mutex);
  auto& launcher = launchers[{static_cast<int>(tuning.at_most),
                              tuning.freeze ? static_cast<int>(*tuning.freeze) : -1}];
  if (!launcher) {
    Launcher::Options options;
    options.launcher_program = binary("kernelwright-launcher");
    auto started = ProcessLauncher::start(std::move(options), tuning);
    if (!started) {
      ADD_FAILURE() << started.error().message();
      std::abort();
    }
    launcher = std::move(*started);
  }
  return *launcher;
}

Result<std::unique_ptr<Sandbox>> SandboxTest::start(std::vector<std::string> probe,
                                                    const std::function<void(Spec&)>& change) {
  Spec spec;
  spec.role = "test";
  spec.program_fd = probe_program();
  spec.argv = std::move(probe);
  spec.argv.insert(spec.argv.begin(), "probe");
  if (change) change(spec);
  return launcher().launch(Where::kNative, std::move(spec));
}

Exit SandboxTest::run(std::vector<std::string> probe, const std::function<void(Spec&)>& change) {
  std::string name = probe[0];
  auto sandbox = start(std::move(probe), change);
  if (!sandbox) {
    ADD_FAILURE() << name << ": " << sandbox.error().message();
    return {false, -1, false, {}};
  }
  auto exit = (*sandbox)->wait(seconds(30));
  if (!exit) {
    ADD_FAILURE() << name << ": " << exit.error().message();
    return {false, -1, false, {}};
  }
  return *exit;
}

int SandboxTest::run_bare(const std::vector<std::string>& probe) {
  std::string path = binary("kw_sandbox_probe");
  std::vector<std::string> arguments = probe;
  arguments.insert(arguments.begin(), path);
  std::vector<char*> pointers;
  for (std::string& argument : arguments) pointers.push_back(argument.data());
  pointers.push_back(nullptr);
  pid_t child = ::fork();
  if (child == 0) {
    ::execv(path.c_str(), pointers.data());
    ::_exit(98);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

int probe_program() {
  static os::UniqueFd program = [] {
    std::string bytes = os::read_file(binary("kw_sandbox_probe"), 1U << 28U).value();
    return os::make_sealed_file("kw-probe-" + std::to_string(::getpid()), bytes).value();
  }();
  return program.get();
}

std::vector<std::string> sandbox_processes() {
  static std::string program =
      std::filesystem::read_symlink("/proc/self/fd/" + std::to_string(probe_program())).string();
  std::vector<std::string> found;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator("/proc", error)) {
    std::string name = entry.path().filename().string();
    if (name.find_first_not_of("0123456789") != std::string::npos) continue;
    if (std::filesystem::read_symlink(entry.path() / "exe", error) == program)
      found.push_back(name);
  }
  return found;
}

void SandboxTest::expect_nothing_left() {
  EXPECT_THAT(sandbox_processes(), ::testing::IsEmpty());
  EXPECT_EQ(launcher().leased_uids(), 0U);
  launcher().spares().settle();
  std::vector<std::string> of_spares = launcher().spares().group_folders();
  CgroupFiles files;
  for (const std::string& folder : launcher().group_folders()) {
    EXPECT_TRUE(std::filesystem::exists(folder)) << folder;
    for (const std::string& name : files.folders(folder))
      EXPECT_THAT(of_spares, ::testing::Contains(folder + "/" + name));
  }
}

}  // namespace kw::sandbox
