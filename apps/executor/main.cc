// kernelwright-executor: runs a cpp candidate on the checker's command (docs/protocol.md,
// "Executor").
//
// Theory of operation. This process belongs to the candidate as soon as its object is loaded: it
// holds no tolerance, no expected value, no seed and no clock that counts. One message on fd 3
// brings everything; then the socket and all descriptors are closed. From then on only the command
// page (read-only here) and the reply page connect it with the checker, which freezes the process
// between a done and the next launch and believes nothing but the outputs it compares itself.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <climits>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <exception>
#include <string>

#include <dlfcn.h>
#include <fcntl.h>
#include <malloc.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "faults.h"
#include "session.h"

namespace {

using kw::executor::CallFunction;
using kw::executor::PrepareFunction;
using kw::executor::Session;
using kw::gym::ExecutorState;
using kw::gym::Failure;
using kw::gym::Op;

constexpr int kControl = 3;
// A few milliseconds; the checker freezes this process while it waits, so a long wait is rare.
constexpr int kSpins = 60'000;
constexpr long kNapNanoseconds = 20'000;

struct Entry {
  CallFunction call = nullptr;
  PrepareFunction prepare = nullptr;
  void* state = nullptr;  // what prepare returned
};

void say(const char* text) {
  std::fprintf(stderr, "%s\n", text);
  std::fflush(stderr);
}

void pause_cpu() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#else
  asm volatile("yield");
#endif
}

// Memory that a candidate frees stays mapped and is handed out again, as in the baseline's
// executor: neither side pays page faults of its scratch memory inside a timed call.
void keep_freed_memory() {
  // NOLINTBEGIN(concurrency-mt-unsafe): no other thread exists yet.
  ::mallopt(M_MMAP_MAX, 0);
  ::mallopt(M_TRIM_THRESHOLD, INT_MAX);
  // NOLINTEND(concurrency-mt-unsafe)
}

// Before the OpenMP library is loaded, which reads them once. The limit also holds for a
// candidate's own num_threads() clause.
void limit_threads(int threads) {
  std::string count = std::to_string(threads);
  // NOLINTBEGIN(concurrency-mt-unsafe): no other thread exists yet.
  ::setenv("OMP_NUM_THREADS", count.c_str(), 1);
  ::setenv("OMP_THREAD_LIMIT", count.c_str(), 1);
  ::setenv("OMP_DYNAMIC", "false", 1);
  // NOLINTEND(concurrency-mt-unsafe)
}

// Whatever this process was started with by mistake is not the candidate's.
void close_all_but(int fd) {
  auto kept = static_cast<unsigned>(fd);
  if (kept > 3) ::close_range(3, kept - 1, 0);
  ::close_range(kept + 1, ~0U, 0);
}

Failure load(Session& session, Entry& entry) {
  std::string path = "/proc/self/fd/" + std::to_string(session.source());
  // An exception of a constructor in there ends the process: dlopen lets none through.
  void* object = ::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (object == nullptr) {
    say(::dlerror());  // NOLINT(concurrency-mt-unsafe): reports the call above, of this thread
    return Failure::kLoad;
  }
  session.close_source();
  entry.call = reinterpret_cast<CallFunction>(::dlsym(object, "kw_call"));
  if (session.has_prepare()) {
    entry.prepare = reinterpret_cast<PrepareFunction>(::dlsym(object, "kw_prepare"));
  }
  if (entry.call == nullptr) say("the shared object does not define kw_call");
  if (session.has_prepare() && entry.prepare == nullptr) {
    say("the shared object does not define kw_prepare");
  }
  bool complete = entry.call != nullptr && (entry.prepare != nullptr || !session.has_prepare());
  return complete ? Failure::kNone : Failure::kEntryMissing;
}

// Spins, then naps.
void wait_for(const volatile std::uint64_t& launch_seq, std::uint64_t expected) {
  int spins = 0;
  while (__atomic_load_n(&launch_seq, __ATOMIC_ACQUIRE) != expected) {
    if (spins < kSpins) {
      ++spins;
      pause_cpu();
    } else {
      timespec nap{0, kNapNanoseconds};
      ::nanosleep(&nap, nullptr);
    }
  }
}

void call_all(Session& session, Entry& entry) {
  const volatile kw::gym::CommandPage& command = session.command();
  std::uint32_t requested = command.calls;
  std::uint32_t calls = std::min(requested, kw::gym::kMaxSets);
  for (std::uint32_t c = 0; c < calls; ++c) {
    session.reply().failed_call = c;
    void* const* arguments = session.arguments_of(command.set_of_call[c]);
    if (arguments != nullptr) entry.call(entry.state, arguments);
  }
}

// The failure is the last that this process says.
[[noreturn]] void end_with(Session& session, Failure failure) {
  session.reply().failure = static_cast<std::uint32_t>(failure);
  __atomic_store_n(&session.reply().state, static_cast<std::uint32_t>(ExecutorState::kFailed),
                   __ATOMIC_RELEASE);
  ::_exit(1);
}

void perform(Session& session, Entry& entry) {
  auto op = static_cast<Op>(session.command().op);
  try {
    if (op == Op::kCall) {
      call_all(session, entry);
    } else if (op == Op::kPrepare && entry.prepare != nullptr) {
      entry.state = entry.prepare(session.prepare_arguments().data());
    }
    return;
  } catch (const std::exception& e) {
    say(e.what());
  } catch (...) {
    say("an exception that is not a std::exception");
  }
  end_with(session, Failure::kException);
}

[[noreturn]] void serve(Session& session, Entry& entry) {
  for (std::uint64_t expected = 1;; ++expected) {
    wait_for(session.command().launch_seq, expected);
    if (static_cast<Op>(session.command().op) == Op::kExit) ::_exit(0);
    perform(session, entry);
    __atomic_store_n(&session.reply().done_seq, expected, __ATOMIC_RELEASE);
  }
}

kw::Result<Session> receive_setup() {
  KW_TRY(kw::os::Message message,
         kw::os::receive_message(kControl, std::chrono::milliseconds(60'000)));
  ::close(kControl);
  return Session::open(std::move(message));
}

}  // namespace

int main() {
  keep_freed_memory();
  ::prctl(PR_SET_TIMERSLACK, 1UL, 0, 0, 0);
  auto session = receive_setup();
  if (!session) {
    say(session.error().message().c_str());
    return 1;
  }
  limit_threads(session->threads());
  kw::executor::report_faults(session->reply(), session->read_only());
  close_all_but(session->source());
  Entry entry;
  Failure failure = load(*session, entry);
  session->reply().style = static_cast<std::uint32_t>(kw::gym::Style::kDestinationPassing);
  if (failure != Failure::kNone) end_with(*session, failure);
  __atomic_store_n(&session->reply().state, static_cast<std::uint32_t>(ExecutorState::kReady),
                   __ATOMIC_RELEASE);
  serve(*session, entry);
}
