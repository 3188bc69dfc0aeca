// Ranks by torchrun's and Slurm's variables.
#include "train/parallel/launch.h"

#include <map>

#include <gtest/gtest.h>

namespace kw::train {
namespace {

Result<Launch> launch_with(const std::map<std::string, std::string>& variables) {
  return launch_of([&](const char* name) -> std::optional<std::string> {
    const auto found = variables.find(name);
    return found == variables.end() ? std::nullopt : std::optional(found->second);
  });
}

const std::map<std::string, std::string> kTorchrun = {{"RANK", "5"},
                                                      {"WORLD_SIZE", "8"},
                                                      {"LOCAL_RANK", "1"},
                                                      {"LOCAL_WORLD_SIZE", "4"},
                                                      {"MASTER_ADDR", "node-a"},
                                                      {"MASTER_PORT", "1234"}};
const std::map<std::string, std::string> kSlurm = {{"SLURM_PROCID", "3"},
                                                   {"SLURM_NTASKS", "4"},
                                                   {"SLURM_LOCALID", "1"},
                                                   {"SLURM_STEP_ID", "0"},
                                                   {"SLURM_NODELIST", "gpu[07-08]"},
                                                   {"SLURM_STEP_TASKS_PER_NODE", "2(x2)"}};

TEST(Launches, OneRankWithoutVariables) {
  const Launch launch = launch_with({}).value();
  EXPECT_EQ(launch.size, 1);
  EXPECT_EQ(launch.rank, 0);
}

TEST(Launches, ByTorchrun) {
  const Launch launch = launch_with(kTorchrun).value();
  EXPECT_EQ(launch.rank, 5);
  EXPECT_EQ(launch.size, 8);
  EXPECT_EQ(launch.local_rank, 1);
  EXPECT_EQ(launch.local_size, 4);
  EXPECT_EQ(launch.address, "node-a");
  EXPECT_EQ(launch.port, 1234);
  auto with_agent = kTorchrun;
  with_agent["TORCHELASTIC_USE_AGENT_STORE"] = "True";
  EXPECT_EQ(launch_with(with_agent).value().port, 1235) << "torchrun listens at 1234 itself";
}

TEST(Launches, WrongVariablesAreNamed) {
  for (const auto& [name, value] : kTorchrun) {
    if (name == "LOCAL_WORLD_SIZE") continue;
    auto without = kTorchrun;
    without.erase(name);
    const auto launch = launch_with(without);
    ASSERT_FALSE(launch) << name;
    EXPECT_NE(launch.error().message().find(name), std::string::npos) << launch.error().message();
  }
  auto beyond = kTorchrun;
  beyond["RANK"] = "8";
  EXPECT_NE(launch_with(beyond).error().message().find("RANK: expected 0 to 7"), std::string::npos);
}

TEST(Launches, BySlurm) {
  const Launch launch = launch_with(kSlurm).value();
  EXPECT_EQ(launch.rank, 3);
  EXPECT_EQ(launch.size, 4);
  EXPECT_EQ(launch.local_rank, 1);
  EXPECT_EQ(launch.local_size, 2);
  EXPECT_EQ(launch.address, "gpu07");
  EXPECT_EQ(launch.port, 29500);
  auto batch = kSlurm;
  batch["SLURM_STEP_ID"] = "4294967291";
  EXPECT_EQ(launch_with(batch).value().size, 1) << "a batch script without srun";
}

TEST(Launches, FirstHostOfSlurm) {
  EXPECT_EQ(first_host("login").value(), "login");
  EXPECT_EQ(first_host("a1,a2").value(), "a1");
  EXPECT_EQ(first_host("gpu[07-09,12],login").value(), "gpu07");
  EXPECT_EQ(first_host("n[5]").value(), "n5");
  for (const char* wrong : {"", "n[", "n[a-b]", "rack[1-2]n[3-4]", "n[1"}) {
    const auto host = first_host(wrong);
    ASSERT_FALSE(host) << wrong;
    EXPECT_NE(host.error().message().find("MASTER_ADDR"), std::string::npos);
  }
}

TEST(Launches, EachRankHasAGpu) {
  Launch launch;
  launch.local_rank = 1;
  EXPECT_EQ(visible_gpu(launch, {}).value(), "1");
  EXPECT_EQ(visible_gpu(launch, "4,6,7").value(), "6");
  EXPECT_EQ(visible_gpu(launch, "GPU-1234").value(), "GPU-1234");
  launch.local_rank = 3;
  EXPECT_FALSE(visible_gpu(launch, "4,6,7"));
}

}  // namespace
}  // namespace kw::train
