#include "kernelwright/launch/kept_processes.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdint>
#include <memory>
#include <optional>
#include <utility>

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/backoff.h"
#include "base/check.h"
#include "os/fd.h"
#include "os/wait_status.h"

namespace kw::front {
namespace {

using Clock = std::chrono::steady_clock;
constexpr std::size_t kMaxLine = 4096;
constexpr int kNotStarted = 127;

// One process of the list, through all of its lives.
class Life {
 public:
  Life(const KeptProcess& process, const KeepingOptions& options)
      : process_(process), options_(options) {}
  ~Life() { kill_group(); }
  Life(const Life&) = delete;
  Life& operator=(const Life&) = delete;

  bool runs() const { return pid_ > 0; }
  const KeptProcess& process() const { return process_; }
  int pidfd() const { return pidfd_.get(); }
  int output() const { return output_.get(); }
  Clock::time_point due() const { return due_; }

  Status start() {
    KW_TRY(os::Pipe pipe, os::make_pipe());
    std::vector<char*> words;
    for (const std::string& word : process_.argv) words.push_back(const_cast<char*>(word.c_str()));
    words.push_back(nullptr);
    const pid_t parent = ::getpid();
    pid_ = ::fork();
    if (pid_ < 0) return fail_errno(errno, "cannot start " + process_.name);
    if (pid_ == 0) become(words, pipe.write_end.get(), parent);
    ::setpgid(pid_, pid_);  // whoever comes first: this, or the child itself
    pidfd_.reset(static_cast<int>(::syscall(SYS_pidfd_open, pid_, 0)));
    if (!pidfd_.valid()) return fail_errno(errno, "cannot open a pidfd");
    output_ = std::move(pipe.read_end);
    ::fcntl(output_.get(), F_SETFL, O_NONBLOCK);
    started_ = Clock::now();
    line_.clear();
    return {};
  }

  // Hands on the lines that are there.
  void read_lines() {
    std::array<char, 4096> buffer{};
    while (output_.valid()) {
      const ssize_t got = ::read(output_.get(), buffer.data(), buffer.size());
      if (got < 0 && errno == EINTR) continue;
      if (got == 0) output_.reset();
      if (got <= 0) return;
      for (const char c : std::string_view(buffer.data(), static_cast<std::size_t>(got))) {
        if (c == '\n') {
          was_ready_ = true;
          options_.on_line(process_, line_);
          line_.clear();
        } else if (line_.size() < kMaxLine) {
          line_ += c;
        }
      }
    }
  }

  // How it ended; nullopt while it runs.
  std::optional<int> reap() {
    int status = 0;
    if (::waitpid(pid_, &status, WNOHANG) != pid_) return std::nullopt;
    read_lines();
    output_.reset();
    pidfd_.reset();
    kill_group();  // what it may have left behind
    return status;
  }

  // After an end that nobody wanted: when it starts again.
  Status plan_start(int status) {
    const bool failed_at_once = Clock::now() - started_ < options_.healthy;
    failures_ = failed_at_once ? failures_ + 1 : 1;
    if (WIFEXITED(status) && WEXITSTATUS(status) == kNotStarted)
      return fail(ErrorCode::kNotFound, "{}: cannot start {}", process_.name, process_.argv[0]);
    if (process_.prints_when_ready && !was_ready_)
      return fail(ErrorCode::kUnavailable, "{} has ended with {}", process_.name,
                  os::ending_of(status));
    if (failures_ >= options_.most_failures)
      return fail(ErrorCode::kUnavailable, "{} has ended {} times in a row, the last time with {}",
                  process_.name, failures_, os::ending_of(status));
    const auto pause = doubled_delay(options_.first_pause, failures_, options_.longest_pause);
    due_ = Clock::now() + pause;
    options_.on_event(fmt::format("{} has ended ({}) and starts again in {:.1f} s", process_.name,
                                  os::ending_of(status),
                                  std::chrono::duration<double>(pause).count()));
    return {};
  }

  void ask_to_end() const {
    if (pid_ > 0) ::kill(pid_, SIGTERM);
  }

