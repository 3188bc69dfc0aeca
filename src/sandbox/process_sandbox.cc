// The end of a sandbox: kill, wait, proof, return of what it had.
#include "sandbox/process_sandbox.h"

#include <csignal>
#include <cstring>

#include <poll.h>
#include <sys/socket.h>

#include "base/check.h"
#include "sandbox/init.h"
#include "sandbox/syscalls.h"

namespace kw::sandbox {
namespace {

constexpr auto kKillLimit = std::chrono::milliseconds(30'000);

bool await_pidfd(int pidfd, std::chrono::milliseconds timeout) {
  auto deadline = std::chrono::steady_clock::now() + timeout;
  while (true) {
    auto left = std::chrono::duration_cast<std::chrono::milliseconds>(
        deadline - std::chrono::steady_clock::now());
    pollfd entry{pidfd, POLLIN, 0};
    int ready = ::poll(&entry, 1, static_cast<int>(std::max<std::int64_t>(0, left.count())));
    if (ready > 0) return true;
    if (ready == 0 || errno != EINTR) return false;
  }
}

tl::unexpected<Error> failure_of(const StatusRecord& record) {
  return fail_errno(
      record.code,
      "sandbox: " + std::string(record.step, ::strnlen(record.step, sizeof record.step)));
}

struct Report {
  StatusRecord record;
  pid_t sender = 0;
};

Result<Report> receive_report(int status, std::chrono::milliseconds timeout) {
  pollfd entry{status, POLLIN, 0};
  if (::poll(&entry, 1, static_cast<int>(timeout.count())) <= 0)
    return fail(ErrorCode::kDeadlineExceeded, "the sandbox does not start");
  Report report;
  iovec part{&report.record, sizeof report.record};
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(ucred))];
  msghdr header{};
  header.msg_iov = &part;
  header.msg_iovlen = 1;
  header.msg_control = control;
  header.msg_controllen = sizeof control;
  ssize_t got = ::recvmsg(status, &header, MSG_CMSG_CLOEXEC);
  if (got == 0) return fail(ErrorCode::kUnavailable, "the sandbox was killed while it started");
  if (got != static_cast<ssize_t>(sizeof report.record) ||
      report.record.magic != StatusRecord::kMagic)
    return fail(ErrorCode::kInternal, "the sandbox's report is malformed");
  const cmsghdr* message = CMSG_FIRSTHDR(&header);
  if (message == nullptr || message->cmsg_type != SCM_CREDENTIALS)
    return fail(ErrorCode::kInternal, "the sandbox's report has no sender");
  ucred sender{};
  std::memcpy(&sender, CMSG_DATA(message), sizeof sender);
  report.sender = sender.pid;
  return report;
}

}  // namespace

Result<pid_t> await_started(int status, std::chrono::milliseconds timeout) {
  while (true) {
    KW_TRY(Report report, receive_report(status, timeout));
    if (report.record.kind == StatusRecord::kReady) continue;
    if (report.record.kind == StatusRecord::kFailed) return failure_of(report.record);
    if (report.record.kind != StatusRecord::kStarted)
      return fail(ErrorCode::kUnavailable, "the sandbox's candidate ended while it started");
    return report.sender;
  }
}

Status exec_error(int status) {
  StatusRecord record;
  ssize_t got = ::recv(status, &record, sizeof record, MSG_PEEK | MSG_DONTWAIT);
  if (got == static_cast<ssize_t>(sizeof record) && record.kind == StatusRecord::kFailed)
    return failure_of(record);
  return {};
}

Status end_processes(SandboxParts& parts) {
  int pidfd = parts.spawned.pidfd.get();
  if (!parts.namespaces && !parts.group) {
    // Only the init knows who is below it, so it gets the chance to kill them first.
    char command = kCommandKill;
    if (::send(parts.command.get(), &command, 1, MSG_NOSIGNAL | MSG_DONTWAIT) == 1 &&
        await_pidfd(pidfd, kKillLimit / 2))
      return {};
  }
  sys_pidfd_send_signal(pidfd, SIGKILL);
  if (parts.group) parts.group->kill();
  if (!await_pidfd(pidfd, kKillLimit))
    return fail(ErrorCode::kDeadlineExceeded, "the sandbox's processes do not end after SIGKILL");
  return {};
}

Status give_back(SandboxParts& parts) {
  bool had_group = parts.group.has_value();
  // The end of the pid namespace is proof enough that nobody is in the group any more.
  if (parts.group && parts.namespaces && parts.retire) {
    parts.retire(std::move(*parts.group));
    parts.group.reset();
  } else if (parts.group) {
    KW_TRY_STATUS(parts.group->remove());
  }
  // The pid namespace is empty (its init is dead), or the cgroup is, or nobody is seen with the
  // uid: others may have it now. Without such a proof the lease stays taken.
  if (parts.uid && (parts.namespaces || had_group || !parts.uid->in_use())) parts.uid->give_back();
  return {};
}

ProcessSandbox::~ProcessSandbox() {
  on_end_(this);
  // What cannot be killed is left to the destructors of group and uid: the uid is then never used
  // again.
  (void)kill();
}

Status ProcessSandbox::set_memory_limit(std::uint64_t bytes) {
  if (!parts_.group)
    return fail(ErrorCode::kUnsupported,
                "no cgroups: the memory limit of a running sandbox cannot change");
  return parts_.group->set_memory_limit(bytes);
}

Status ProcessSandbox::kill() {
  if (exit_) return {};
  KW_TRY_STATUS(end_processes(parts_));
  return finish();
}

Result<Exit> ProcessSandbox::wait(std::chrono::milliseconds timeout) {
  if (!exit_) {
    if (!await_pidfd(parts_.spawned.pidfd.get(), timeout))
      return fail(ErrorCode::kDeadlineExceeded, "the sandbox still runs");
    KW_TRY_STATUS(finish());
  }
  KW_TRY_STATUS(exec_error(monitor_.files().status.get()));
  KW_CHECK(exit_);
  return *exit_;
}

Status ProcessSandbox::finish() {
  exit_ = monitor_.exited();
  if (!exit_) exit_ = Exit{true, SIGKILL, false, {}};
  if (parts_.group && exit_->signalled && parts_.group->killed_for_memory())
    exit_->out_of_memory = true;
  return give_back(parts_);
}

}  // namespace kw::sandbox
