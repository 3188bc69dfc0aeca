// Spawning and talking to kernelwright-checker.
#include "gym/supervisor/checker_process.h"

#include <array>
#include <cerrno>
#include <cstdlib>
#include <string>
#include <utility>
#include <vector>

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/text.h"
#include "cuda/device_facts.h"
#include "os/message.h"

namespace kw::gym {
namespace {

constexpr auto kStopPoll = std::chrono::milliseconds(100);
constexpr std::size_t kMaxAnswer = 256ULL << 20U;

std::string cpu_list(const std::vector<int>& cpus) {
  std::vector<std::string> parts;
  for (int cpu : cpus) parts.push_back(std::to_string(cpu));
  return join(parts, ",");
}

// The child's own numbers.
constexpr int kControlFd = 3, kKernelsFd = 4;

// A duplicate by way of which a descriptor gets a low number in the child: a dup2 onto itself would
// keep close-on-exec.
Result<os::UniqueFd> parked(int descriptor) {
  const int number = ::fcntl(descriptor, F_DUPFD_CLOEXEC, 100);
  if (number < 0) return fail_errno(errno, "cannot start the checker");
  return os::UniqueFd(number);
}

// A lease that is given back whatever happens.
class Held {
 public:
  explicit Held(ResourceLease& lease) : lease_(lease) {}
  Held(const Held&) = delete;
  Held& operator=(const Held&) = delete;
  ~Held() { give_back(); }

  Status acquire() {
    KW_TRY_STATUS(lease_.acquire());
    is_held_ = true;
    return {};
  }
  void give_back() {
    if (std::exchange(is_held_, false)) lease_.release();
  }

 private:
  ResourceLease& lease_;
  bool is_held_ = false;
};

}  // namespace

Result<std::unique_ptr<CheckerProcess>> CheckerProcess::start(const Options& options) {
  std::unique_ptr<CheckerProcess> process(new CheckerProcess);
  KW_TRY(os::SocketPair pair, os::make_message_socket_pair());
  std::string program = options.program.string();
  std::string cpus = cpu_list(options.cpus);
  std::string device = options.device ? std::to_string(*options.device) : "";
  std::string kernels = options.kernels >= 0 ? std::to_string(kKernelsFd) : "";
  std::array<char*, 5> argv = {program.data(), cpus.data(), device.data(), kernels.data(), nullptr};
  std::vector<std::string> variables;
  for (const auto& [name, value] : cuda::visibility_variables())
    variables.push_back(name + "=" + value);
  // NOLINTNEXTLINE(concurrency-mt-unsafe): nobody changes the environment
  if (const char* level = std::getenv("KW_LOG"))
    variables.push_back(std::string("KW_LOG=") + level);
  std::vector<char*> environment;
  for (std::string& variable : variables) environment.push_back(variable.data());
  environment.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  KW_TRY(os::UniqueFd child_end, parked(pair.second.get()));
  posix_spawn_file_actions_adddup2(&actions, child_end.get(), kControlFd);
  os::UniqueFd machine_code;
  if (options.kernels >= 0) {
    KW_TRY(machine_code, parked(options.kernels));
    posix_spawn_file_actions_adddup2(&actions, machine_code.get(), kKernelsFd);
  }
  posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
  int error = ::posix_spawn(&process->pid_, program.c_str(), &actions, nullptr, argv.data(),
                            environment.data());
  posix_spawn_file_actions_destroy(&actions);
  if (error != 0) return fail_errno(error, "cannot start " + program);
  process->socket_ = std::move(pair.first);
  return process;
}

std::unique_ptr<CheckerProcess> CheckerProcess::over(os::UniqueFd socket) {
  std::unique_ptr<CheckerProcess> process(new CheckerProcess);
  process->socket_ = std::move(socket);
  return process;
}

CheckerProcess::~CheckerProcess() {
  socket_.reset();
  if (pid_ <= 0) return;
  ::kill(pid_, SIGKILL);
  while (::waitpid(pid_, nullptr, 0) < 0 && errno == EINTR) {
  }
}

Status CheckerProcess::send(const CheckerRequest& request, const OutgoingFds& fds) {
  Json body = to_json(request);
  body["fds"] = fds.names();
  auto sent = os::send_message(socket_.get(), body, fds.fds());
  if (!sent) return tl::unexpected(std::move(sent).error().with_context("the checker"));
  return {};
}

Result<CheckerAnswer> CheckerProcess::any_answer(ResourceLease& lease,
                                                 const std::stop_token& stop) {
  Held held(lease);
  while (true) {
    if (stop.stop_requested()) return fail(ErrorCode::kCancelled, "stopped");
    auto message = os::receive_message(socket_.get(), kStopPoll);
    if (!message && message.error().code() == ErrorCode::kDeadlineExceeded) continue;
    if (!message) return tl::unexpected(std::move(message).error().with_context("the checker"));
    KW_TRY(Signal signal, signal_from_json(message->body));
    if (signal == Signal::kLease) {
      KW_TRY_STATUS(held.acquire());
      KW_TRY_STATUS(os::send_message(socket_.get(), to_json(Signal::kGranted)));
    } else if (signal == Signal::kRelease) {
      held.give_back();
    } else if (signal == Signal::kAnswer && message->fds.size() == 1) {
      held.give_back();
      KW_TRY(std::string text, os::read_whole(message->fds[0].get(), kMaxAnswer));
      KW_TRY(Json body, parse_json(text));
      return checker_answer_from_json(std::move(body));
    } else {
      return fail(ErrorCode::kInternal, "the checker sent \"{}\" out of turn", to_string(signal));
    }
  }
}

}  // namespace kw::gym
