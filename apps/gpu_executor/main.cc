// kernelwright-gpu-executor: launches a candidate's plan on the GPU at the checker's command
// (docs/protocol.md, "Executor").
//
// Theory of operation. No host code of the candidate runs here: it brings a launch plan and machine
// code for the GPU. One message on fd 3 brings everything; later ones bring another candidate's
// plan for the same memory, each before the command that loads it. The two pages are those of the
// CPU's executor: the checker writes commands, this process writes replies, and the checker
// believes only the outputs that it compares itself. Between a done and the next launch nothing is
// left on the stream: done is stored when the stream is empty. A kernel that faults costs the
// process, because its context is of no use afterwards.
#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <optional>
#include <string>

#include <sched.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "session.h"

namespace {

using kw::gpu_executor::Session;
using kw::gym::ExecutorState;
using kw::gym::Failure;
using kw::gym::Op;

constexpr int kControl = 3;
// The setup comes when the baseline has started: on a busy machine, torch takes tens of seconds.
constexpr std::chrono::minutes kLongestBaselineStart(10);
// Some tens of microseconds at most; then naps. Where the other side's executor, which is not
// frozen meanwhile, has the same core, a longer spin would take the time from its launch. Where
// each has its own, a core that slept would be slow for the next milliseconds.
constexpr int kSpins = 500;
constexpr std::chrono::milliseconds kLongSpin(3);
constexpr long kNapNanoseconds = 50'000, kLongNapNanoseconds = 200'000;
constexpr int kShortNaps = 10'000;                  // about half a second
constexpr std::chrono::seconds kProgramTimeout(1);  // it was sent before the command

void say(const std::string& text) {
  std::fprintf(stderr, "%s\n", text.c_str());
  std::fflush(stderr);
}

void set_state(Session& session, ExecutorState state, Failure failure) {
  session.reply().failure = static_cast<std::uint32_t>(failure);
  __atomic_store_n(&session.reply().state, static_cast<std::uint32_t>(state), __ATOMIC_RELEASE);
}

// How a plan's failure is told to the checker.
Failure failure_of(const kw::Error& error, Failure otherwise) {
  switch (error.code()) {
    case kw::ErrorCode::kResourceExhausted:
      return Failure::kDeviceMemory;
    case kw::ErrorCode::kInvalidArgument:
      return Failure::kLaunchRefused;
    case kw::ErrorCode::kDeadlineExceeded:
      return Failure::kKernelTimeout;
    default:
      return otherwise;
  }
}

// Without the driver's own clean-up, which could wait for a kernel that never ends.
[[noreturn]] void give_up(Session& session, Failure failure, const kw::Error& error) {
  say(error.message());
  set_state(session, ExecutorState::kFailed, failure);
  ::_exit(1);
}

// Whether the sandbox has a core for each of the two executors of a judgement.
bool has_own_core() {
  static const bool has = [] {
    cpu_set_t set;
    CPU_ZERO(&set);
    return ::sched_getaffinity(0, sizeof set, &set) == 0 && CPU_COUNT(&set) >= 2;
  }();
  return has;
}

// It may last: the checker compares, or others measure. The process ends with its parent.
void wait_for_go(const Session& session, std::uint64_t expected, std::chrono::milliseconds spin) {
  const volatile std::uint64_t& launch_seq = session.command().launch_seq;
  const auto until = std::chrono::steady_clock::now() + spin;
  for (int spins = 0; __atomic_load_n(&launch_seq, __ATOMIC_ACQUIRE) != expected; ++spins) {
    if (spins < kSpins) {
      __builtin_ia32_pause();
      if (spins == kSpins - 1 && std::chrono::steady_clock::now() < until) spins = 0;
      continue;
    }
    const bool is_long = spins >= kSpins + kShortNaps;
    if (is_long) spins = kSpins + kShortNaps;
    const timespec nap{0, is_long ? kLongNapNanoseconds : kNapNanoseconds};
    ::nanosleep(&nap, nullptr);
  }
}

kw::Status load_another(Session& session) {
  KW_TRY(kw::os::Message message, kw::os::receive_message(kControl, kProgramTimeout));
  return session.replace(std::move(message));
}

[[noreturn]] void serve(Session& session) {
  std::chrono::milliseconds spin{0};
  for (std::uint64_t expected = 1;; ++expected) {
    wait_for_go(session, expected, spin);
    const auto op = static_cast<Op>(session.command().op);
    // Between two judgements the core may be another session's.
    const bool in_judgement = op == Op::kCall || op == Op::kNullCall;
    spin = in_judgement && has_own_core() ? kLongSpin : std::chrono::milliseconds(0);
    if (op == Op::kExit) ::_exit(0);
    session.reply().device_ns = 0;
    session.reply().device_span_ns = 0;
    kw::Status done;
    if (op == Op::kCall) done = session.run_calls();
    if (op == Op::kNullCall) done = session.run_nothing();
    if (op == Op::kProfile) done = session.profile();
    if (op == Op::kLoad) done = load_another(session);
    if (!done)
      give_up(session,
              failure_of(done.error(), op == Op::kLoad ? Failure::kLoad : Failure::kKernelFault),
              done.error());
    __atomic_store_n(&session.reply().done_seq, expected, __ATOMIC_RELEASE);
  }
}

kw::Result<Session> receive_setup() {
  KW_TRY(kw::os::Message message, kw::os::receive_message(kControl, kLongestBaselineStart));
  return Session::open(std::move(message));
}

}  // namespace

int main() {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  ::prctl(PR_SET_TIMERSLACK, 1UL, 0, 0, 0);
  auto session = receive_setup();
  if (!session) {
    say(session.error().message());
    return 1;
  }
  session->reply().style = static_cast<std::uint32_t>(kw::gym::Style::kDestinationPassing);
  if (kw::Status loaded = session->load(); !loaded)
    give_up(*session, failure_of(loaded.error(), Failure::kLoad), loaded.error());
  set_state(*session, ExecutorState::kReady, Failure::kNone);
  serve(*session);
}