  void kill_group() {
    if (pid_ > 0) ::kill(-pid_, SIGKILL);
    if (pid_ > 0 && pidfd_.valid()) ::waitpid(pid_, nullptr, 0);
    pid_ = 0;
  }

 private:
  // In the child: calls that are safe after fork() alone.
  [[noreturn]] static void become(const std::vector<char*>& words, int output, pid_t parent) {
    ::setpgid(0, 0);
    ::prctl(PR_SET_PDEATHSIG, SIGTERM, 0, 0, 0);
    const int none = ::open("/dev/null", O_RDONLY);
    const bool fine = ::getppid() == parent && none >= 0 && ::dup2(none, STDIN_FILENO) >= 0 &&
                      ::dup2(output, STDOUT_FILENO) >= 0;
    if (fine) ::execv(words[0], words.data());
    ::_exit(kNotStarted);
  }

  const KeptProcess& process_;
  const KeepingOptions& options_;
  pid_t pid_ = 0;  // 0: does not run
  os::UniqueFd pidfd_, output_;
  std::string line_;  // that has not ended yet
  Clock::time_point started_, due_;
  int failures_ = 0;
  bool was_ready_ = false;  // in any of its lives
};

class Keeper {
 public:
  Keeper(const std::vector<KeptProcess>& processes, const KeepingOptions& options)
      : options_(options), wake_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
    KW_CHECK(wake_.valid());
    for (const KeptProcess& each : processes)
      lives_.push_back(std::make_unique<Life>(each, options_));
  }

  Status run(const std::stop_token& stop) {
    std::stop_callback wake(stop, [this] {
      const std::uint64_t one = 1;
      [[maybe_unused]] const auto written = ::write(wake_.get(), &one, sizeof one);
    });
    Status out;
    while (out && !stop.stop_requested()) out = step();
    end_all();
    return out;
  }

 private:
  // Starts what is due, waits for something to happen and looks at it.
  Status step() {
    Clock::time_point next = Clock::time_point::max();
    for (auto& life : lives_) {
      if (!life->runs() && life->due() <= Clock::now()) KW_TRY_STATUS(life->start());
      if (!life->runs()) next = std::min(next, life->due());
    }
    wait_until(next, true);
    for (auto& life : lives_) {
      if (!life->runs()) continue;
      life->read_lines();
      if (const std::optional<int> status = life->reap()) KW_TRY_STATUS(life->plan_start(*status));
    }
    return {};
  }

  void wait_until(Clock::time_point next, bool with_stop) {
    std::vector<pollfd> entries;
    if (with_stop) entries.push_back({wake_.get(), POLLIN, 0});
    for (const auto& life : lives_) {
      if (!life->runs()) continue;
      entries.push_back({life->pidfd(), POLLIN, 0});
      if (life->output() >= 0) entries.push_back({life->output(), POLLIN, 0});
    }
    int timeout = -1;
    if (next != Clock::time_point::max()) {
      const auto left = std::chrono::ceil<std::chrono::milliseconds>(next - Clock::now()).count();
      timeout = static_cast<int>(std::clamp<std::int64_t>(left, 0, 60000));
    }
    ::poll(entries.data(), entries.size(), timeout);
  }

  void end_all() {
    for (const auto& life : lives_) life->ask_to_end();
    const auto deadline = Clock::now() + options_.grace;
    const auto one_runs = [&] {
      return std::ranges::any_of(lives_, [](const auto& life) { return life->runs(); });
    };
    while (one_runs() && Clock::now() < deadline) {
      wait_until(deadline, false);
      for (auto& life : lives_) {
        if (!life->runs()) continue;
        life->read_lines();
        life->reap();
      }
    }
    for (auto& life : lives_) {
      if (!life->runs()) continue;
      options_.on_event(life->process().name + " does not end and is killed");
      life->kill_group();
    }
  }

  const KeepingOptions& options_;
  os::UniqueFd wake_;
  std::vector<std::unique_ptr<Life>> lives_;
};

}  // namespace

Status keep_running(const std::vector<KeptProcess>& processes, const KeepingOptions& options,
                    const std::stop_token& stop) {
  return Keeper(processes, options).run(stop);
}

}  // namespace kw::front
