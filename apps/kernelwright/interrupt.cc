// Theory of operation: a handler may do almost nothing, and requesting a stop runs callbacks. So
// the handler only counts and writes to an eventfd; a thread of its own waits there and requests
// the stop. SIGPIPE gets an empty handler rather than SIG_IGN: a write to a closed pipe then fails
// with EPIPE here, while programs that we execute start with the default again.
#include "kernelwright/interrupt.h"

#include <array>
#include <atomic>
#include <cstdint>
#include <thread>
#include <utility>

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
  if (g_count.fetch_add(1) > 0) ::_exit(128 + signal);
  std::uint64_t one = 1;
  [[maybe_unused]] auto written = ::write(g_event.load(), &one, sizeof one);
}

extern "C" void on_closed_pipe(int) {}

}  // namespace

struct Interrupt::State {
  std::stop_source stop;
  os::UniqueFd event;
  std::atomic<bool> ending{false};
  std::array<std::pair<int, struct sigaction>, 3> before{};
  std::jthread waiter;
};

Interrupt::Interrupt() : state_(std::make_unique<State>()) {
  state_->event.reset(::eventfd(0, EFD_CLOEXEC));
  KW_CHECK(state_->event.valid());
  g_count = 0;
  g_event = state_->event.get();
  constexpr std::array<int, 3> kSignals = {SIGINT, SIGTERM, SIGPIPE};
  for (std::size_t i = 0; i < kSignals.size(); ++i) {
    struct sigaction action{};
    action.sa_handler = kSignals[i] == SIGPIPE ? on_closed_pipe : on_signal;
    action.sa_flags = SA_RESTART;
    state_->before[i].first = kSignals[i];
    KW_CHECK(::sigaction(kSignals[i], &action, &state_->before[i].second) == 0);
  }
  state_->waiter = std::jthread([state = state_.get()] {
    std::uint64_t count = 0;
    while (::read(state->event.get(), &count, sizeof count) < 0) {
    }
    if (!state->ending) state->stop.request_stop();
  });
}

Interrupt::~Interrupt() {
  for (const auto& [signal, action] : state_->before) ::sigaction(signal, &action, nullptr);
  state_->ending = true;
  std::uint64_t one = 1;
  [[maybe_unused]] auto written = ::write(state_->event.get(), &one, sizeof one);
}

std::stop_token Interrupt::token() const {
  return state_->stop.get_token();
}

}  // namespace kw::front
