#include "kernelwright/launch/slurm.h"

#include <filesystem>
#include <string>
#include <vector>

#include "base/text.h"
#include "kernelwright/error_text.h"
#include "kernelwright/launch/launch_folder.h"
#include "kernelwright/launch/sbatch.h"
#include "os/file.h"
#include "service/sqlite_storage.h"

namespace kw::front {
namespace fs = std::filesystem;
namespace {

constexpr std::chrono::seconds kSubmitTimeout{60};

Result<LaunchPaths> paths_of(const LaunchSlurmCommand& command, const Services& services) {
  LaunchPaths out = launch_paths(command.folder, services.program_folder / "kernelwright");
  if (command.data.empty()) return out;
  out.data = fs::absolute(command.data).lexically_normal();
  if (command.server_node.empty())
    return fail(ErrorCode::kInvalidArgument,
                "--data needs --server-node NODE: a server that is requeued elsewhere would not "
                "find its tasks");
  return out;
}

// The job's number.
Result<std::string> submit(const fs::path& script, const Services& services) {
  auto done = services.tools.run({"sbatch", "--parsable", script.string()}, kSubmitTimeout);
  if (!done)
    return tl::unexpected(std::move(done).error().with_context("sbatch, a program of Slurm"));
  if (done->exit_code != 0)
    return fail(ErrorCode::kUnavailable, "sbatch {} has failed with exit code {}: {}",
                script.string(), done->exit_code, one_line(done->out));
  // "17" or "17;cluster"
  return std::string(trim(done->out.substr(0, done->out.find(';'))));
}

// A file for sbatch, and what its jobs are.
struct Script {
  std::string name;
  std::string what;
  std::string text;
};

std::vector<Script> scripts_of(const LaunchSlurmCommand& command, const LaunchPaths& paths) {
  std::vector<Script> out = {
      {"server.sbatch", "the server", server_script(command, paths)},
      {"workers.sbatch", "its workers", worker_script(command, paths)},
  };
  if (!command.models.model.empty())
    out.push_back({"models.sbatch", "the model's servers", model_script(command, paths)});
  return out;
}

Status submit_all(const std::vector<Script>& scripts, const LaunchPaths& paths,
                  const Services& services) {
  std::vector<std::string> jobs, said;
  for (const Script& each : scripts) {
    auto job = submit(paths.folder / each.name, services);
    if (!job && said.empty()) return tl::unexpected(std::move(job).error());
    if (!job) return tl::unexpected(std::move(job).error().with_context(join(said, ", ")));
    jobs.push_back(*job);
    said.push_back(fmt::format("job {} is {}", *job, each.what));
  }
  KW_TRY_STATUS(services.console.out(join(jobs, " ") + "\n"));
  services.console.err(
      fmt::format("{}; logs are in {}\n"
                  "  export KERNELWRIGHT_API_KEY=$(cat {})\n"
                  "  kernelwright queue --server {}\n"
                  "  scancel {}\n",
                  join(said, ", "), paths.logs().string(), paths.token().string(),
                  paths.address().string(), join(jobs, " ")));
  return {};
}

}  // namespace

Result<int> run_launch_slurm(const LaunchSlurmCommand& given, const Services& services) {
  LaunchSlurmCommand command = given;
  if (!command.models.model.empty())
    command.models.model = fs::absolute(command.models.model).lexically_normal().string();
  KW_TRY(const LaunchPaths paths, paths_of(command, services));
  KW_TRY_STATUS(check_words(command, paths));
  const std::vector<Script> scripts = scripts_of(command, paths);
  if (command.print) {
    std::vector<std::string> texts;
    for (const Script& each : scripts) texts.push_back(each.text);
    KW_TRY_STATUS(services.console.out(join(texts, "\n")));
    return 0;
  }
  KW_TRY_STATUS(make_folder(paths.logs()));
  if (command.data.empty()) {
    auto usable = service::refuse_network_folder(paths.folder);
    if (!usable)
      return fail(ErrorCode::kInvalidArgument,
                  "--folder: {}: the tasks cannot lie there; give --data, a folder of a node's own "
                  "disk, and --server-node NODE",
                  usable.error().message());
  }
  KW_TRY_STATUS(make_tokens(paths));
  const fs::path out = command.out.empty() ? paths.folder : fs::path(command.out);
  KW_TRY_STATUS(make_folder(out));
  std::vector<std::string> files, commands;
  for (const Script& each : scripts) {
    const fs::path file = out / each.name;
    KW_TRY_STATUS(os::write_file_atomic(file, each.text));
    files.push_back(file.string());
    commands.push_back("sbatch " + file.string());
  }
  if (command.out.empty()) {
    KW_TRY_STATUS(submit_all(scripts, paths, services));
    return 0;
  }
  KW_TRY_STATUS(services.console.out(join(files, "\n") + "\n"));
  services.console.err(fmt::format("nothing is submitted; {} do that\n", join(commands, " and ")));
  return 0;
}

}  // namespace kw::front
