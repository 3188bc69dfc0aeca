#include "kernelwright/launch/slurm.h"

#include <filesystem>
#include <string>

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

Status submit_both(const fs::path& server, const fs::path& workers, const LaunchPaths& paths,
                   const Services& services) {
  KW_TRY(const std::string server_job, submit(server, services));
  auto worker_job = submit(workers, services);
  if (!worker_job)
    return tl::unexpected(std::move(worker_job)
                              .error()
                              .with_context(fmt::format("the server is job {}", server_job)));
  KW_TRY_STATUS(services.console.out(fmt::format("{} {}\n", server_job, *worker_job)));
  services.console.err(
      fmt::format("job {} is the server, job {} its workers; logs are in {}\n"
                  "  export KERNELWRIGHT_API_KEY=$(cat {})\n"
                  "  kernelwright queue --server {}\n"
                  "  scancel {} {}\n",
                  server_job, *worker_job, paths.logs().string(), paths.token().string(),
                  paths.address().string(), server_job, *worker_job));
  return {};
}

}  // namespace

Result<int> run_launch_slurm(const LaunchSlurmCommand& command, const Services& services) {
  KW_TRY(const LaunchPaths paths, paths_of(command, services));
  KW_TRY_STATUS(check_words(command, paths));
  const std::string server = server_script(command, paths);
  const std::string workers = worker_script(command, paths);
  if (command.print) {
    KW_TRY_STATUS(services.console.out(server + "\n" + workers));
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
  const fs::path server_file = out / "server.sbatch", worker_file = out / "workers.sbatch";
  KW_TRY_STATUS(os::write_file_atomic(server_file, server));
  KW_TRY_STATUS(os::write_file_atomic(worker_file, workers));
  if (command.out.empty()) {
    KW_TRY_STATUS(submit_both(server_file, worker_file, paths, services));
    return 0;
  }
  KW_TRY_STATUS(
      services.console.out(fmt::format("{}\n{}\n", server_file.string(), worker_file.string())));
  services.console.err(fmt::format("nothing is submitted; sbatch {} and sbatch {} do that\n",
                                   server_file.string(), worker_file.string()));
  return 0;
}

}  // namespace kw::front
