// Theory of operation: a handler may do almost nothing, and requesting a stop runs callbacks. So
// the handler only counts and writes to an eventfd; a thread of its own waits there and requests
// the stop. The eventfd's number tells signals apart: its lower half counts requests to stop, the
// upper one hangups. SIGPIPE gets an empty handler rather than SIG_IGN: a write to a closed pipe
// then fails with EPIPE here, while programs that we execute start with the default again.
#include "kernelwright/interrupt.h"

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdint>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include <signal.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/check.h"
#include "os/fd.h"

namespace kw::front {
namespace {

std::atomic<int> g_event{-1};
std::atomic<int> g_count{0};
static_assert(std::atomic<int>::is_always_lock_free, "used in a signal handler");

extern "C" void on_signal(int signal) {
  if (g_count.fetch_add(1) > 0 && signal == SIGINT) ::_exit(128 + signal);
  std::uint64_t one = 1;
  [[maybe_unused]] auto written = ::write(g_event.load(), &one, sizeof one);
}

constexpr std::uint64_t kHangup = std::uint64_t{1} << 32U;

extern "C" void on_hangup_signal(int) {
  const int saved = errno;
  const std::uint64_t one = kHangup;
  [[maybe_unused]] auto written = ::write(g_event.load(), &one, sizeof one);
  errno = saved;
}

extern "C" void on_closed_pipe(int) {}

}  // namespace

struct Interrupt::State {
  std::stop_source stop;
  os::UniqueFd event;
  std::atomic<bool> ending{false};
  std::vector<std::pair<int, struct sigaction>> before;
  std::mutex hangup_mutex;
  std::function<void()> hangup;  // guarded by hangup_mutex
  std::jthread waiter;

  void handle(int signal, void (*handler)(int)) {
    struct sigaction action{};
    action.sa_handler = handler;
    action.sa_flags = SA_RESTART;
    before.emplace_back(signal, action);
    KW_CHECK(::sigaction(signal, &action, &before.back().second) == 0);
  }

  void wait() {
    while (true) {
      std::uint64_t counts = 0;
      if (::read(event.get(), &counts, sizeof counts) < 0) continue;
      if (counts >= kHangup) {
        std::lock_guard lock(hangup_mutex);
        if (hangup) hangup();
      }
      if (counts % kHangup == 0) continue;
      if (!ending) stop.request_stop();
      return;
    }
  }
};

Interrupt::Interrupt() : state_(std::make_unique<State>()) {
  state_->event.reset(::eventfd(0, EFD_CLOEXEC));
  KW_CHECK(state_->event.valid());
  g_count = 0;
  g_event = state_->event.get();
  state_->handle(SIGINT, on_signal);
  state_->handle(SIGTERM, on_signal);
  state_->handle(SIGPIPE, on_closed_pipe);
  state_->waiter = std::jthread([state = state_.get()] { state->wait(); });
}

Interrupt::~Interrupt() {
  for (const auto& [signal, action] : state_->before) ::sigaction(signal, &action, nullptr);
  state_->ending = true;
  std::uint64_t one = 1;
  [[maybe_unused]] auto written = ::write(state_->event.get(), &one, sizeof one);
}

void Interrupt::on_hangup(std::function<void()> call) {
  std::lock_guard lock(state_->hangup_mutex);
  const bool handled = std::any_of(state_->before.begin(), state_->before.end(),
                                   [](const auto& each) { return each.first == SIGHUP; });
  state_->hangup = std::move(call);
  if (!handled) state_->handle(SIGHUP, on_hangup_signal);
}

std::stop_token Interrupt::token() const {
  return state_->stop.get_token();
}

}  // namespace kw::front
