// For tests: a launcher that starts no process. It keeps what it was asked for, and the test plays
// the process at the other end of its control socket and log.
#pragma once
#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <fcntl.h>
#include <unistd.h>

#include "sandbox/sandbox.h"

namespace kw::sandbox {

// One launched process that does not exist.
struct FakeLaunch {
  std::size_t launcher = 0;  // index in FakeLaunches::started
  Where where = Where::kNative;
  Spec spec;            // control and log are the process's own ends; program_fd is closed by now
  std::string program;  // the file of program_fd; "" without one
  bool is_frozen = false;
  bool is_alive = true;                     // neither killed nor cleaned up
  std::optional<Exit> exit = std::nullopt;  // set by a test whose process ends by itself
  std::uint64_t memory_limit = 0;           // of the last set_memory_limit()
};

// What all launchers of one test did, in order. One thread; outlives launchers and sandboxes.
struct FakeLaunches {
  std::vector<Launcher::Options> started;             // launchers
  std::vector<std::shared_ptr<FakeLaunch>> launches;  // processes
  std::function<void(FakeLaunch&)> on_launch;         // what the new process does at once
  std::optional<Error> launch_error, freeze_error;    // of every call, while they are set
  std::optional<std::size_t> thaw_fails;              // for this launcher
};

class FakeSandbox final : public Sandbox, private Monitor {
 public:
  explicit FakeSandbox(std::shared_ptr<FakeLaunch> launch) : launch_(std::move(launch)) {}
  ~FakeSandbox() override { launch_->is_alive = false; }
  FakeSandbox(const FakeSandbox&) = delete;
  FakeSandbox& operator=(const FakeSandbox&) = delete;
  const FakeLaunch& launch() const { return *launch_; }

  pid_t pid() const override { return -1; }
  pid_t candidate_pid() const override { return -1; }
  Result<MonitorHandles> monitor_handles() const override {
    MonitorHandles handles;
    handles.description = Json::object({{"fake", true}});
    for (int i = 0; i < 2; ++i) {
      handles.fds.emplace_back(::open("/dev/null", O_RDONLY | O_CLOEXEC));
      if (!handles.fds.back().valid()) return fail_errno(errno, "cannot open /dev/null");
    }
    return handles;
  }
  Monitor& monitor() override { return *this; }
  Status set_memory_limit(std::uint64_t bytes) override {
    launch_->memory_limit = bytes;
    return {};
  }
  Status kill() override {
    launch_->is_alive = false;
    return {};
  }
  Result<Exit> wait(std::chrono::milliseconds /*timeout*/) override {
    if (launch_->exit) return *launch_->exit;
    return fail(ErrorCode::kDeadlineExceeded, "still running");
  }

 private:
  bool can_freeze() const override { return true; }
  std::string freeze_kind() const override { return "fake"; }
  Status freeze() override {
    launch_->is_frozen = true;
    return {};
  }
  Status thaw() override {
    launch_->is_frozen = false;
    return {};
  }
  Result<std::chrono::nanoseconds> cpu_time() override { return std::chrono::nanoseconds(0); }
  Result<PageFaults> page_faults() override { return PageFaults{}; }
  Result<bool> is_still() override { return true; }
  bool cpu_time_is_whole() const override { return true; }
  ThreadTimes first_thread() override { return {}; }
  std::chrono::nanoseconds waited() override { return {}; }
  std::optional<Exit> exited() override { return launch_->exit; }

  std::shared_ptr<FakeLaunch> launch_;
};

class FakeLauncher final : public Launcher {
 public:
  FakeLauncher(FakeLaunches& all, Options options)
      : all_(all), index_(all.started.size()), level_(options.at_least) {
    all.started.push_back(std::move(options));
  }
  Level level() const override { return level_; }
  Status warm_zygote() override { return {}; }
  Result<std::unique_ptr<Sandbox>> launch(Where where, Spec spec) override {
    if (all_.launch_error) return tl::unexpected(*all_.launch_error);
    auto launch = std::make_shared<FakeLaunch>();
    launch->launcher = index_;
    launch->where = where;
    if (spec.program_fd >= 0) {
      std::array<char, 4096> path{};
      const std::string link = "/proc/self/fd/" + std::to_string(spec.program_fd);
      const ::ssize_t length = ::readlink(link.c_str(), path.data(), path.size());
      if (length < 0) return fail_errno(errno, "the program's descriptor");
      launch->program.assign(path.data(), static_cast<std::size_t>(length));
    }
    launch->spec = std::move(spec);
    all_.launches.push_back(launch);
    if (all_.on_launch) all_.on_launch(*launch);
    return std::unique_ptr<Sandbox>(std::make_unique<FakeSandbox>(std::move(launch)));
  }
  Status freeze_others(const std::vector<const Sandbox*>& keep_running) override {
    if (all_.freeze_error) return tl::unexpected(*all_.freeze_error);
    auto keeps = [&](const FakeLaunch& launch) {
      return std::any_of(keep_running.begin(), keep_running.end(), [&](const Sandbox* kept) {
        return &static_cast<const FakeSandbox*>(kept)->launch() == &launch;
      });
    };
    for (const auto& launch : all_.launches)
      if (launch->launcher == index_ && launch->is_alive && !keeps(*launch))
        launch->is_frozen = true;
    return {};
  }
  Status thaw_others() override {
    if (all_.thaw_fails == index_) return fail(ErrorCode::kInternal, "launcher {} fails", index_);
    for (const auto& launch : all_.launches)
      if (launch->launcher == index_) launch->is_frozen = false;
    return {};
  }

 private:
  FakeLaunches& all_;
  std::size_t index_;
  Level level_;
};

}  // namespace kw::sandbox
