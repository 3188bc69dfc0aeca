#include "kernelwright/cli/launch_command_line.h"

#include <array>
#include <string_view>

#include "base/text.h"
#include "kernelwright/cli/help_text.h"

namespace kw::front {
namespace {

constexpr const char* kJobsHelp = "judgements in flight of each; timing is never parallel";
constexpr const char* kServerCertificateHelp =
    "PEM; without it the server makes one, which server.json has";

void add_models(CLI::App& l, ModelServers& models) {
  const char* const group = "Model servers";
  text(l, "--model", models.model, "DIR", "Hugging Face folder that they serve; without it none")
      ->group(group);
  number(l, "--model-servers", models.count, "N", "with model-1.json and so on beside server.json")
      ->group(group);
  l.add_option("--model-option", models.options,
               "of serve-model, --model-option=--device=cuda; may be given again")
      ->type_name("OPTION")
      ->allow_extra_args(false)
      ->group(group);
}

void add_local(CLI::App& launch, LaunchLocalCommand& local, const AddCommand& add) {
  CLI::App& l = *add(
      launch, "local", "as processes of this machine", [&local] { return local; },
      kLaunchLocalFooter);
  text(l, "--data", local.data, "DIR", "folder of the tasks and of server.json")->required();
  number(l, "--workers", local.workers, "N", "processes that judge");
  number(l, "--jobs", local.jobs, "N", kJobsHelp);
  number(l, "--port", local.port, "N", "0: any free one");
  text(l, "--tokens", local.tokens, "FILE",
       "as for serve; that of the workers stands in KERNELWRIGHT_API_KEY");
  number(l, "--lease", local.lease_seconds, "S", "as for serve");
  add_isolation(l, local.isolation);
  add_models(l, local.models);
}

void add_jobs(CLI::App& s, LaunchSlurmCommand& slurm) {
  const char* const group = "Jobs";
  text(s, "--partition", slurm.partition, "NAME", "without it the cluster's default")->group(group);
  text(s, "--account", slurm.account, "NAME", "without it yours")->group(group);
  text(s, "--time", slurm.time, "T", "limit of a job, which then starts again")->group(group);
  number(s, "--drain", slurm.drain_seconds, "S", "to stop before the limit")->group(group);
  s.add_option("--sbatch", slurm.sbatch, "another option, --sbatch=--qos=high; may be given again")
      ->type_name("OPTION")
      ->allow_extra_args(false)
      ->group(group);
}

void add_workers(CLI::App& s, LaunchSlurmCommand& slurm) {
  const char* const group = "Workers";
  number(s, "--workers", slurm.workers, "N", "jobs of one array")->group(group);
  number(s, "--jobs", slurm.jobs, "N", kJobsHelp)->group(group);
  number(s, "--cpus", slurm.cpus, "N", "of each")->group(group);
  text(s, "--memory", slurm.memory, "SIZE", "of each")->group(group);
  text(s, "--gres", slurm.gres, "WORD", "of each, gpu:1 for example")->group(group);
  add_isolation(s, slurm.isolation)->group(group);
}

void add_server_job(CLI::App& s, LaunchSlurmCommand& slurm) {
  const char* const group = "Server";
  number(s, "--server-cpus", slurm.server_cpus, "N", "of its job")->group(group);
  text(s, "--server-memory", slurm.server_memory, "SIZE", "of its job")->group(group);
  text(s, "--server-node", slurm.server_node, "NODE", "the only one where it runs")->group(group);
  text(s, "--data", slurm.data, "DIR",
       "folder of the tasks, on the disk of --server-node; without it tasks in --folder")
      ->group(group);
  number(s, "--port", slurm.port, "N", "0: any free one")->group(group);
  text(s, "--tls-certificate", slurm.tls_certificate, "FILE", kServerCertificateHelp)->group(group);
  text(s, "--tls-key", slurm.tls_key, "FILE", "PEM")->group(group);
}

void add_slurm(CLI::App& launch, LaunchSlurmCommand& slurm, const AddCommand& add) {
  CLI::App& s = *add(
      launch, "slurm", "as jobs of a cluster with Slurm", [&slurm] { return slurm; },
      kLaunchSlurmFooter);
  text(s, "--folder", slurm.folder, "DIR",
       "that all nodes share: for server.json, tokens, logs and the sbatch files")
      ->required();
  text(s, "--out", slurm.out, "DIR", "write the sbatch files there and submit nothing");
  flag(s, "--print", slurm.print, "print the sbatch files, and write and submit nothing");
  text(s, "--name", slurm.name, "NAME", "of the jobs");
  add_jobs(s, slurm);
  add_workers(s, slurm);
  add_server_job(s, slurm);
  add_models(s, slurm.models);
  const char* const group = "Model servers";
  number(s, "--model-cpus", slurm.model_cpus, "N", "of each")->group(group);
  text(s, "--model-memory", slurm.model_memory, "SIZE", "of each")->group(group);
  text(s, "--model-gres", slurm.model_gres, "WORD", "of each, gpu:1 for example")->group(group);
}

void add_ray(CLI::App& launch, LaunchRayCommand& ray, const AddCommand& add) {
  CLI::App& r = *add(
      launch, "ray", "a server here, workers and model servers as actors of a Ray cluster",
      [&ray] { return ray; }, kLaunchRayFooter);
  text(r, "--folder", ray.folder, "DIR", "of this machine: for tasks, tokens and server.json")
      ->required();
  text(r, "--ray-address", ray.address, "ADDRESS", "of the cluster; auto: this machine's");
  text(r, "--python", ray.python, "PROGRAM", "that has Ray, as the cluster has it");
  const char* const workers = "Workers";
  number(r, "--workers", ray.workers, "N", "actors")->group(workers);
  number(r, "--jobs", ray.jobs, "N", kJobsHelp)->group(workers);
  number(r, "--cpus", ray.cpus, "N", "of each")->group(workers);
  number(r, "--gpus", ray.gpus, "N", "of each")->group(workers);
  text(r, "--memory", ray.memory, "SIZE", "of each")->group(workers);
  add_isolation(r, ray.isolation)->group(workers);
  add_models(r, ray.models);
  const char* const models = "Model servers";
  number(r, "--model-cpus", ray.model_cpus, "N", "of each")->group(models);
  number(r, "--model-gpus", ray.model_gpus, "N", "of each")->group(models);
  text(r, "--model-memory", ray.model_memory, "SIZE", "of each")->group(models);
  const char* const server = "Server";
  text(r, "--host", ray.host, "ADDRESS", "to listen on")->group(server);
  number(r, "--port", ray.port, "N", "0: any free one")->group(server);
  text(r, "--public-name", ray.public_name, "NAME",
       "by which the nodes know this machine; without it the host's name or --host")
      ->group(server);
  number(r, "--lease", ray.lease_seconds, "S", "as for serve")->group(server);
  text(r, "--tls-certificate", ray.tls_certificate, "FILE", kServerCertificateHelp)->group(server);
  text(r, "--tls-key", ray.tls_key, "FILE", "PEM")->group(server);
}

Status check_level(const std::string& word) {
  auto level = parse_level(word);
  if (!level) return tl::unexpected(std::move(level).error().with_context("--isolation-at-least"));
  return {};
}

Status check_tls_files(const std::string& certificate, const std::string& key) {
  if (certificate.empty() == key.empty()) return {};
  return fail(ErrorCode::kInvalidArgument, "--tls-certificate and --tls-key go together");
}

constexpr std::array<std::string_view, 10> kOwnModelOptions = {
    "--model",       "--host",    "--port",  "--address-file",    "--public-name",
    "--self-signed", "--tls-key", "--grace", "--tls-certificate", "--api-key"};

// A launch sets some options itself.
Status check_models(const ModelServers& models) {
  KW_TRY_STATUS(check_range("--model-servers", models.count, 1, 1000));
  if (models.model.empty() && !models.options.empty())
    return fail(ErrorCode::kInvalidArgument, "--model-option needs --model DIR");
  for (const std::string& each : models.options) {
    const std::string_view name = std::string_view(each).substr(0, each.find('='));
    if (!name.starts_with("--") || name.size() < 3)
      return fail(ErrorCode::kInvalidArgument,
                  "--model-option: \"{}\" is no option of serve-model, such as --device=cuda",
                  printable(each, 100));
    for (std::string_view own : kOwnModelOptions)
      if (name == own)
        return fail(ErrorCode::kInvalidArgument, "--model-option: launch sets {} itself", name);
  }
  return {};
}

Status check_local(const LaunchLocalCommand& local) {
  KW_TRY_STATUS(check_range("--workers", local.workers, 0, 1024));
  KW_TRY_STATUS(check_range("--jobs", local.jobs, 1, 1024));
  KW_TRY_STATUS(check_range("--port", local.port, 0, 65535));
  KW_TRY_STATUS(check_range("--lease", local.lease_seconds, 0.5, 3600));
  KW_TRY_STATUS(check_models(local.models));
  return check_level(local.isolation);
}

Status check_slurm(const LaunchSlurmCommand& slurm) {
  KW_TRY_STATUS(check_range("--workers", slurm.workers, 1, 100000));
  KW_TRY_STATUS(check_range("--jobs", slurm.jobs, 1, 1024));
  KW_TRY_STATUS(check_range("--cpus", slurm.cpus, 1, 4096));
  KW_TRY_STATUS(check_range("--server-cpus", slurm.server_cpus, 1, 4096));
  KW_TRY_STATUS(check_range("--drain", slurm.drain_seconds, 10, 65535));
  KW_TRY_STATUS(check_range("--port", slurm.port, 0, 65535));
  KW_TRY_STATUS(check_tls_files(slurm.tls_certificate, slurm.tls_key));
  KW_TRY_STATUS(check_range("--model-cpus", slurm.model_cpus, 1, 4096));
  KW_TRY_STATUS(check_models(slurm.models));
  if (slurm.print && !slurm.out.empty())
    return fail(ErrorCode::kInvalidArgument, "--print and --out exclude each other");
  return check_level(slurm.isolation);
}

Status check_ray(const LaunchRayCommand& ray) {
  KW_TRY_STATUS(check_range("--workers", ray.workers, 1, 10000));
  KW_TRY_STATUS(check_range("--jobs", ray.jobs, 1, 1024));
  KW_TRY_STATUS(check_range("--cpus", ray.cpus, 1, 4096));
  KW_TRY_STATUS(check_range("--gpus", ray.gpus, 0, 64));
  KW_TRY_STATUS(check_range("--model-cpus", ray.model_cpus, 1, 4096));
  KW_TRY_STATUS(check_range("--model-gpus", ray.model_gpus, 0, 64));
  KW_TRY_STATUS(check_models(ray.models));
  KW_TRY_STATUS(check_range("--port", ray.port, 0, 65535));
  KW_TRY_STATUS(check_range("--lease", ray.lease_seconds, 0.5, 3600));
  KW_TRY_STATUS(check_tls_files(ray.tls_certificate, ray.tls_key));
  return check_level(ray.isolation);
}

}  // namespace

void add_launch_group(CLI::App& launch, LaunchCommands& commands, const AddCommand& add) {
  add_local(launch, commands.local, add);
  add_slurm(launch, commands.slurm, add);
  add_ray(launch, commands.ray, add);
}

Status finish(const LaunchCommands& commands) {
  KW_TRY_STATUS(check_local(commands.local));
  KW_TRY_STATUS(check_slurm(commands.slurm));
  return check_ray(commands.ray);
}

}  // namespace kw::front
