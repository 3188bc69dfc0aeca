// Sandbox specifications of the roles (limits: gym_contract 25).
#include "gym/supervisor/roles.h"

#include <cerrno>

#include <fcntl.h>
#include <unistd.h>

#include "cuda/device_facts.h"

namespace kw::gym {
namespace {

constexpr std::uint64_t kGiB = 1ULL << 30U;
constexpr std::uint64_t kMiB = 1ULL << 20U;
constexpr std::uint64_t kDriverMemory = 4 * kGiB;  // of the host, for CUDA's driver and libraries

std::vector<std::pair<std::string, std::string>> thread_environment(int threads) {
  std::string count = std::to_string(threads);
  return {{"OMP_NUM_THREADS", count}, {"MKL_NUM_THREADS", count}, {"OMP_WAIT_POLICY", "passive"}};
}

// The nodes by which processes reach the driver: /dev/nvidiactl, /dev/nvidia-uvm, /dev/nvidia0 ...
// All are bound, because the driver opens them by numbers of its own.
std::vector<sandbox::Bind> gpu_nodes() {
  std::vector<sandbox::Bind> nodes;
  std::error_code error;
  for (std::filesystem::directory_iterator i("/dev", error), end; !error && i != end;
       i.increment(error)) {
    const std::string path = i->path().string();
    if (path.starts_with("/dev/nvidia") && i->is_character_file(error))
      nodes.push_back({path, path, true, true});
  }
  return nodes;
}

Result<os::UniqueFd> open_program(const std::filesystem::path& program) {
  os::UniqueFd fd(::open(program.c_str(), O_RDONLY | O_CLOEXEC));
  if (!fd.valid()) return fail_errno(errno, "cannot open " + program.string());
  return fd;
}

void add_gpus(sandbox::Spec& spec) {
  spec.binds = gpu_nodes();
  for (auto& variable : cuda::visibility_variables()) spec.environment.push_back(variable);
}

}  // namespace

Result<Json> RunningRole::add_to(OutgoingFds& fds, const std::string& prefix) {
  KW_TRY(sandbox::MonitorHandles handles, sandbox->monitor_handles());
  fds.add(prefix + "control", control.get());
  for (std::size_t i = 0; i < handles.fds.size(); ++i)
    fds.add(prefix + "monitor" + std::to_string(i), handles.fds[i].get());
  monitor_fds = std::move(handles.fds);
  return handles.description;
}

Result<RunningRole> Roles::start(Host host, sandbox::Spec spec) {
  RunningRole role;
  KW_TRY(os::SocketPair control, os::make_message_socket_pair());
  KW_TRY(os::Pipe log, os::make_pipe());
  spec.control = std::move(control.second);
  spec.log = std::move(log.write_end);
  role.control = std::move(control.first);
  role.log = logs_.add(std::move(log.read_end));
  KW_TRY(role.sandbox, launchers_.launch(host, std::move(spec)));
  return role;
}

Result<RunningRole> Roles::start_compiler() {
  sandbox::Spec spec;
  spec.argv = {"kernelwright-compiler"};
  return start_compiler(std::move(spec));
}

Result<RunningRole> Roles::start_device_compiler(const CudaToolchain& toolchain, bool warm) {
  sandbox::Spec spec;
  spec.argv = {"kernelwright-compiler"};
  if (warm) spec.argv.emplace_back("warm");
  const std::filesystem::path libraries = toolchain.nvrtc.parent_path();
  if (!libraries.empty()) spec.environment = {{"KW_CUDA_LIBRARIES", libraries.string()}};
  for (const std::filesystem::path& folder : {libraries, toolchain.include}) {
    // /usr is there in every sandbox.
    if (!folder.empty() && !folder.string().starts_with("/usr/"))
      spec.binds.push_back({folder.string(), folder.string()});
  }
  return start_compiler(std::move(spec));
}

Result<RunningRole> Roles::start_compiler(sandbox::Spec spec) {
  spec.role = "compiler";
  KW_TRY(os::UniqueFd program, open_program(programs_.compiler));
  spec.program_fd = program.get();
  spec.environment.emplace_back("PATH", "/usr/local/bin:/usr/bin:/bin");
  spec.environment.emplace_back("LANG", "C.UTF-8");
  spec.limits.memory_bytes = 4 * kGiB;
  spec.limits.processes = 16;
  spec.limits.work_bytes = 256 * kMiB;
  return start(Host::kNative, std::move(spec));
}

Result<RunningRole> Roles::start_triton_compiler() {
  return start_triton("triton_compiler");
}

Result<RunningRole> Roles::start_triton_recorder() {
  return start_triton("triton_recorder");
}

Result<RunningRole> Roles::start_triton(std::string role) {
  sandbox::Spec spec;
  spec.role = std::move(role);
  spec.environment = thread_environment(1);
  spec.environment.emplace_back("PATH", "/usr/local/bin:/usr/bin:/bin");  // Triton starts ptxas
  spec.limits.memory_bytes = 4 * kGiB;
  spec.limits.processes = 64;
  spec.limits.work_bytes = 256 * kMiB;
  return start(Host::kTritonCompiler, std::move(spec));
}

Result<RunningRole> Roles::start_oracle(const RoleLimits& limits) {
  sandbox::Spec spec;
  spec.role = "oracle";
  spec.environment = thread_environment(limits.threads);
  spec.limits.memory_bytes = limits.memory_bytes;
  spec.limits.processes = 64;
  if (limits.has_gpu) {
    spec.limits.memory_bytes += kDriverMemory;
    spec.limits.processes = 128;
    add_gpus(spec);
  }
  return start(Host::kTorch, std::move(spec));
}

Result<RunningRole> Roles::start_tracer(const RoleLimits& limits) {
  sandbox::Spec spec;
  spec.role = "tracer";
  spec.environment = thread_environment(limits.threads);
  spec.limits.memory_bytes = limits.memory_bytes;
  spec.limits.processes = 64;
  return start(Host::kTracer, std::move(spec));
}

Result<RunningRole> Roles::start_executor(Host host, const RoleLimits& limits,
                                          const std::vector<int>& cpus, bool may_compile) {
  sandbox::Spec spec;
  spec.role = "executor";
  spec.limits.memory_bytes = limits.memory_bytes;
  spec.limits.processes = may_compile ? 256 : 64;
  spec.cpus = cpus;
  spec.may_set_affinity = false;
  spec.environment = thread_environment(limits.threads);
  if (may_compile) spec.environment.emplace_back("PATH", "/usr/local/bin:/usr/bin:/bin");
  if (host == Host::kTritonInterpreter) spec.environment.emplace_back("TRITON_INTERPRET", "1");
  if (host != Host::kNative) return start(host, std::move(spec));
  spec.argv = {"kernelwright-executor"};
  KW_TRY(os::UniqueFd program, open_program(programs_.executor));
  spec.program_fd = program.get();
  return start(Host::kNative, std::move(spec));
}

Result<RunningRole> Roles::start_gpu_executor(Host host, const RoleLimits& limits,
                                              const std::vector<int>& cpus, bool may_compile) {
  sandbox::Spec spec;
  spec.role = "gpu_executor";
  spec.limits.memory_bytes = limits.memory_bytes + kDriverMemory;
  spec.limits.processes = may_compile ? 256 : 128;
  spec.cpus = cpus;
  spec.may_set_affinity = false;
  spec.environment = thread_environment(limits.threads);
  add_gpus(spec);
  if (may_compile) spec.environment.emplace_back("PATH", "/usr/local/bin:/usr/bin:/bin");
  if (host != Host::kNative) return start(host, std::move(spec));
  if (programs_.gpu_executor.empty())
    return fail(ErrorCode::kNotFound,
                "kernelwright-gpu-executor is not built: run ./kernelwright once, or cmake --build "
                "build/dev");
  spec.argv = {"kernelwright-gpu-executor"};
  KW_TRY(os::UniqueFd program, open_program(programs_.gpu_executor));
  spec.program_fd = program.get();
  return start(Host::kNative, std::move(spec));
}

}  // namespace kw::gym
