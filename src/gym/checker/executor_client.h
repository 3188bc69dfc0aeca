// The checker's side of one executor: setup, then gos. Between gos the executor is frozen where the
// machine can do that. Not thread-safe. The sandbox itself belongs to the supervisor; only its
// Monitor is here.
#pragma once
#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "gym/checker/buffers.h"
#include "gym/checker/null_go.h"
#include "gym/checker/output_memory.h"
#include "gym/checker/turn.h"
#include "gym/protocol.h"
#include "os/fd.h"
#include "sandbox/sandbox.h"

namespace kw::gym {

// How a go ended. Everything but kDone is the executor's end.
enum class GoEnd { kDone, kTimeout, kExited, kFailed, kProtocol };

struct GoResult {
  GoEnd end = GoEnd::kDone;
  // Thaw to confirmed freeze, by the checker's clock; less what others measured meanwhile.
  std::chrono::nanoseconds wall{0};
  std::chrono::nanoseconds cpu_time{0};  // of the whole sandbox
  std::uint64_t minor_faults = 0;
  std::chrono::nanoseconds waited{0};  // ready, while something else had its core
};

// What an ended executor left: all of it untrusted but exit.
struct ExecutorEnd {
  std::optional<sandbox::Exit> exit;
  Failure failure = Failure::kNone;
  std::uint32_t fault_signal = 0;
  bool fault_on_input = false;
};

struct ExecutorMemory {
  std::vector<const SharedTensors*>
      inputs;                      // one a set, borrowed; both executors of a pair have the same
  OutputMemory* output = nullptr;  // borrowed; this executor's alone while it lives
  const SharedTensors* statics = nullptr;  // borrowed; may be null
};

class ExecutorClient {
 public:
  struct Attach {
    os::UniqueFd control;
    std::unique_ptr<sandbox::Monitor> monitor;
    os::UniqueFd source;   // shared object, or the bytes of the files
    Json setup;            // all of the setup message but "fds", "signature" and "sets"
    bool freeze = true;    // false: a mechanism test switched freezing off
    bool timing = true;    // false: no go is timed, and who waits for one leaves its core to others
    Turn* turn = nullptr;  // borrowed; needed
  };
  // Sends the setup message; the executor loads in the meantime.
  static Result<std::unique_ptr<ExecutorClient>> attach(Attach attach,
                                                        const task::Signature& signature,
                                                        ExecutorMemory memory);

  // Waits for kReady, then freezes. The result is not kDone when loading failed.
  Result<GoResult> wait_ready(std::chrono::nanoseconds timeout);
  // One go over these sets (empty for kPrepare and kNullCall).
  Result<GoResult> go(Op op, std::span<const std::uint32_t> sets, std::chrono::nanoseconds timeout);
  // Of so many gos without a call; zeros when one does not end as it should.
  Result<NullGos> null_gos(int count);

  Style style() const { return style_; }
  ExecutorMemory& memory() { return memory_; }
  sandbox::Monitor& monitor() { return *monitor_; }
  // A private copy: the executor could change the page meanwhile.
  OutputReport report(std::uint32_t call, std::uint32_t output) const;
  // Triton: what has run since the start. Untrusted; copied once.
  struct Launches {
    std::uint32_t kernel_count = 0;
    std::uint64_t library_calls = 0;
    std::vector<KernelReport> kernels;  // at most kMaxKernels
  };
  std::optional<Launches> launches() const;  // nothing for another language
  ExecutorEnd end();                         // after a GoEnd other than kDone
  bool frozen_between_gos() const { return freeze_; }

 private:
  ExecutorClient() = default;
  using Clock = std::chrono::steady_clock;
  // A wait for something that runs: its deadline moves while others measure.
  struct Wait {
    Clock::time_point deadline;
    std::chrono::nanoseconds aside{0};  // how long others measured
  };
  // Lets others measure if it is time to; whether the deadline has passed.
  Result<bool> too_late(Wait& wait);
  Result<GoEnd> wait_done(std::uint64_t sequence, Wait& wait);
  void write_command(Op op, std::span<const std::uint32_t> sets);
  Status send_setup(Attach& attach, const task::Signature& signature);

  mutable Pages pages_;
  ExecutorMemory memory_;
  std::unique_ptr<sandbox::Monitor> monitor_;
  Turn* turn_ = nullptr;  // borrowed
  std::vector<bool> input_is_scalar_;
  std::uint64_t sequence_ = 0;
  Style style_ = Style::kUnknown;
  bool freeze_ = true, timing_ = true;
  bool interprets_triton_ = false;
  std::optional<sandbox::Exit> exit_;
};

}  // namespace kw::gym
