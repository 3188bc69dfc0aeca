// What the tests of the build stage share: a compiler process, plans, loading what was built.
#pragma once
#include <cstring>
#include <filesystem>

#include <dlfcn.h>
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include "gym/compile/compile.h"
#include "os/file.h"
#include "os/memory.h"
#include "os/message.h"

namespace kw::gym {

using task::Role;
using tensor::DType;

// A started compiler in a folder of its own.
class Process {
 public:
  // warm: the compiler loads NVRTC before its request.
  explicit Process(bool warm = false) {
    os::SocketPair pair = os::make_message_socket_pair().value();
    std::filesystem::create_directory(work());
    log_.reset(::open((dir_.path() / "log").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
    os::UniqueFd far(::fcntl(pair.second.get(), F_DUPFD_CLOEXEC, 100));
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, far.get(), 3);
    posix_spawn_file_actions_adddup2(&actions, log_.get(), 1);
    posix_spawn_file_actions_adddup2(&actions, log_.get(), 2);
    posix_spawn_file_actions_addchdir_np(&actions, work().c_str());
    posix_spawnattr_t attributes;
    posix_spawnattr_init(&attributes);
    posix_spawnattr_setflags(&attributes,
                             POSIX_SPAWN_SETPGROUP);  // so that all of it can be killed
    std::string program = KW_BINARY_DIR "/bin/kernelwright-compiler";
    std::string word = "warm";
    char* argv[] = {program.data(), warm ? word.data() : nullptr, nullptr};
    EXPECT_EQ(::posix_spawn(&pid_, argv[0], &actions, &attributes, argv, environ), 0);
    posix_spawn_file_actions_destroy(&actions);
    posix_spawnattr_destroy(&attributes);
    control_ = std::move(pair.first);
  }
  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;
  ~Process() {
    ::kill(-pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
  }

  std::filesystem::path work() const { return dir_.path() / "work"; }
  std::filesystem::path folder() const { return dir_.path(); }
  int control() const { return control_.get(); }
  CompilerLink link(std::chrono::milliseconds timeout = std::chrono::seconds(60)) const {
    return {.control = control_.get(), .timeout = timeout, .frozen = {}, .log = [this] {
              return os::read_file(dir_.path() / "log").value();
            }};
  }

 private:
  os::TempDir dir_ = os::TempDir::make("kw-compiler-test-").value();
  os::UniqueFd control_, log_;
  pid_t pid_ = -1;
};

inline task::Signature signature_of(std::vector<task::Argument> inputs,
                                    std::vector<task::Argument> outputs) {
  task::Signature s;
  s.inputs = std::move(inputs);
  s.outputs = std::move(outputs);
  s.axes = {{"n", 4}};
  s.constants = {{"width", 3}};
  s.input_axes.resize(s.inputs.size());
  s.output_axes.resize(s.outputs.size());
  return s;
}

inline task::Signature scale_signature() {
  return signature_of(
      {{.name = "x", .shape = {4}},
       {.name = "factor", .role = Role::kScalar, .value = 2.0},
       {.name = "negate", .role = Role::kScalar, .dtype = DType::kBool, .value = 1}},
      {{.name = "y", .role = Role::kOutput, .shape = {4}}});
}

inline constexpr const char* kScale = R"(
#include <cmath>
void run(const float* x, float factor, bool negate, float* y, int64_t n) {
  for (int64_t i = 0; i < n; ++i) y[i] = (negate ? -1 : 1) * std::fabs(x[i]) * factor + width;
}
)";

inline task::Candidate candidate(std::string source) {
  task::Candidate c;
  c.entry_file = "main.cpp";
  c.sources = {{"main.cpp", std::move(source)}};
  return c;
}

// The shared object of a sealed memory file, loaded here: only for candidates of this file.
class Loaded {
 public:
  explicit Loaded(const os::UniqueFd& artifact)
      : object_(::dlopen(fmt::format("/proc/self/fd/{}", artifact.get()).c_str(), RTLD_NOW)) {
    EXPECT_NE(object_, nullptr) << ::dlerror();
  }
  Loaded(const Loaded&) = delete;
  Loaded& operator=(const Loaded&) = delete;
  ~Loaded() {
    if (object_ != nullptr) ::dlclose(object_);
  }
  void call(void* state, std::vector<const void*> arguments) const {
    auto* function =
        reinterpret_cast<void (*)(void*, const void* const*)>(::dlsym(object_, "kw_call"));
    ASSERT_NE(function, nullptr);
    function(state, arguments.data());
  }
  void* prepare(std::vector<const void*> arguments) const {
    auto* function =
        reinterpret_cast<void* (*)(const void* const*)>(::dlsym(object_, "kw_prepare"));
    return function == nullptr ? nullptr : function(arguments.data());
  }

 private:
  void* object_;
};

class CompilerTest : public testing::Test {
 protected:
  CompilePlan plan(const task::Candidate& c, const task::Signature& s = scale_signature()) {
    return plan_cpp(c, s, toolchain_).value();
  }
  BuildOutcome build(const CompilePlan& plan) {
    Process process;
    return run_compile(plan, process.link(), cache_).value();
  }
  BuildOutcome build(std::string source) { return build(plan(candidate(std::move(source)))); }

  os::TempDir dir_ = os::TempDir::make("kw-compiler-cache-").value();
  BuildCache cache_{dir_.path() / "builds"};
  Toolchain toolchain_ = resolve_toolchain().value();
};

}  // namespace kw::gym
