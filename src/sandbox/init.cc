// The init's steps and its loop.
#include "sandbox/init.h"

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

#include "sandbox/process_tree.h"

namespace kw::sandbox {
namespace {

void send_record(int status, const StatusRecord& record) {
  // Nobody to tell when the supervisor is gone.
  [[maybe_unused]] ssize_t ignored = ::send(status, &record, sizeof record, MSG_NOSIGNAL);
}

StepError join_groups(const SpawnRequest& request) {
  for (std::size_t i = 0; i < request.procs.size(); ++i) {
    if (::write(request.procs[i].get(), "0", 1) != 1) {
      return step_failed("joining the cgroup " + (i < request.group_names.size()
                                                      ? request.group_names[i]
                                                      : std::to_string(i)));
    }
  }
  return {};
}

StepError build(const BoxTemplate& box, const HostWalls& walls, const SpawnRequest& request) {
  if (StepError error = join_groups(request)) return error;
  if (!walls.layers.namespaces) {
    if (::prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) != 0)
      return step_failed("becoming a subreaper");
    return {};
  }
  // The cgroup namespace's root is the group of the process that makes it, so only after joining.
  if (::unshare(CLONE_NEWCGROUP) != 0) return step_failed("unshare cgroup namespace");
  if (::sethostname(kHostName, std::strlen(kHostName)) != 0 || ::setdomainname("", 0) != 0)
    return step_failed("sethostname");
  return enter_box(box, request);
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
int keep_only(SpawnRequest& request) {
  constexpr int kStatus = 3, kCommand = 4, kSignals = 5;
  int status = ::fcntl(request.status.get(), F_DUPFD_CLOEXEC, 64);
  int command = ::fcntl(request.command.get(), F_DUPFD_CLOEXEC, 64);
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

void run_init(const BoxTemplate& box, const HostWalls& walls, SpawnRequest& request) {
  int status = request.status.get();
  // Without a pid namespace the init must outlive the host for a moment, to kill what is below it
  // (end of the command socket).
  if (walls.layers.namespaces && ::prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) != 0)
    report_failure(status, step_failed("parent-death signal"));
  sigset_t child;
  ::sigemptyset(&child);
  ::sigaddset(&child, SIGCHLD);
  ::pthread_sigmask(SIG_BLOCK, &child, nullptr);
  if (StepError error = build(box, walls, request)) report_failure(status, error);
  // Other processes of the same uid (plain user) cannot trace what is not dumpable. Before the
  // fork, so that there is no gap.
  ::prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
  pid_t candidate = ::fork();
  if (candidate < 0) report_failure(status, step_failed("fork"));
  if (candidate == 0) {
    StepError error = enter_walls(walls, request);
    // Placing the descriptors moved the socket to its final number.
    if (error) report_failure(request.status.valid() ? status : kStatusFd, error);
    return;
  }
  int signals = keep_only(request);
  Init(walls.layers, candidate, signals - 2, signals - 1, signals).run();
}

}  // namespace kw::sandbox
