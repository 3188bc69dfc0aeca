#include "kernelwright/launch/ray.h"

#include <string>

#include "base/text.h"
#include "kernelwright/cli/settings.h"
#include "kernelwright/error_text.h"
#include "kernelwright/launch/kept_service.h"

namespace kw::front {
namespace fs = std::filesystem;
namespace {

constexpr std::chrono::seconds kLookTimeout{60};

// Before anything is started: whether this Python has Ray, and reaches the cluster.
Status look_at_cluster(const LaunchRayCommand& command, const fs::path& script,
                       const Services& services) {
  auto done = services.tools.run(
      {command.python, script.string(), "--address", command.address, "--look"}, kLookTimeout);
  if (!done) return tl::unexpected(std::move(done).error().with_context("--python"));
  if (done->exit_code != 0)
    return fail(ErrorCode::kUnsupported, "--python {}: {}", command.python, one_line(done->out));
  services.console.err(done->out);
  return {};
}

KeptProcess server_process(const LaunchRayCommand& command, const LaunchPaths& paths) {
  KeptProcess out{
      kServerProcess,
      {paths.program.string(), "serve", "--data", paths.data.string(), "--host", command.host,
       "--port", std::to_string(command.port), "--tokens", paths.tokens().string(), "--lease",
       fmt::format("{}", command.lease_seconds), "--address-file", paths.address().string()},
      true};
  const auto add = [&out](std::vector<std::string> words) {
    out.argv.insert(out.argv.end(), words.begin(), words.end());
  };
  if (!command.public_name.empty()) add({"--public-name", command.public_name});
  if (command.tls_certificate.empty()) {
    add({"--self-signed"});
  } else {
    add({"--tls-certificate", command.tls_certificate, "--tls-key", command.tls_key});
  }
  return out;
}

}  // namespace

Result<std::vector<KeptProcess>> ray_processes(const LaunchRayCommand& command,
                                               const LaunchPaths& paths, const fs::path& script) {
  auto memory = parse_bytes(command.memory);
  if (!memory) return tl::unexpected(std::move(memory).error().with_context("--memory"));
  KeptProcess workers{"workers",
                      {command.python, script.string(), "--address", command.address, "--workers",
                       std::to_string(command.workers), "--cpus", std::to_string(command.cpus),
                       "--gpus", std::to_string(command.gpus), "--memory", std::to_string(*memory),
                       "--server", paths.address().string(), "--token", paths.token().string()},
                      false};
  if (!paths.python.empty())
    workers.argv.insert(workers.argv.end(), {"--env", "KW_PYTHON=" + paths.python.string()});
  workers.argv.insert(workers.argv.end(),
                      {"--", paths.program.string(), "worker", "--jobs",
                       std::to_string(command.jobs), "--isolation-at-least", command.isolation});
  return std::vector{server_process(command, paths), std::move(workers)};
}

Result<int> run_launch_ray(const LaunchRayCommand& command, const Services& services) {
  const LaunchPaths paths =
      launch_paths(command.folder, services.program_folder / "kernelwright-service");
  const fs::path script = find_checkout(services.program_folder) / "python" / "ray_workers.py";
  KW_TRY(const std::vector<KeptProcess> processes, ray_processes(command, paths, script));
  KW_TRY_STATUS(look_at_cluster(command, script, services));
  KW_TRY_STATUS(make_folder(paths.data));
  KW_TRY_STATUS(make_tokens(paths));
  services.console.err(
      fmt::format("a server, and {} workers as actors; Ctrl-C ends them\n"
                  "  export KERNELWRIGHT_API_KEY=$(cat {})\n"
                  "  kernelwright queue --server {}\n",
                  command.workers, paths.token().string(), paths.address().string()));
  return keep_service(processes, services);
}

}  // namespace kw::front
