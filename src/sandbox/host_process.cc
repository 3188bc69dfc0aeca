// Starting a host by posix_spawn; requests and replies.
#include "sandbox/host_process.h"

#include <csignal>

#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "base/text.h"
#include "sandbox/syscalls.h"

namespace kw::sandbox {
namespace {

constexpr auto kSpawnLimit = std::chrono::minutes(2);
constexpr auto kEndLimit = std::chrono::seconds(30);
constexpr int kSocketFd = 3;

struct SpawnSettings {
  posix_spawn_file_actions_t actions;
  posix_spawnattr_t attributes;
  SpawnSettings() {
    ::posix_spawn_file_actions_init(&actions);
    ::posix_spawnattr_init(&attributes);
  }
  SpawnSettings(const SpawnSettings&) = delete;
  ~SpawnSettings() {
    ::posix_spawn_file_actions_destroy(&actions);
    ::posix_spawnattr_destroy(&attributes);
  }
};

std::vector<char*> pointers(std::vector<std::string>& strings) {
  std::vector<char*> list;
  for (std::string& text : strings) list.push_back(text.data());
  list.push_back(nullptr);
  return list;
}

Result<pid_t> spawn_process(const HostCommand& command, int socket, int errors) {
  SpawnSettings settings;
  ::posix_spawn_file_actions_addopen(&settings.actions, 0, "/dev/null", O_RDONLY, 0);
  ::posix_spawn_file_actions_adddup2(&settings.actions, errors, 1);
  ::posix_spawn_file_actions_adddup2(&settings.actions, errors, 2);
  ::posix_spawn_file_actions_adddup2(&settings.actions, socket, kSocketFd);
  ::posix_spawn_file_actions_addclosefrom_np(&settings.actions, kSocketFd + 1);
  sigset_t none, all;
  ::sigemptyset(&none);
  ::sigfillset(&all);
  ::posix_spawnattr_setsigmask(&settings.attributes, &none);
  ::posix_spawnattr_setsigdefault(&settings.attributes, &all);
  ::posix_spawnattr_setflags(&settings.attributes,
                             POSIX_SPAWN_SETSID | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
  std::vector<std::string> arguments = command.argv, variables;
  for (const auto& [name, value] : command.environment) variables.push_back(name + "=" + value);
  pid_t pid = -1;
  int error = ::posix_spawn(&pid, arguments[0].c_str(), &settings.actions, &settings.attributes,
                            pointers(arguments).data(), pointers(variables).data());
  if (error != 0) return fail_errno(error, "cannot start " + arguments[0]);
  return pid;
}

}  // namespace

Result<std::unique_ptr<HostProcess>> HostProcess::start(const HostCommand& command,
                                                        const HostConfig& config) {
  if (command.argv.empty())
    return fail(ErrorCode::kInvalidArgument, "no program to start sandboxes from");
  KW_TRY(os::SocketPair sockets, os::make_message_socket_pair());
  os::UniqueFd errors(::memfd_create("host-errors", MFD_CLOEXEC));
  if (!errors.valid()) return fail_errno(errno, "cannot make a memory file");
  // Numbers that the child's own layout (0 to 3) does not overwrite before they are copied.
  os::UniqueFd socket(::fcntl(sockets.second.get(), F_DUPFD_CLOEXEC, 10));
  os::UniqueFd log(::fcntl(errors.get(), F_DUPFD_CLOEXEC, 10));
  if (!socket.valid() || !log.valid()) return fail_errno(errno, "cannot duplicate a descriptor");
  sockets.second.reset();
  KW_TRY(pid_t pid, spawn_process(command, socket.get(), log.get()));
  socket.reset();
  std::unique_ptr<HostProcess> host(
      new HostProcess(command.argv[0], pid, std::move(sockets.first), std::move(errors)));
  auto ready = os::send_message(host->socket_.get(), to_json(config),
                                {config.filter.get(), config.filter_no_affinity.get()});
  if (ready) ready = host->await_ready(command.start_limit);
  if (!ready) return tl::unexpected(host->with_last_words(std::move(ready).error()));
  return host;
}

Status HostProcess::await_ready(std::chrono::milliseconds limit) {
  KW_TRY(os::Message message, os::receive_message(socket_.get(), limit));
  if (message.body.contains("ready")) return {};
  return fail(ErrorCode::kUnsupported, message.body.value("error", "it does not start"));
}

Error HostProcess::with_last_words(Error error) const {
  const std::string words = last_words();
  return std::move(error).with_context(program_ + (words.empty() ? "" : " (" + words + ")"));
}

std::string HostProcess::last_words() const {
  constexpr off_t kTail = 2000;
  struct stat info{};
  if (::fstat(errors_.get(), &info) != 0) return "";
  std::string text(static_cast<std::size_t>(std::min(info.st_size, kTail)), '\0');
  ssize_t got =
      ::pread(errors_.get(), text.data(), text.size(), std::max<off_t>(0, info.st_size - kTail));
  text.resize(static_cast<std::size_t>(std::max<ssize_t>(0, got)));
  return printable(trim(text), kTail);
}

Result<Spawned> HostProcess::spawn(const InitRequest& request) {
  std::lock_guard guard(mutex_);
  auto reply = ask(request);
  if (!reply) return tl::unexpected(with_last_words(std::move(reply).error()));
  const Json& body = reply->body;
  if (body.contains("error"))
    return fail(ErrorCode::kInternal, "cannot start a sandbox: {}", body["error"].dump());
  if (reply->fds.size() != 1 || !body.contains("pid"))
    return fail(ErrorCode::kInternal, "the launcher's answer is not complete");
  return Spawned{body["pid"].get<pid_t>(), std::move(reply->fds[0])};
}

Result<os::Message> HostProcess::ask(const InitRequest& request) {
  KW_TRY_STATUS(os::send_message(socket_.get(), to_json(request), descriptors(request)));
  return os::receive_message(socket_.get(), kSpawnLimit);
}

HostProcess::~HostProcess() {
  socket_.reset();
  os::UniqueFd pidfd(sys_pidfd_open(pid_));
  pollfd entry{pidfd.get(), POLLIN, 0};
  int ended = ::poll(&entry, 1, static_cast<int>(std::chrono::milliseconds(kEndLimit).count()));
  if (ended <= 0) ::kill(pid_, SIGKILL);
  ::waitpid(pid_, nullptr, 0);
}

}  // namespace kw::sandbox
