#include "kernelwright/launch/local.h"

#include <filesystem>
#include <string>
#include <vector>

#include "kernelwright/launch/kept_processes.h"

namespace kw::front {
namespace fs = std::filesystem;
namespace {

constexpr const char* kServer = "server";

std::vector<KeptProcess> processes_of(const LaunchLocalCommand& command, const Services& services) {
  const std::string program = (services.program_folder / "kernelwright-service").string();
  const std::string address = (fs::path(command.data) / "server.json").string();
  KeptProcess server{
      kServer,
      {program, "serve", "--data", command.data, "--port", std::to_string(command.port), "--lease",
       fmt::format("{}", command.lease_seconds), "--address-file", address},
      true};
  if (!command.tokens.empty()) server.argv.insert(server.argv.end(), {"--tokens", command.tokens});
  std::vector<KeptProcess> out = {std::move(server)};
  for (int i = 1; i <= command.workers; ++i) {
    const std::string name = fmt::format("worker-{}", i);
    out.push_back({name,
                   {program, "worker", "--server", address, "--name", name, "--jobs",
                    std::to_string(command.jobs), "--isolation-at-least", command.isolation},
                   false});
  }
  return out;
}

}  // namespace

Result<int> run_launch_local(const LaunchLocalCommand& command, const Services& services) {
  Console& console = services.console;
  std::error_code failed;
  fs::create_directories(command.data, failed);
  if (failed)
    return fail(ErrorCode::kInvalidArgument, "--data: cannot make {}: {}", command.data,
                failed.message());
  console.err(fmt::format("a server and {} workers; Ctrl-C ends them\n", command.workers));
  KeepingOptions options;
  options.on_event = [&](std::string_view text) { console.err(fmt::format("{}\n", text)); };
  // The one line that a server prints is its URL.
  Status printed;
  options.on_line = [&](const KeptProcess& process, std::string_view line) {
    if (process.name == kServer) printed = console.out(fmt::format("{}\n", line));
  };
  KW_TRY_STATUS(keep_running(processes_of(command, services), options, services.stop));
  KW_TRY_STATUS(printed);
  return 0;
}

}  // namespace kw::front
