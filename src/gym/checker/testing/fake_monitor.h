// For tests: a sandbox's monitor whose processes do what a test says when they are thawed.
#pragma once
#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "sandbox/sandbox.h"

namespace kw::gym::testing {

class FakeMonitor final : public sandbox::Monitor {
 public:
  // Shared with the test, which outlives the monitor.
  struct Process {
    bool can_freeze = true;
    bool is_frozen = false;
    bool is_still = true;  // while it is frozen
    int freezes = 0;
    std::function<void()> on_thaw;    // work of the processes as soon as they may run
    std::function<void()> on_freeze;  // work of the processes before they stand still
    std::chrono::nanoseconds cpu_time{0};
    bool cpu_time_is_whole = true;
    sandbox::ThreadTimes first_thread;
    std::chrono::nanoseconds waited{0};
    sandbox::PageFaults page_faults;
    std::optional<sandbox::Exit> exit;
  };
  explicit FakeMonitor(Process& process) : process_(&process) {}

  bool can_freeze() const override { return process_->can_freeze; }
  std::string freeze_kind() const override { return process_->can_freeze ? "fake" : "none"; }
  Status freeze() override {
    if (process_->on_freeze) process_->on_freeze();
    process_->is_frozen = true;
    ++process_->freezes;
    return {};
  }
  Status thaw() override {
    process_->is_frozen = false;
    if (process_->on_thaw) process_->on_thaw();
    return {};
  }
  Result<std::chrono::nanoseconds> cpu_time() override { return process_->cpu_time; }
  Result<sandbox::PageFaults> page_faults() override {
    if (process_->exit) return fail(ErrorCode::kUnavailable, "the process has ended");
    return process_->page_faults;
  }
  Result<bool> is_still() override { return process_->is_still; }
  bool cpu_time_is_whole() const override { return process_->cpu_time_is_whole; }
  sandbox::ThreadTimes first_thread() override { return process_->first_thread; }
  std::chrono::nanoseconds waited() override { return process_->waited; }
  std::optional<sandbox::Exit> exited() override { return process_->exit; }

 private:
  Process* process_;
};

}  // namespace kw::gym::testing
