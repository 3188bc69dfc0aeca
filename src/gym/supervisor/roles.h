// Starts the hostile roles in their sandboxes: compiler, oracle, tracer, executor.
#pragma once
#include <memory>
#include <string>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "gym/compile/cuda_toolchain.h"
#include "gym/named_fds.h"
#include "gym/supervisor/launchers.h"
#include "gym/supervisor/programs.h"
#include "os/fd.h"
#include "sandbox/log_reader.h"
#include "sandbox/sandbox.h"

namespace kw::gym {

// A running role: killed and cleaned up on destruction. Move-only.
struct RunningRole {
  std::unique_ptr<sandbox::Sandbox> sandbox;
  os::UniqueFd control;               // our end of its fd 3
  std::shared_ptr<sandbox::Log> log;  // everything it wrote, bounded
  // Descriptors of add_to(), kept open until the message is sent.
  std::vector<os::UniqueFd> monitor_fds;

  // Adds control (prefix + "control") and monitor descriptors (prefix + "monitor0"...) to a
  // message; returns the monitor's description.
  Result<Json> add_to(OutgoingFds& fds, const std::string& prefix);
};

struct RoleLimits {
  std::uint64_t memory_bytes = 4ULL << 30U;
  int threads = 1;
  bool has_gpu = false;  // of an oracle: whether it sees the GPU's nodes
};

// Thread-safe.
class Roles {
 public:
  Roles(Launchers& launchers, const Programs& programs)
      : launchers_(launchers), programs_(programs) {}

  Result<RunningRole> start_compiler();
  // A compiler for device code that sees NVRTC. warm: it loads NVRTC and compiles a kernel of ours
  // before it waits for its request, for as long as it must.
  Result<RunningRole> start_device_compiler(const CudaToolchain& toolchain, bool warm);
  Result<RunningRole> start_triton_compiler();
  // It records what a Triton candidate launches, and compiles it.
  Result<RunningRole> start_triton_recorder();
  Result<RunningRole> start_oracle(const RoleLimits& limits);
  Result<RunningRole> start_tracer(const RoleLimits& limits);
  // host: not kTritonCompiler or kTracer. Pinned to `cpus`. may_compile: the executor runs
  // torch.compile's compiler, so it may start processes and needs the tool chain.
  Result<RunningRole> start_executor(Host host, const RoleLimits& limits,
                                     const std::vector<int>& cpus, bool may_compile);
  // An executor that sees the GPUs' device nodes. host: kNative launches plans, kTorch runs Python
  // on the GPU.
  Result<RunningRole> start_gpu_executor(Host host, const RoleLimits& limits,
                                         const std::vector<int>& cpus, bool may_compile);

 private:
  Result<RunningRole> start(Host host, sandbox::Spec spec);
  Result<RunningRole> start_compiler(sandbox::Spec spec);
  Result<RunningRole> start_triton(std::string role);
  Launchers& launchers_;
  const Programs& programs_;
  sandbox::LogReader logs_;
};

}  // namespace kw::gym
