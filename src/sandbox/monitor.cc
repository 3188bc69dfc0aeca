// Freeze, thaw, clocks and exit through descriptors.
#include "sandbox/monitor.h"

#include <array>
#include <csignal>
#include <cstdlib>
#include <ctime>

#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/text.h"
#include "os/message.h"
#include "sandbox/init.h"

namespace kw::sandbox {
namespace {

constexpr auto kFreezeLimit = std::chrono::seconds(20);
constexpr int kSpins =
    200;  // a freeze is confirmed after some ten microseconds; polling would add a wake-up

Result<std::string> read_at_start(int fd, const char* what) {
  std::string text(4096, '\0');
  ssize_t got = ::pread(fd, text.data(), text.size(), 0);
  if (got < 0) return fail_errno(errno, std::string("cannot read ") + what);
  text.resize(static_cast<std::size_t>(got));
  return text;
}

Status write_at_start(int fd, std::string_view text, const char* what) {
  if (::pwrite(fd, text.data(), text.size(), 0) < 0)
    return fail_errno(errno, std::string("cannot write ") + what);
  return {};
}

// "key value" lines.
std::optional<std::uint64_t> value_of(const std::string& text, std::string_view key) {
  for (const std::string& line : split(text, '\n')) {
    if (line.starts_with(key) && line.size() > key.size() && line[key.size()] == ' ') {
      return std::strtoull(line.c_str() + key.size() + 1, nullptr, 10);
    }
  }
  return std::nullopt;
}

const char* name_of(FreezeKind kind) {
  switch (kind) {
    case FreezeKind::kUnified:
      return "cgroup v2";
    case FreezeKind::kV1:
      return "cgroup v1";
    case FreezeKind::kSignals:
      return "signals";
    case FreezeKind::kNone:
      break;
  }
  return "none";
}

using Slot = std::pair<const char*, os::UniqueFd MonitorFiles::*>;
constexpr std::array<Slot, 10> kSlots = {
    Slot{"status", &MonitorFiles::status}, {"freezer", &MonitorFiles::freezer},
    {"frozen", &MonitorFiles::frozen},     {"command", &MonitorFiles::command},
    {"cpu", &MonitorFiles::cpu},           {"stat", &MonitorFiles::stat},
    {"memory", &MonitorFiles::memory},     {"schedule", &MonitorFiles::schedule},
    {"faults", &MonitorFiles::faults},     {"pressure", &MonitorFiles::pressure}};

}  // namespace

Result<MonitorHandles> MonitorFiles::handles() const {
  MonitorHandles handles;
  Json names = Json::array();
  for (const auto& [name, member] : kSlots) {
    const os::UniqueFd& fd = this->*member;
    if (!fd.valid()) continue;
    KW_TRY(os::UniqueFd copy, fd.duplicate());
    handles.fds.push_back(std::move(copy));
    names.push_back(name);
  }
  handles.description = {{"fds", names},
                         {"freeze", static_cast<int>(freeze)},
                         {"cpu_in_microseconds", cpu_in_microseconds},
                         {"candidate", candidate}};
  return handles;
}

Result<std::unique_ptr<Monitor>> open_monitor(const Json& description,
                                              std::vector<os::UniqueFd> fds) {
  KW_TRY(ObjectReader reader, ObjectReader::make(description, "monitor"));
  MonitorFiles files;
  KW_TRY(auto freeze, reader.integer("freeze"));
  KW_TRY(files.cpu_in_microseconds, reader.boolean("cpu_in_microseconds"));
  KW_TRY(auto candidate, reader.integer("candidate"));
  files.candidate = static_cast<pid_t>(candidate);
  if (freeze < 0 || freeze > static_cast<int>(FreezeKind::kSignals))
    return fail(ErrorCode::kInvalidArgument, "monitor.freeze: out of range");
  files.freeze = static_cast<FreezeKind>(freeze);
  KW_TRY(std::vector<std::string> names, reader.strings_or_empty("fds"));
  if (names.size() != fds.size())
    return fail(ErrorCode::kInvalidArgument, "monitor.fds: {} names for {} descriptors",
                names.size(), fds.size());
  for (const auto& [name, member] : kSlots) {
    for (std::size_t i = 0; i < names.size(); ++i) {
      if (names[i] == name) files.*member = std::move(fds[i]);
    }
  }
  if (!files.status.valid())
    return fail(ErrorCode::kInvalidArgument, "monitor.fds: no status socket");
  return std::make_unique<DescriptorMonitor>(std::move(files));
}

std::string DescriptorMonitor::freeze_kind() const {
  return name_of(files_.freeze);
}

Status DescriptorMonitor::freeze() {
  switch (files_.freeze) {
    case FreezeKind::kUnified:
      KW_TRY_STATUS(write_at_start(files_.freezer.get(), "1", "cgroup.freeze"));
      return await_unified(true);
    case FreezeKind::kV1:
      KW_TRY_STATUS(write_at_start(files_.freezer.get(), "FROZEN", "freezer.state"));
      return await_v1();
    case FreezeKind::kSignals:
      KW_TRY_STATUS(command(kCommandFreeze));
      return {};
    case FreezeKind::kNone:
      break;
  }
  return fail(ErrorCode::kUnsupported, "this sandbox cannot be frozen");
}

Status DescriptorMonitor::thaw() {
  switch (files_.freeze) {
    case FreezeKind::kUnified:
      return write_at_start(files_.freezer.get(), "0", "cgroup.freeze");
    case FreezeKind::kV1:
      return write_at_start(files_.freezer.get(), "THAWED", "freezer.state");
    case FreezeKind::kSignals:
      KW_TRY_STATUS(command(kCommandThaw));
      return {};
    case FreezeKind::kNone:
      break;
  }
  return fail(ErrorCode::kUnsupported, "this sandbox cannot be frozen");
}

Result<bool> DescriptorMonitor::is_still() {
  switch (files_.freeze) {
    case FreezeKind::kUnified: {
      KW_TRY(std::string events, read_at_start(files_.frozen.get(), "cgroup.events"));
      return value_of(events, "frozen") == 1U || value_of(events, "populated") == 0U;
    }
    case FreezeKind::kV1: {
      KW_TRY(std::string state, read_at_start(files_.freezer.get(), "freezer.state"));
      return trim(state) == "FROZEN";
    }
    case FreezeKind::kSignals: {
      KW_TRY(char reply, command(kCommandLook));
      return reply != kCommandMoves;
    }
    case FreezeKind::kNone:
      break;
  }
  return false;
}

Status DescriptorMonitor::await_unified(bool frozen) {
  auto deadline = std::chrono::steady_clock::now() + kFreezeLimit;
  for (int round = 0;; ++round) {
    KW_TRY(std::string events, read_at_start(files_.frozen.get(), "cgroup.events"));
    if (value_of(events, "frozen") == (frozen ? 1U : 0U) || value_of(events, "populated") == 0U)
      return {};
    if (std::chrono::steady_clock::now() > deadline)
      return fail(ErrorCode::kDeadlineExceeded, "the cgroup does not freeze");
    if (round < kSpins) continue;
    pollfd entry{files_.frozen.get(), POLLPRI, 0};
    ::poll(&entry, 1, 10);
  }
}

Status DescriptorMonitor::await_v1() {
  auto deadline = std::chrono::steady_clock::now() + kFreezeLimit;
  while (true) {
    // Reading is what makes the kernel look again.
    KW_TRY(std::string state, read_at_start(files_.freezer.get(), "freezer.state"));
    if (trim(state) == "FROZEN") return {};
    if (std::chrono::steady_clock::now() > deadline)
      return fail(ErrorCode::kDeadlineExceeded, "the cgroup does not freeze");
  }
}

Result<char> DescriptorMonitor::command(char what) {
  std::lock_guard guard(command_mutex_);
  if (::send(files_.command.get(), &what, 1, MSG_NOSIGNAL) != 1) {
    if (errno == EPIPE || errno == ECONNRESET) return what;  // the sandbox has ended: nothing runs
    return fail_errno(errno, "cannot reach the sandbox's init");
  }
  char reply = 0;
  auto received = os::receive_struct(files_.command.get(), &reply, 1, 2 * kFreezeLimit);
  if (!received && received.error().code() == ErrorCode::kUnavailable) return what;
  KW_TRY_STATUS(std::move(received));
  if (reply == kCommandFailed)
    return fail(ErrorCode::kDeadlineExceeded, "the sandbox's processes do not stop");
  return reply;
}

Result<bool> DescriptorMonitor::freeze_unless_frozen() {
  if (files_.freeze == FreezeKind::kSignals) {
    KW_TRY(char reply, command(kCommandFreeze));
    return reply != kCommandAlready;
  }
  if (files_.freezer.valid()) {
    KW_TRY(std::string state, read_at_start(files_.freezer.get(), "the freezer"));
    if (trim(state) == "1" || trim(state) == "FROZEN") return false;
  }
  KW_TRY_STATUS(freeze());
  return true;
}

Result<std::chrono::nanoseconds> DescriptorMonitor::cpu_time() {
  if (files_.cpu.valid()) {
    KW_TRY(std::string text, read_at_start(files_.cpu.get(), "the CPU time"));
    if (!files_.cpu_in_microseconds)
      return std::chrono::nanoseconds(std::strtoll(text.c_str(), nullptr, 10));
    return std::chrono::microseconds(
        static_cast<std::int64_t>(value_of(text, "usage_usec").value_or(0)));
  }
  // Only of the candidate's own process: its children are not in this clock.
  clockid_t clock = 0;
  timespec time{};
  if (int error = ::clock_getcpuclockid(files_.candidate, &clock); error != 0)
    return fail_errno(error, "no CPU clock");
  if (::clock_gettime(clock, &time) != 0) return fail_errno(errno, "cannot read the CPU clock");
  return std::chrono::seconds(time.tv_sec) + std::chrono::nanoseconds(time.tv_nsec);
}

Result<PageFaults> DescriptorMonitor::page_faults() {
  auto read = read_at_start(files_.stat.get(), "the page fault count");
  std::string text = read.value_or("");  // reading fails after the end
  // The program's name, in brackets, is its own choice; the counts begin with the eighth field
  // behind it: minor faults of the process and of its children, then major ones.
  std::size_t bracket = text.rfind(')');
  std::vector<std::string> fields = bracket == std::string::npos
                                        ? std::vector<std::string>{}
                                        : split(text.substr(bracket + 1), ' ');
  if (fields.size() < 12) return fail(ErrorCode::kUnavailable, "the candidate's process has ended");
  PageFaults faults;
  for (std::size_t i = 8; i < 12; ++i)
    faults.first_process += std::strtoull(fields[i].c_str(), nullptr, 10);
  if (!files_.faults.valid()) return faults;
  KW_TRY(std::string statistics, read_at_start(files_.faults.get(), "memory.stat"));
  faults.group = value_of(statistics, "pgfault").value_or(0);
  return faults;
}

std::chrono::nanoseconds DescriptorMonitor::waited() {
  if (!files_.pressure.valid()) return {};
  auto read = read_at_start(files_.pressure.get(), "cpu.pressure");  // may be switched off
  const std::string text = read.value_or("");
  constexpr std::string_view kTotal = "total=";
  // "full avg10=0.00 avg60=0.00 avg300=0.00 total=MICROSECONDS"
  const std::size_t line = text.find("full ");
  const std::size_t total = line == std::string::npos ? line : text.find(kTotal, line);
  if (total == std::string::npos) return {};
  return std::chrono::microseconds(std::strtoll(text.c_str() + total + kTotal.size(), nullptr, 10));
}

ThreadTimes DescriptorMonitor::first_thread() {
  if (!files_.schedule.valid()) return {};
  auto read = read_at_start(files_.schedule.get(), "the scheduler's statistics");
  // Nanoseconds run, nanoseconds waited, number of turns.
  std::vector<std::string> fields = split(read.value_or(""), ' ');
  if (fields.size() < 2) return {};
  return {std::chrono::nanoseconds(std::strtoll(fields[0].c_str(), nullptr, 10)),
          std::chrono::nanoseconds(std::strtoll(fields[1].c_str(), nullptr, 10))};
}

bool DescriptorMonitor::killed_for_memory() const {
  if (!files_.memory.valid()) return false;
  auto text = read_at_start(files_.memory.get(), "memory events");
  return text && value_of(*text, "oom_kill").value_or(0) > 0;
}

std::optional<Exit> DescriptorMonitor::exited() {
  StatusRecord record;
  // Peeked, never consumed: supervisor and checker both look at the same socket.
  ssize_t got = ::recv(files_.status.get(), &record, sizeof record, MSG_PEEK | MSG_DONTWAIT);
  if (got < 0 && (errno == EAGAIN || errno == EINTR)) return std::nullopt;
  Exit exit;
  exit.signalled = true;
  exit.code = SIGKILL;  // the init went without a word: somebody killed it
  if (got == static_cast<ssize_t>(sizeof record) && record.magic == StatusRecord::kMagic) {
    exit.signalled = record.kind == StatusRecord::kExited && record.signalled != 0;
    exit.code = record.kind == StatusRecord::kExited ? record.code : kExecFailed;
    exit.cpu_time = std::chrono::nanoseconds(record.cpu_ns);
  }
  if (exit.signalled && exit.code == SIGKILL) exit.out_of_memory = killed_for_memory();
  if (auto used = files_.cpu.valid() ? cpu_time() : fail(ErrorCode::kUnsupported, "no clock"); used)
    exit.cpu_time = *used;
  return exit;
}

}  // namespace kw::sandbox
