#include "environment_link/wake_event.h"

#include <array>
#include <cerrno>
#include <cstdint>

#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

namespace kw::environment_link {

Result<WakeEvent> WakeEvent::make() {
  os::UniqueFd event(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!event.valid()) return fail_errno(errno, "cannot make an event descriptor");
  return WakeEvent(std::move(event));
}

void WakeEvent::signal() const {
  const std::uint64_t one = 1;
  [[maybe_unused]] auto written = ::write(fd_.get(), &one, sizeof one);
}

bool WakeEvent::wait(const link::Channel& channel, bool with_channel) const {
  const auto writing = static_cast<short>(channel.queued_bytes() > 0 ? POLLOUT : 0);
  std::array<pollfd, 2> waits = {
      pollfd{fd_.get(), POLLIN, 0},
      pollfd{with_channel ? channel.fd() : -1, static_cast<short>(POLLIN | writing), 0}};
  while (::poll(waits.data(), waits.size(), -1) < 0 && errno == EINTR) {
  }
  if (waits[0].revents != 0) {
    std::uint64_t count = 0;
    [[maybe_unused]] auto got = ::read(fd_.get(), &count, sizeof count);
  }
  return (waits[1].revents & (POLLIN | POLLHUP | POLLERR)) != 0;
}

}  // namespace kw::environment_link
