#include "kernelwright/launch/sbatch.h"

#include <algorithm>
#include <string_view>
#include <utility>
#include <vector>

#include "base/text.h"
#include "kernelwright/cli/settings.h"
#include "kernelwright/launch/model_servers.h"

namespace kw::front {
namespace {

constexpr std::string_view kLetters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";
constexpr std::string_view kDigits = "0123456789";

bool is_made_of(std::string_view word, std::string_view more) {
  return std::ranges::all_of(word, [&](char c) {
    return kLetters.find(c) != std::string_view::npos ||
           kDigits.find(c) != std::string_view::npos || more.find(c) != std::string_view::npos;
  });
}

// sbatch replaces "%" in names of files and splits its lines at white space and quotes.
Status check_word(const char* option, std::string_view word, std::string_view more) {
  if (is_made_of(word, more)) return {};
  return fail(ErrorCode::kInvalidArgument,
              "{}: \"{}\" has other characters than letters, digits and {}", option,
              printable(word, 200), more);
}

// "60", "4:30", "4:30:00", "2-0", "2-12:00", "2-12:00:00": what sbatch --time takes.
bool is_time(std::string_view word) {
  const std::size_t dash = word.find('-');
  const bool has_days = dash != std::string_view::npos;
  const std::string_view days = has_days ? word.substr(0, dash) : "0";
  const auto parts = split(has_days ? word.substr(dash + 1) : word, ':');
  const auto is_number = [](std::string_view part) {
    return !part.empty() && part.size() <= 6 &&
           part.find_first_not_of(kDigits) == std::string_view::npos;
  };
  return is_number(days) && parts.size() <= 3 && std::ranges::all_of(parts, is_number);
}

std::string quoted(const std::string& word) {
  return "'" + word + "'";  // a checked word has no quote
}
std::string quoted(const std::filesystem::path& path) {
  return quoted(path.string());
}

// Slurm's unit is MiB.
Result<std::uint64_t> mebibytes(const char* option, const std::string& word) {
  auto bytes = parse_bytes(word);
  if (!bytes) return tl::unexpected(std::move(bytes).error().with_context(option));
  if (*bytes < (1U << 20U))
    return fail(ErrorCode::kInvalidArgument, "{}: {} is less than 1 MiB", option, word);
  return *bytes >> 20U;
}

struct Job {
  const char* kind;  // server, worker or model
  int cpus;
  std::string memory;
  std::string log;                // with sbatch's patterns
  std::vector<std::string> more;  // options of this kind
};

std::string header(const LaunchSlurmCommand& command, const LaunchPaths& paths, const Job& job) {
  std::vector<std::string> options = {
      fmt::format("--job-name={}-{}", command.name, job.kind),
      fmt::format("--output={}", (paths.logs() / job.log).string()),
      "--open-mode=append",
      "--ntasks=1",
      fmt::format("--cpus-per-task={}", job.cpus),
      fmt::format("--mem={}M", mebibytes("", job.memory).value_or(1)),
      "--time=" + command.time,
      "--requeue",
      fmt::format("--signal=B:USR1@{}", command.drain_seconds)};
  if (!command.partition.empty()) options.push_back("--partition=" + command.partition);
  if (!command.account.empty()) options.push_back("--account=" + command.account);
  options.insert(options.end(), job.more.begin(), job.more.end());
  options.insert(options.end(), command.sbatch.begin(), command.sbatch.end());
  std::string out = "#!/bin/bash\n";
  for (const std::string& option : options) out += "#SBATCH " + option + "\n";
  return out;
}

// The job is a shell that starts one program and waits for it. USR1 comes from Slurm to the shell
// alone, before the time limit: then the job goes back to the queue when the program has ended.
// TERM (scancel, preemption) reaches every process of the job, and what follows is for Slurm to
// decide.
std::string running(const std::string& program_and_arguments) {
  return fmt::format(R"(
child="" again=""
trap 'again=yes; [[ -z $child ]] || kill -TERM "$child" 2>/dev/null' USR1
trap : TERM
{} &
child=$!
code=0
wait "$child" || code=$?
while kill -0 "$child" 2>/dev/null; do # a signal has ended the wait
  code=0
  wait "$child" || code=$?
done
if [[ -n $again ]]; then
  echo "the time limit comes: back into the queue"
  exec scontrol requeue "$SLURM_JOB_ID"
fi
exit "$code"
)",
                     program_and_arguments);
}

std::string with_token(const LaunchPaths& paths) {
  return fmt::format("KERNELWRIGHT_API_KEY=$(<{}) || exit\nexport KERNELWRIGHT_API_KEY\n",
                     quoted(paths.token()));
}

}  // namespace

