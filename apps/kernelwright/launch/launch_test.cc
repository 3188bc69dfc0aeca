// kernelwright launch slurm: the text of its files, what is refused, what is written and submitted;
// launch ray: what it starts, and what it refuses before.
#include <fmt/ranges.h>
#include <gmock/gmock.h>
#include <sys/stat.h>

#include "base/hash.h"
#include "kernelwright/launch/ray.h"
#include "kernelwright/launch/sbatch.h"
#include "kernelwright/service/commands.h"
#include "kernelwright/testing/fakes.h"

namespace kw::front {
namespace {

using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

const LaunchPaths kPaths{"/shared/judge", "/opt/kw/kernelwright", "/shared/judge/tasks",
                         "/opt/kw/python"};

TEST(Sbatch, ServerScript) {
  LaunchSlurmCommand command;
  EXPECT_EQ(server_script(command, kPaths), R"(#!/bin/bash
#SBATCH --job-name=kernelwright-server
#SBATCH --output=/shared/judge/logs/server-%j.log
#SBATCH --open-mode=append
#SBATCH --ntasks=1
#SBATCH --cpus-per-task=2
#SBATCH --mem=4096M
#SBATCH --time=1-00:00:00
#SBATCH --requeue
#SBATCH --signal=B:USR1@120

child="" again=""
trap 'again=yes; [[ -z $child ]] || kill -TERM "$child" 2>/dev/null' USR1
trap : TERM
'/opt/kw/kernelwright' serve --data '/shared/judge/tasks' --host 0.0.0.0 --port 0 --tokens '/shared/judge/tokens' --self-signed --address-file '/shared/judge/server.json' &
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
)");
  command.server_node = "node7";
  command.tls_certificate = "/etc/kw.crt";
  command.tls_key = "/etc/kw.key";
  command.port = 8100;
  EXPECT_THAT(server_script(command, kPaths),
              AllOf(HasSubstr("#SBATCH --nodelist=node7\n"), HasSubstr(" --port 8100 "),
                    HasSubstr(" --tls-certificate '/etc/kw.crt' --tls-key '/etc/kw.key' "),
                    Not(HasSubstr("self-signed"))));
}

TEST(Sbatch, WorkerScript) {
  LaunchSlurmCommand command;
  command.workers = 8;
  command.gres = "gpu:1";
  command.partition = "long,short";
  command.account = "lab";
  command.sbatch = {"--qos=high"};
  command.isolation = "full";
  EXPECT_THAT(worker_script(command, kPaths), StartsWith(R"(#!/bin/bash
#SBATCH --job-name=kernelwright-worker
#SBATCH --output=/shared/judge/logs/worker-%A_%a.log
#SBATCH --open-mode=append
#SBATCH --ntasks=1
#SBATCH --cpus-per-task=4
#SBATCH --mem=8192M
#SBATCH --time=1-00:00:00
#SBATCH --requeue
#SBATCH --signal=B:USR1@120
#SBATCH --partition=long,short
#SBATCH --account=lab
#SBATCH --array=0-7
#SBATCH --gres=gpu:1
#SBATCH --qos=high

export KW_PYTHON='/opt/kw/python'
KERNELWRIGHT_API_KEY=$(<'/shared/judge/token') || exit
export KERNELWRIGHT_API_KEY

child="" again=""
trap 'again=yes; [[ -z $child ]] || kill -TERM "$child" 2>/dev/null' USR1
trap : TERM
'/opt/kw/kernelwright' worker --server '/shared/judge/server.json' --name "$SLURM_ARRAY_JOB_ID-$SLURM_ARRAY_TASK_ID" --jobs 1 --isolation-at-least 'full' &
)"));
}

TEST(Sbatch, ModelScript) {
  LaunchSlurmCommand command;
  command.models = {"/shared/models/Qwen", 3, {"--device=cuda", "--slots=64"}};
  command.model_gres = "gpu:1";
  const std::string script = model_script(command, kPaths);
  EXPECT_THAT(script, StartsWith(R"(#!/bin/bash
#SBATCH --job-name=kernelwright-model
#SBATCH --output=/shared/judge/logs/model-%A_%a.log
#SBATCH --open-mode=append
#SBATCH --ntasks=1
#SBATCH --cpus-per-task=8
#SBATCH --mem=32768M
#SBATCH --time=1-00:00:00
#SBATCH --requeue
#SBATCH --signal=B:USR1@120
#SBATCH --array=1-3
#SBATCH --gres=gpu:1

KERNELWRIGHT_API_KEY=$(<'/shared/judge/token') || exit
export KERNELWRIGHT_API_KEY

child="" again=""
)"));
  EXPECT_THAT(
      script,
      HasSubstr("\n'/opt/kw/kernelwright' serve-model --host 0.0.0.0 --port 0 --self-signed "
                "--address-file '/shared/judge/model-'\"$SLURM_ARRAY_TASK_ID\".json '--model' "
                "'/shared/models/Qwen' '--grace' '90' '--device=cuda' '--slots=64' &\n"));
}

constexpr CommandGroup kService[] = {&run_service_command};

class Launch : public FrontTest {
 protected:
  Launch() { groups = kService; }
};

TEST_F(Launch, WordsThatDoNotFitAreNamed) {
  for (const auto& [option, word, reason] :
       std::vector<std::tuple<std::string, std::string, std::string>>{
           {"--folder", "a b", "--folder: \""},
           {"--folder", "100%", "other characters than"},
           {"--name", "a;b", "--name: \"a;b\""},
           {"--partition", "a b", "--partition"},
           {"--account", "$(x)", "--account"},
           {"--gres", "gpu 1", "--gres"},
           {"--time", "soon", "--time: \"soon\" is no time of Slurm's"},
           {"--time", "1-", "--time"},
           {"--sbatch", "qos", "--sbatch: \"qos\" is no option"},
           {"--memory", "lots", "--memory"},
           {"--server-memory", "10", "--server-memory: 10 is less than 1 MiB"},
           {"--workers", "0", "--workers: 0 is not between"},
           {"--drain", "1", "--drain"},
           {"--data", "/var/tmp/kw", "--data needs --server-node"},
           {"--isolation-at-least", "most", "--isolation-at-least"},
           {"--tls-key", "a.key", "go together"},
           {"--model", "a b", "--model: \""},
           {"--model-memory", "lots", "--model-memory"},
           {"--model-gres", "gpu 1", "--model-gres"},
           {"--model-servers", "0", "--model-servers: 0 is not between"},
           {"--model-option", "--slots=4", "--model-option needs --model"}}) {
    console.err_text.clear();
    std::vector<std::string> words = {"launch", "slurm", "--print", option + "=" + word};
    if (option != "--folder") words.insert(words.end(), {"--folder", "shared"});
    EXPECT_EQ(kernelwright(words), 2) << option << " " << word;
    EXPECT_THAT(console.err_text, HasSubstr(reason));
  }
  EXPECT_FALSE(std::filesystem::exists("shared"));
}

TEST_F(Launch, WritesSubmitsAndKeepsTheToken) {
  tools.outputs["sbatch"] = "17;cluster\n";
  ASSERT_EQ(kernelwright({"launch", "slurm", "--folder", "shared", "--workers", "3"}), 0)
      << console.err_text;
  EXPECT_EQ(console.out_text, "17 17\n");
  const std::string token = read("shared/token");
  EXPECT_EQ(token.size(), 33U);
  EXPECT_EQ(read("shared/tokens"), "sha256:" + sha256_hex(token.substr(0, 32)) + "\n");
  struct stat facts{};
  for (const char* name : {"shared/token", "shared/tokens"}) {
    ASSERT_EQ(::stat(name, &facts), 0);
    EXPECT_EQ(facts.st_mode & 0777U, 0600U) << name;
  }
  EXPECT_THAT(read("shared/server.sbatch"), HasSubstr(path("shared/tasks")));
  EXPECT_THAT(read("shared/workers.sbatch"), HasSubstr("--array=0-2"));
  EXPECT_TRUE(std::filesystem::is_directory("shared/logs"));
  console.out_text.clear();
  ASSERT_EQ(kernelwright({"launch", "slurm", "--folder", "shared", "--out", "files"}), 0);
  EXPECT_EQ(console.out_text, "files/server.sbatch\nfiles/workers.sbatch\n");
  EXPECT_EQ(read("shared/token"), token);
}

TEST_F(Launch, ModelServersAreJobsToo) {
  tools.outputs["sbatch"] = "17\n";
  const std::vector<std::string> words = {"launch", "slurm",   "--folder",
                                          "shared", "--model", "models/Qwen"};
  ASSERT_EQ(kernelwright(words), 0) << console.err_text;
  EXPECT_EQ(console.out_text, "17 17 17\n");
  EXPECT_THAT(console.err_text, HasSubstr("job 17 is the model's servers"));
  EXPECT_THAT(read("shared/models.sbatch"), HasSubstr("'--model' '" + path("models/Qwen") + "'"));
  for (const auto& [option, reason] : std::vector<std::pair<std::string, std::string>>{
           {"slots=4", "is no option of serve-model"},
           {"--port=1", "launch sets --port itself"},
           {"--host", "launch sets --host itself"},
           {"--slots=$(x)", "other characters than"}}) {
    console.err_text.clear();
    std::vector<std::string> more = words;
    more.push_back("--model-option=" + option);
    EXPECT_EQ(kernelwright(more), 2) << option;
    EXPECT_THAT(console.err_text, HasSubstr(reason));
  }
}

TEST_F(Launch, WithoutSlurmTheErrorSaysSo) {
  EXPECT_EQ(kernelwright({"launch", "slurm", "--folder", "shared"}), 2);
  EXPECT_THAT(console.err_text, HasSubstr("sbatch, a program of Slurm: cannot run sbatch"));
}

const RayPrograms kRayPrograms{"/opt/kw/python/ray_actors.py", "/opt/kw/kernelwright-model"};

TEST(LaunchRay, StartsAServerAndTheKeeperOfActors) {
  LaunchRayCommand command;
  command.workers = 8;
  command.gpus = 1;
  auto processes = ray_processes(command, kPaths, kRayPrograms);
  ASSERT_TRUE(processes.has_value());
  ASSERT_EQ(processes->size(), 2U);
  EXPECT_TRUE((*processes)[0].prints_when_ready);
  EXPECT_EQ(
      fmt::format("{}", fmt::join((*processes)[0].argv, " ")),
      "/opt/kw/kernelwright serve --data /shared/judge/tasks --host 0.0.0.0 --port 0 --tokens "
      "/shared/judge/tokens --lease 30 --address-file /shared/judge/server.json --self-signed");
  EXPECT_EQ(
      fmt::format("{}", fmt::join((*processes)[1].argv, " ")),
      "python3 /opt/kw/python/ray_actors.py --address auto --count 8 --cpus 4 --gpus 1 --memory "
      "8589934592 --token /shared/judge/token --server /shared/judge/server.json --env "
      "KW_PYTHON=/opt/kw/python -- /opt/kw/kernelwright worker --jobs 1 --isolation-at-least none");
  command.tls_certificate = "a.crt";
  command.tls_key = "a.key";
  command.public_name = "head";
  processes = ray_processes(command, kPaths, kRayPrograms);
  EXPECT_THAT(fmt::format("{}", fmt::join((*processes)[0].argv, " ")),
              AllOf(HasSubstr(" --public-name head --tls-certificate a.crt --tls-key a.key"),
                    Not(HasSubstr("self-signed"))));
}

TEST(LaunchRay, StartsTheKeeperOfModelServers) {
  LaunchRayCommand command;
  command.models = {"/shared/models/Qwen", 2, {"--device=cuda"}};
  command.model_gpus = 1;
  const auto processes = ray_processes(command, kPaths, kRayPrograms);
  ASSERT_TRUE(processes.has_value());
  ASSERT_EQ(processes->size(), 3U);
  EXPECT_FALSE((*processes)[2].prints_when_ready);
  EXPECT_EQ(
      fmt::format("{}", fmt::join((*processes)[2].argv, " ")),
      "python3 /opt/kw/python/ray_actors.py --address auto --count 2 --cpus 8 --gpus 1 --memory "
      "34359738368 --token /shared/judge/token --addresses /shared/judge -- "
      "/opt/kw/kernelwright-model serve-model --model /shared/models/Qwen --grace 12 "
      "--device=cuda");
}

TEST_F(Launch, RayIsLookedForFirst) {
  for (const auto& [option, word, reason] :
       std::vector<std::tuple<std::string, std::string, std::string>>{
           {"--memory", "lots", "--memory"},
           {"--workers", "0", "--workers: 0 is not between"},
           {"--gpus", "-1", "--gpus"},
           {"--model-memory", "lots", "--model-memory"},
           {"--model-gpus", "-1", "--model-gpus"},
           {"--model-servers", "0", "--model-servers: 0 is not between"},
           {"--model-option", "--slots=4", "--model-option needs --model"},
           {"--tls-key", "a.key", "go together"},
           {"--isolation-at-least", "most", "--isolation-at-least"},
           {"--python", "no-such-python", "--python: cannot run no-such-python"}}) {
    console.err_text.clear();
    EXPECT_EQ(kernelwright({"launch", "ray", "--folder", "judge", option + "=" + word}), 2);
    EXPECT_THAT(console.err_text, HasSubstr(reason));
  }
  EXPECT_FALSE(std::filesystem::exists("judge"));
}

}  // namespace
}  // namespace kw::front
