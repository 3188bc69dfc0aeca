// The init's steps and its loop.
#include "sandbox/init.h"

#include <algorithm>
#include <array>
#include <csignal>
#include <cstring>

#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include "os/message.h"
#include "sandbox/process_tree.h"

namespace kw::sandbox {
namespace {

void send_record(int status, const StatusRecord& record) {
  // Nobody to tell when the supervisor is gone.
  [[maybe_unused]] ssize_t ignored = ::send(status, &record, sizeof record, MSG_NOSIGNAL);
}

StepError join_groups(InitRequest& init) {
  for (std::size_t i = 0; i < init.procs.size(); ++i) {
    if (::write(init.procs[i].get(), "0", 1) != 1)
      return step_failed("joining the cgroup " + init.group_names[i]);
  }
  init.procs.clear();
  return {};
}

// Everything that does not depend on what will run. `root` gets the host's root, where there is a
// box.
StepError prepare(const BoxTemplate& box, const Layers& layers, InitRequest& init,
                  os::UniqueFd& root) {
  if (StepError error = join_groups(init)) return error;
  if (!layers.namespaces) {
    if (::prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) != 0)
      return step_failed("becoming a subreaper");
    return {};
  }
  // The cgroup namespace's root is the group of the process that makes it, so only after joining.
  if (::unshare(CLONE_NEWCGROUP) != 0) return step_failed("unshare cgroup namespace");
  if (::sethostname(kHostName, std::strlen(kHostName)) != 0 || ::setdomainname("", 0) != 0)
    return step_failed("sethostname");
  return prepare_box(box, root);
}

// Nothing else of the host's is open while the init waits, its socket least of all: the supervisor
// must see the host's end. The host's objects still name the closed numbers, but are not used here
// any more.
StepError close_all_but(std::vector<int> keep) {
  std::sort(keep.begin(), keep.end());
  unsigned next = 0;
  for (int fd : keep) {
    if (fd < 0) continue;
    auto number = static_cast<unsigned>(fd);
    if (number > next && ::close_range(next, number - 1, 0) != 0) return step_failed("close_range");
    next = number + 1;
  }
  return ::close_range(next, ~0U, 0) == 0 ? StepError{} : step_failed("close_range");
}

// Ends the process when the supervisor is gone.
StepError await_request(const InitRequest& init, SpawnRequest& request) {
  StatusRecord record;
  record.kind = StatusRecord::kReady;
  send_record(init.status.get(), record);
  auto message = os::receive_message(init.command.get(), std::chrono::milliseconds(-1));
  if (!message) ::_exit(0);
  auto parsed = parse_spawn_request(std::move(*message));
  if (!parsed) return {EINVAL, parsed.error().message()};
  request = std::move(*parsed);
  return {};
}

// What the init keeps open: the two sockets and a signal descriptor.
class Init {
 public:
  Init(const Layers& layers, pid_t candidate, int status, int command, int signals)
      : scope_(layers.namespaces ? Scope::kPidNamespace : Scope::kDescendants),
        candidate_(candidate),
        status_(status),
        command_(command),
        signals_(signals) {}

  [[noreturn]] void run() {
    while (true) {
      std::array<pollfd, 2> entries = {pollfd{signals_, POLLIN, 0}, pollfd{command_, POLLIN, 0}};
      if (::poll(entries.data(), entries.size(), -1) < 0) continue;
      if (entries[1].revents != 0) obey();
      if (entries[0].revents != 0) reap();
    }
  }

 private:
  [[noreturn]] void end() {
    // The end of a pid namespace's init kills all that is in it, and no fork can escape that.
    if (scope_ == Scope::kDescendants) kill_all(scope_);
    ::_exit(0);
  }

  void reap() {
    signalfd_siginfo ignored{};
    while (::read(signals_, &ignored, sizeof ignored) > 0) {
    }
    int status = 0;
    rusage usage{};
    while (pid_t pid = ::wait4(-1, &status, WNOHANG, &usage)) {
      if (pid < 0) return;
      if (pid != candidate_) continue;
      StatusRecord record;
      record.kind = StatusRecord::kExited;
      record.signalled = WIFSIGNALED(status) ? 1 : 0;
      record.code = WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status);
      record.cpu_ns =
          static_cast<std::uint64_t>(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) *
              1'000'000'000ULL +
          static_cast<std::uint64_t>(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) * 1000ULL;
      send_record(status_, record);
      end();
    }
  }

