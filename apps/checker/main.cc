// kernelwright-checker: the trusted judge of one workload. Talks to the supervisor on fd 3
// (docs/protocol.md), holds inputs, clock and verdict. Started by the supervisor with the cores it
// may use and, where candidates run on a GPU, the GPU's number and the descriptor of our kernels'
// machine code as arguments. Gives up root before it looks at anything of a candidate.
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>

#include <grp.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "base/log.h"
#include "base/step_times.h"
#include "base/text.h"
#include "gym/checker/hard_cases.h"
#include "gym/checker/server.h"
#include "gym/cuda/device_comparer.h"
#include "gym/cuda/device_memory.h"
#include "os/fd.h"
#include "os/urgent.h"

namespace {

// Not a uid of the pool that candidates get theirs from.
constexpr uid_t kCheckerUid = 60999;
constexpr int kControl = 3;
constexpr std::size_t kMaxKernels = 64ULL << 20U;

void pin_to(const std::string& cores) {
  if (cores.empty()) return;
  cpu_set_t set;
  CPU_ZERO(&set);
  for (const std::string& core : kw::split(cores, ','))
    CPU_SET(static_cast<std::size_t>(std::strtoul(core.c_str(), nullptr, 10)), &set);
  if (::sched_setaffinity(0, sizeof set, &set) != 0)
    std::perror("kernelwright-checker: sched_setaffinity");
}

// stays_urgent: it keeps the right to run ahead of ordinary programs.
bool give_up_root(bool stays_urgent) {
  if (::geteuid() != 0) return true;
  ::prctl(PR_SET_KEEPCAPS, 1, 0, 0, 0);
  return ::setgroups(0, nullptr) == 0 && ::setresgid(kCheckerUid, kCheckerUid, kCheckerUid) == 0 &&
         ::setresuid(kCheckerUid, kCheckerUid, kCheckerUid) == 0 &&
         kw::os::drop_capabilities(stays_urgent).has_value();
}

// No number: the processor. kernels: a descriptor; empty: none.
kw::Result<std::unique_ptr<kw::gym::Backend>> open_gpu(const std::string& number,
                                                       const std::string& kernels) {
  std::unique_ptr<kw::gym::Backend> backend;
  if (number.empty()) return backend;
  kw::StepTimes times;
  std::string machine_code;
  if (!kernels.empty()) {
    const kw::os::UniqueFd file(std::atoi(kernels.c_str()));
    KW_TRY(machine_code, kw::os::read_whole(file.get(), kMaxKernels));
  }
  kw::gym::ProcessBackendParts parts;
  parts.gpu_busy = std::make_unique<kw::gym::BusyTime>();
  KW_TRY(auto source,
         kw::gym::cuda_source(std::atoi(number.c_str()), machine_code, parts.gpu_busy.get()));
  auto allocator = std::make_unique<kw::gym::DeviceAllocator>(std::move(source));
  parts.comparer =
      std::make_unique<kw::gym::DeviceCallComparer>(allocator->source(), allocator->reports());
  parts.allocator = std::move(allocator);
  parts.kept_input_bytes = kw::gym::HardCases::kMaxKeptBytes;
  times.end("the checker's context on the GPU");
  kw::log::debug(times.text());
  return kw::gym::make_process_backend(std::move(parts));
}

}  // namespace

int main(int argc, char** argv) {
  const std::string cores = argc > 1 ? argv[1] : "";
  pin_to(cores);
  // Without cores of its own it would keep its executors from theirs.
  if (!give_up_root(!cores.empty())) {
    std::perror("kernelwright-checker: cannot give up root");
    return 2;
  }
  ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
  ::prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
  ::prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
  ::signal(SIGPIPE, SIG_IGN);
  auto gpu = open_gpu(argc > 2 ? argv[2] : "", argc > 3 ? argv[3] : "");
  kw::Result<kw::gym::Backend*> backend =
      !gpu ? kw::Result<kw::gym::Backend*>(tl::unexpected(gpu.error()))
           : (*gpu ? gpu->get() : &kw::gym::host_backend());
  if (auto served = kw::gym::serve_checker(kControl, backend); !served) {
    std::fprintf(stderr, "kernelwright-checker: %s\n", served.error().message().c_str());
    return 2;
  }
  return 0;
}
