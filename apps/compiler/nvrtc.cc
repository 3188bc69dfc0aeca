#include "nvrtc.h"

#include <cerrno>

#include <sys/wait.h>
#include <unistd.h>

#include "cuda/program.h"
#include "os/fd.h"
#include "os/file.h"

namespace kw::compiler {
namespace {

constexpr std::size_t kMaxSource = 16ULL << 20U;

void say(std::string_view text) {
  std::ignore = os::write_all(2, text);
}

int compile(const std::vector<std::string>& words) {
  const std::string& source = words.back();
  const std::string& target = words[words.size() - 2];
  auto text = os::read_file(source, kMaxSource);
  if (!text) {
    say(text.error().message() + "\n");
    return 2;
  }
  auto run = cuda::run_nvrtc(source, *text, {words.begin() + 1, words.end() - 3});
  if (!run) {
    say(run.error().message() + "\n");
    return 2;
  }
  say(run->log);
  const auto& cubin = run->cubin;
  if (!cubin) return 1;
  if (auto written = os::write_file_atomic(target, *cubin); !written) {
    say(written.error().message() + "\n");
    return 2;
  }
  return 0;
}

}  // namespace

void warm_nvrtc() {
  std::ignore =
      cuda::run_nvrtc("warm.cu", "extern \"C\" __global__ void kw_warm(float* x) { x[0] = 1; }",
                      {"--gpu-architecture=sm_90", "--std=c++17"});
}

Result<int> run_nvrtc_command(const std::vector<std::string>& words) {
  if (words.size() < 4 || words[words.size() - 3] != "-o")
    return fail(ErrorCode::kInvalidArgument, "nvrtc: expected OPTIONS -o CUBIN SOURCE");
  const pid_t pid = ::fork();
  if (pid < 0) return fail_errno(errno, "cannot start NVRTC");
  if (pid == 0) ::_exit(compile(words));
  int status = 0;
  while (::waitpid(pid, &status, 0) < 0) {
    if (errno != EINTR) return fail_errno(errno, "cannot wait for NVRTC");
  }
  return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

}  // namespace kw::compiler
