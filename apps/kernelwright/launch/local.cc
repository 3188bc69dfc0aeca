#include "kernelwright/launch/local.h"

#include <filesystem>
#include <string>
#include <vector>

#include "kernelwright/launch/kept_service.h"
#include "kernelwright/launch/launch_folder.h"
#include "kernelwright/launch/model_servers.h"

namespace kw::front {
namespace fs = std::filesystem;
namespace {

constexpr int kModelGrace = 15;  // seconds, less than processes have before they are killed

std::vector<KeptProcess> processes_of(const LaunchLocalCommand& command, const Services& services) {
  const std::string program = (services.program_folder / "kernelwright-service").string();
  const std::string address = (fs::path(command.data) / "server.json").string();
  KeptProcess server{
      kServerProcess,
      {program, "serve", "--data", command.data, "--port", std::to_string(command.port), "--lease",
       fmt::format("{}", command.lease_seconds), "--address-file", address},
      true};
  if (!command.tokens.empty()) server.argv.insert(server.argv.end(), {"--tokens", command.tokens});
  std::vector<KeptProcess> out = {std::move(server)};
  for (int i = 1; i <= command.workers; ++i) {
    const std::string name = fmt::format("worker-{}", i);
    out.push_back({name,
                   {program, "worker", "--server", address, "--name", name, "--jobs",
                    std::to_string(command.jobs), "--isolation-at-least", command.isolation,
                    "--state", (fs::path(command.data) / (name + ".json")).string()},
                   false});
  }
  if (command.models.model.empty()) return out;
  const std::string model_program = (services.program_folder / "kernelwright-model").string();
  for (int i = 1; i <= command.models.count; ++i) {
    KeptProcess model{fmt::format("model-{}", i),
                      {model_program, "serve-model", "--port", "0", "--address-file",
                       model_address(command.data, i).string()},
                      true};
    const std::vector<std::string> words = model_words(command.models, kModelGrace);
    model.argv.insert(model.argv.end(), words.begin(), words.end());
    out.push_back(std::move(model));
  }
  return out;
}

}  // namespace

Result<int> run_launch_local(const LaunchLocalCommand& command, const Services& services) {
  auto made = make_folder(command.data);
  if (!made) return tl::unexpected(std::move(made).error().with_context("--data"));
  const int models = command.models.model.empty() ? 0 : command.models.count;
  const std::string more = models > 0 ? fmt::format(", {} of a model", models) : "";
  services.console.err(
      fmt::format("a server and {} workers{}; Ctrl-C ends them\n", command.workers, more));
  return keep_service(processes_of(command, services), services);
}

}  // namespace kw::front
