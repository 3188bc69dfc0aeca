// The host's loop: requests from the supervisor, children to reap.
#include "sandbox/host.h"

#include <array>
#include <csignal>
#include <system_error>

#include <poll.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include "sandbox/init.h"
#include "sandbox/syscalls.h"

namespace kw::sandbox {
namespace {

constexpr std::uint64_t kNamespaces =
    CLONE_NEWPID | CLONE_NEWNS | CLONE_NEWIPC | CLONE_NEWUTS | CLONE_NEWNET;

Json error_json(const StepError& error) {
  return {{"error", error.step + ": " + std::generic_category().message(error.error_number)},
          {"errno", error.error_number}};
}

Result<os::UniqueFd> watch_children() {
  sigset_t child;
  ::sigemptyset(&child);
  ::sigaddset(&child, SIGCHLD);
  ::pthread_sigmask(SIG_BLOCK, &child, nullptr);
  os::UniqueFd signals(::signalfd(-1, &child, SFD_CLOEXEC | SFD_NONBLOCK));
  if (!signals.valid()) return fail_errno(errno, "cannot watch for the end of children");
  return signals;
}

void call(void (*hook)()) {
  if (hook != nullptr) hook();
}

}  // namespace

Result<std::unique_ptr<Host>> Host::make(os::UniqueFd socket, std::vector<Bind> more_binds) {
  KW_TRY(os::Message message, os::receive_message(socket.get(), std::chrono::milliseconds(-1)));
  KW_TRY(HostConfig config, parse_host_config(std::move(message)));
  HostWalls walls{config.layers, std::move(config.filter), std::move(config.filter_no_affinity),
                  std::move(config.binds), os::UniqueFd(sys_pidfd_open(::getpid()))};
  if (!walls.host.valid()) return fail_errno(errno, "cannot open a pidfd");
  walls.binds.insert(walls.binds.end(), more_binds.begin(), more_binds.end());
  std::unique_ptr<Host> host(new Host(std::move(socket), std::move(walls)));
  host->group_folders_ = std::move(config.group_folders);
  if (host->walls_.layers.namespaces) {
    StepError error =
        BoxTemplate::build(host->walls_.layers.user_namespace, host->walls_.binds, host->box_);
    if (error) {
      KW_TRY_STATUS(os::send_message(host->socket_.get(), error_json(error)));
      return fail_errno(error.error_number, error.step);
    }
  }
  KW_TRY(host->signals_, watch_children());
  return host;
}

std::optional<SpawnRequest> Host::serve(const ForkHooks& hooks) {
  if (!os::send_message(socket_.get(), {{"ready", true}})) return std::nullopt;
  while (true) {
    std::array<pollfd, 2> entries = {pollfd{socket_.get(), POLLIN, 0},
                                     pollfd{signals_.get(), POLLIN, 0}};
    if (::poll(entries.data(), entries.size(), -1) < 0) continue;
    if (entries[1].revents != 0) reap();
    if (entries[0].revents == 0) continue;
    auto message = os::receive_message(socket_.get(), std::chrono::milliseconds(0));
    if (!message && message.error().code() == ErrorCode::kUnavailable) break;
    auto init = message ? parse_init_request(std::move(*message))
                        : tl::unexpected(std::move(message).error());
    if (!init) {
      if (!os::send_message(socket_.get(), {{"error", init.error().message()}, {"errno", EINVAL}}))
        break;
      continue;
    }
    if (auto request = fork_init(std::move(*init), hooks)) return request;
  }
  return std::nullopt;
}

std::optional<SpawnRequest> Host::fork_init(InitRequest init, const ForkHooks& hooks) {
  int pidfd = -1;
  clone_args args{};
  args.flags = CLONE_PIDFD | (walls_.layers.namespaces ? kNamespaces : 0);
  args.pidfd = reinterpret_cast<std::uint64_t>(&pidfd);
  args.exit_signal = SIGCHLD;
  StepError error;
  if (walls_.layers.namespaces) error = box_.enter();
  pid_t pid = -1;
  if (!error) {
    call(hooks.before);
    pid = sys_clone3(args);
    if (pid == 0) {
      SpawnRequest request = run_init(box_, walls_, std::move(init));
      call(hooks.after_in_child);
      return request;
    }
    if (pid < 0) error = step_failed("clone");
    call(hooks.after_in_parent);
  }
  if (walls_.layers.namespaces) box_.leave();
  os::UniqueFd owned(pidfd);
  // When the answer cannot be sent, the supervisor is gone: the next receive ends the loop.
  auto sent = error ? os::send_message(socket_.get(), error_json(error))
                    : os::send_message(socket_.get(), {{"pid", pid}}, {pidfd});
  if (!sent) ::shutdown(socket_.get(), SHUT_RDWR);
  return std::nullopt;
}

void Host::await_children() {
  while (::waitpid(-1, nullptr, 0) > 0) {
  }
}

void Host::reap() {
  signalfd_siginfo ignored{};
  while (::read(signals_.get(), &ignored, sizeof ignored) > 0) {
  }
  while (::waitpid(-1, nullptr, WNOHANG) > 0) {
  }
}

}  // namespace kw::sandbox