Status check_words(const LaunchSlurmCommand& command, const LaunchPaths& paths) {
  constexpr std::string_view kPath = "/._-+=,@:";
  constexpr std::string_view kName = "._-";
  for (const auto& [option, path] : {std::pair{"--folder", paths.folder},
                                     {"--data", paths.data},
                                     {"the program's folder", paths.program},
                                     {"KW_PYTHON", paths.python}})
    KW_TRY_STATUS(check_word(option, path.string(), kPath));
  for (const auto& [option, word] :
       {std::pair{"--tls-certificate", command.tls_certificate}, {"--tls-key", command.tls_key}})
    KW_TRY_STATUS(check_word(option, word, kPath));
  for (const auto& [option, word] : {std::pair{"--name", command.name},
                                     {"--partition", command.partition},
                                     {"--account", command.account},
                                     {"--server-node", command.server_node}})
    KW_TRY_STATUS(check_word(option, word, option == std::string("--partition") ? "._-," : kName));
  if (command.name.empty()) return fail(ErrorCode::kInvalidArgument, "--name: is empty");
  KW_TRY_STATUS(check_word("--gres", command.gres, "._-:,="));
  if (!is_time(command.time))
    return fail(ErrorCode::kInvalidArgument,
                "--time: \"{}\" is no time of Slurm's: minutes, HOURS:MINUTES:SECONDS or "
                "DAYS-HOURS",
                printable(command.time, 100));
  for (const std::string& each : command.sbatch) {
    const bool is_option = each.starts_with("--") && each.size() > 2;
    if (!is_option || each.find('\n') != std::string::npos)
      return fail(ErrorCode::kInvalidArgument,
                  "--sbatch: \"{}\" is no option of sbatch, such as --qos=high",
                  printable(each, 100));
  }
  if (auto memory = mebibytes("--memory", command.memory); !memory)
    return tl::unexpected(std::move(memory).error());
  if (auto memory = mebibytes("--server-memory", command.server_memory); !memory)
    return tl::unexpected(std::move(memory).error());
  if (auto memory = mebibytes("--model-memory", command.model_memory); !memory)
    return tl::unexpected(std::move(memory).error());
  KW_TRY_STATUS(check_word("--model-gres", command.model_gres, "._-:,="));
  KW_TRY_STATUS(check_word("--model", command.models.model, kPath));
  for (const std::string& each : command.models.options)
    KW_TRY_STATUS(check_word("--model-option", each, kPath));
  return {};
}

std::string server_script(const LaunchSlurmCommand& command, const LaunchPaths& paths) {
  Job job{"server", command.server_cpus, command.server_memory, "server-%j.log", {}};
  if (!command.server_node.empty()) job.more.push_back("--nodelist=" + command.server_node);
  const std::string tls =
      command.tls_certificate.empty()
          ? "--self-signed"
          : fmt::format("--tls-certificate {} --tls-key {}", quoted(command.tls_certificate),
                        quoted(command.tls_key));
  return header(command, paths, job) +
         running(fmt::format("{} serve --data {} --host 0.0.0.0 --port {} --tokens {} {} "
                             "--address-file {}",
                             quoted(paths.program), quoted(paths.data), command.port,
                             quoted(paths.tokens()), tls, quoted(paths.address())));
}

std::string worker_script(const LaunchSlurmCommand& command, const LaunchPaths& paths) {
  Job job{"worker", command.cpus, command.memory, "worker-%A_%a.log", {}};
  job.more.push_back(fmt::format("--array=0-{}", command.workers - 1));
  if (!command.gres.empty()) job.more.push_back("--gres=" + command.gres);
  const std::string python =
      paths.python.empty() ? "" : fmt::format("export KW_PYTHON={}\n", quoted(paths.python));
  return header(command, paths, job) + "\n" + python + with_token(paths) +
         running(fmt::format(
             "{} worker --server {} --name \"$SLURM_ARRAY_JOB_ID-$SLURM_ARRAY_TASK_ID\" --jobs {} "
             "--isolation-at-least {}",
             quoted(paths.program), quoted(paths.address()), command.jobs,
             quoted(command.isolation)));
}

// Answers under way have most of the time between the request to stop and the limit.
std::string model_script(const LaunchSlurmCommand& command, const LaunchPaths& paths) {
  Job job{"model", command.model_cpus, command.model_memory, "model-%A_%a.log", {}};
  job.more.push_back(fmt::format("--array=1-{}", command.models.count));
  if (!command.model_gres.empty()) job.more.push_back("--gres=" + command.model_gres);
  std::string words;
  for (const std::string& word : model_words(command.models, command.drain_seconds * 3 / 4))
    words += " " + quoted(word);
  return header(command, paths, job) + "\n" + with_token(paths) +
         running(fmt::format("{} serve-model --host 0.0.0.0 --port 0 --self-signed --address-file "
                             "{}\"$SLURM_ARRAY_TASK_ID\".json{}",
                             quoted(paths.program), quoted(paths.folder / "model-"), words));
}

}  // namespace kw::front
