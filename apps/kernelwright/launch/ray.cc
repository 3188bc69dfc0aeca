#include "kernelwright/launch/ray.h"

#include <string>

#include "base/text.h"
#include "kernelwright/cli/settings.h"
#include "kernelwright/error_text.h"
#include "kernelwright/launch/kept_service.h"
#include "kernelwright/launch/model_servers.h"

namespace kw::front {
namespace fs = std::filesystem;
namespace {

constexpr std::chrono::seconds kLookTimeout{60};
constexpr int kActorGrace = 12;  // seconds, less than ray_actors.py gives its programs

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

// Ray keeps so much free for each actor.
struct Room {
  const char* memory_option;
  int count, cpus, gpus;
  std::string memory;
};

Result<KeptProcess> keeper(const LaunchRayCommand& command, const LaunchPaths& paths,
                           const fs::path& script, const char* name, const Room& room) {
  auto memory = parse_bytes(room.memory);
  if (!memory) return tl::unexpected(std::move(memory).error().with_context(room.memory_option));
  return KeptProcess{name,
                     {command.python, script.string(), "--address", command.address, "--count",
                      std::to_string(room.count), "--cpus", std::to_string(room.cpus), "--gpus",
                      std::to_string(room.gpus), "--memory", std::to_string(*memory), "--token",
                      paths.token().string()},
                     false};
}

void add_words(KeptProcess& to, const std::vector<std::string>& words) {
  to.argv.insert(to.argv.end(), words.begin(), words.end());
}

}  // namespace

Result<std::vector<KeptProcess>> ray_processes(const LaunchRayCommand& command,
                                               const LaunchPaths& paths,
                                               const RayPrograms& programs) {
  std::vector<KeptProcess> out = {server_process(command, paths)};
  KW_TRY(KeptProcess workers,
         keeper(command, paths, programs.script, "workers",
                {"--memory", command.workers, command.cpus, command.gpus, command.memory}));
  add_words(workers, {"--server", paths.address().string()});
  if (!paths.python.empty()) add_words(workers, {"--env", "KW_PYTHON=" + paths.python.string()});
  add_words(workers, {"--", paths.program.string(), "worker", "--jobs",
                      std::to_string(command.jobs), "--isolation-at-least", command.isolation});
  out.push_back(std::move(workers));
  const ModelServers& models = command.models;
  KW_TRY(KeptProcess servers, keeper(command, paths, programs.script, "models",
                                     {"--model-memory", models.count, command.model_cpus,
                                      command.model_gpus, command.model_memory}));
  if (models.model.empty()) return out;
  add_words(servers, {"--addresses", paths.folder.string(), "--", programs.model_server.string(),
                      "serve-model"});
  add_words(servers, model_words(models, kActorGrace));
  out.push_back(std::move(servers));
  return out;
}

Result<int> run_launch_ray(const LaunchRayCommand& given, const Services& services) {
  LaunchRayCommand command = given;
  const bool has_models = !command.models.model.empty();
  if (has_models)
    command.models.model = fs::absolute(command.models.model).lexically_normal().string();
  const LaunchPaths paths =
      launch_paths(command.folder, services.program_folder / "kernelwright-service");
  const RayPrograms programs{
      find_checkout(services.program_folder) / "python" / "ray_actors.py",
      services.program_folder / "kernelwright-model",
  };
  KW_TRY(const std::vector<KeptProcess> processes, ray_processes(command, paths, programs));
  KW_TRY_STATUS(look_at_cluster(command, programs.script, services));
  KW_TRY_STATUS(make_folder(paths.data));
  KW_TRY_STATUS(make_tokens(paths));
  const std::string more =
      has_models ? fmt::format(" and {} servers of a model", command.models.count) : "";
  services.console.err(
      fmt::format("a server, and {} workers{} as actors; Ctrl-C ends them\n"
                  "  export KERNELWRIGHT_API_KEY=$(cat {})\n"
                  "  kernelwright queue --server {}\n",
                  command.workers, more, paths.token().string(), paths.address().string()));
  return keep_service(processes, services);
}

}  // namespace kw::front