  void obey() {
    char command = 0;
    ssize_t got = ::recv(command_, &command, 1, 0);
    if (got <= 0 && (got == 0 || errno != EINTR)) end();  // the supervisor is gone
    char reply = command;
    if (command == kCommandFreeze) {
      if (frozen_) {
        reply = kCommandAlready;
      } else if (!stop_all(scope_)) {
        reply = kCommandFailed;
      }
      frozen_ = true;
    } else if (command == kCommandLook) {
      if (!all_stopped(scope_)) reply = kCommandMoves;
    } else if (command == kCommandThaw) {
      continue_all(scope_);
      frozen_ = false;
    } else {
      end();
    }
    [[maybe_unused]] ssize_t ignored = ::send(command_, &reply, 1, MSG_NOSIGNAL);
  }

  Scope scope_;
  pid_t candidate_;
  int status_, command_, signals_;
  bool frozen_ = false;
};

// The init keeps the two sockets at fixed numbers and nothing else.
int keep_only(const InitRequest& init) {
  constexpr int kStatus = 3, kCommand = 4, kSignals = 5;
  int status = ::fcntl(init.status.get(), F_DUPFD_CLOEXEC, 64);
  int command = ::fcntl(init.command.get(), F_DUPFD_CLOEXEC, 64);
  sigset_t child;
  ::sigemptyset(&child);
  ::sigaddset(&child, SIGCHLD);
  int signals = ::signalfd(-1, &child, SFD_CLOEXEC | SFD_NONBLOCK);
  int high = ::fcntl(signals, F_DUPFD_CLOEXEC, 64);
  ::dup3(status, kStatus, O_CLOEXEC);
  ::dup3(command, kCommand, O_CLOEXEC);
  ::dup3(high, kSignals, O_CLOEXEC);
  ::close_range(kSignals + 1, ~0U, 0);
  ::close_range(0, 2, 0);
  return kSignals;
}

// The signal tells of an end that is still to come, the pidfd of one that came before.
StepError end_with_host(int pidfd) {
  if (::prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) != 0) return step_failed("parent-death signal");
  pollfd entry{pidfd, POLLIN, 0};
  if (::poll(&entry, 1, 0) != 0) ::_exit(0);
  return {};
}

}  // namespace

void report_failure(int status, const StepError& error) {
  StatusRecord record;
  record.kind = StatusRecord::kFailed;
  record.code = error.error_number;
  std::strncpy(record.step, error.step.c_str(), sizeof record.step - 1);
  send_record(status, record);
  ::_exit(1);
}

void report_started() {
  StatusRecord record;
  record.kind = StatusRecord::kStarted;
  send_record(kStatusFd, record);
}

SpawnRequest run_init(const BoxTemplate& box, const HostWalls& walls, InitRequest init) {
  int status = init.status.get();
  auto check = [status](const StepError& error) {
    if (error) report_failure(status, error);
  };
  check(end_with_host(walls.host.get()));
  // Other processes of the same uid (plain user) cannot trace what is not dumpable. Before the
  // first pause and the fork, so that there is no gap.
  ::prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
  sigset_t child;
  ::sigemptyset(&child);
  ::sigaddset(&child, SIGCHLD);
  ::pthread_sigmask(SIG_BLOCK, &child, nullptr);
  os::UniqueFd root;
  check(prepare(box, walls.layers, init, root));
  check(close_all_but({status, init.command.get(), walls.filter.get(),
                       walls.filter_no_affinity.get(), root.get()}));
  SpawnRequest request;
  check(await_request(init, request));
  // Without a pid namespace the init must outlive the host for a moment, to kill what is below it
  // (end of the command socket).
  if (!walls.layers.namespaces) ::prctl(PR_SET_PDEATHSIG, 0, 0, 0, 0);
  if (walls.layers.namespaces) check(enter_box(std::move(root), request));
  pid_t candidate = ::fork();
  if (candidate < 0) check(step_failed("fork"));
  if (candidate == 0) {
    init.command.release();  // closed with everything else when the descriptors are placed
    StepError error = enter_walls(walls, request, init.status);
    // Placing the descriptors moved the socket to its final number.
    if (error) report_failure(init.status.valid() ? status : kStatusFd, error);
    return request;
  }
  int signals = keep_only(init);
  Init(walls.layers, candidate, signals - 2, signals - 1, signals).run();
}

}  // namespace kw::sandbox
