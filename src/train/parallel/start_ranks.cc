#include "train/parallel/start_ranks.h"

#include <cerrno>
#include <csignal>
#include <system_error>
#include <vector>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "os/fd.h"

namespace kw::train {
namespace {

constexpr int kMaxHere = 512;
constexpr useconds_t kLook = 20'000;

// The socket is rank 0's, so nobody else can take the port meanwhile.
Result<os::UniqueFd> listen_here(Launch& launch) {
  os::UniqueFd out(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  auto* const plain = reinterpret_cast<sockaddr*>(&address);
  if (!out.valid() || ::bind(out.get(), plain, size) != 0 ||
      ::listen(out.get(), launch.size) != 0 || ::getsockname(out.get(), plain, &size) != 0)
    return fail(ErrorCode::kResourceExhausted, "no port of 127.0.0.1 for the ranks: {}",
                std::generic_category().message(errno));
  launch.address = "127.0.0.1";
  launch.port = ntohs(address.sin_port);
  return out;
}

int exit_status(int status) {
  return WIFEXITED(status) ? WEXITSTATUS(status) : 2;
}

}  // namespace

Result<int> start_ranks(int count, const std::atomic<bool>& stop,
                        const std::function<int(const Launch&)>& run) {
  if (count < 1 || count > kMaxHere)
    return fail(ErrorCode::kInvalidArgument, "--ranks: expected 1 to {}, not {}", kMaxHere, count);
  Launch launch;
  launch.size = launch.local_size = count;
  KW_TRY(os::UniqueFd listener, listen_here(launch));
  std::vector<pid_t> running;
  const pid_t parent = ::getpid();
  for (int rank = 0; rank < count; ++rank) {
    const pid_t child = ::fork();
    if (child == 0) {
      ::prctl(PR_SET_PDEATHSIG, SIGKILL);
      if (::getppid() != parent) ::_exit(2);
      launch.rank = launch.local_rank = rank;
      if (rank == 0)
        launch.listener = listener.release();
      else
        listener.reset();
      std::exit(run(launch));  // NOLINT(concurrency-mt-unsafe): flushes what was printed
    }
    if (child < 0) {
      const int error = errno;
      for (const pid_t one : running) ::kill(one, SIGKILL);
      for (const pid_t one : running) ::waitpid(one, nullptr, 0);
      return fail(ErrorCode::kResourceExhausted, "rank {} cannot be started: {}", rank,
                  std::generic_category().message(error));
    }
    running.push_back(child);
  }
  listener.reset();
  int out = 0;
  for (bool told = false; !running.empty();) {
    if (stop && !told) {
      told = true;
      for (const pid_t one : running) ::kill(one, SIGTERM);
    }
    int status = 0;
    const pid_t ended = ::waitpid(-1, &status, WNOHANG);
    if (ended <= 0) {
      ::usleep(kLook);
      continue;
    }
    if (out == 0) out = exit_status(status);
    std::erase(running, ended);
  }
  return out;
}

}  // namespace kw::train
