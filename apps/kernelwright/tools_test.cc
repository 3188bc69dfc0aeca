// A tool is run, and its output read.
#include "kernelwright/testing/fakes.h"

namespace kw::front {
namespace {

TEST(Tools, VersionsFromWhatTheyPrint) {
  FakeTools fake;
  fake.outputs["nvcc"] =
      "nvcc: NVIDIA (R) Cuda compiler driver\nCuda compilation tools, release 13.0, V13.0.88\n";
  fake.outputs["nvidia-smi"] = "NVIDIA H100\nNVIDIA H100\n";
  ToolChain tools = inspect_tools(fake, {});
  EXPECT_EQ(tools.gxx, "12.2.0");
  EXPECT_EQ(tools.python, "3.11.2");
  EXPECT_EQ(tools.torch, "2.13.0");
  EXPECT_EQ(tools.triton, "");
  EXPECT_EQ(tools.nvcc, "13.0.88");
  EXPECT_EQ(tools.gpus, (std::vector<std::string>{"NVIDIA H100", "NVIDIA H100"}));
  EXPECT_GE(tools.cores, 1);
}

TEST(Tools, DigestFollowsWhatDecidesResults) {
  FakeTools fake;
  std::string before = inspect_tools(fake, {}).digest();
  fake.outputs["nvcc"] = ", V13.0.88";
  EXPECT_EQ(inspect_tools(fake, {}).digest(), before);
  fake.outputs["python3"] = "3.11.2\n2.12.0\n\n";
  EXPECT_NE(inspect_tools(fake, {}).digest(), before);
}

TEST(Tools, RunsAProgram) {
  ProcessRunner runner;
  auto output =
      runner.run({"sh", "-c", "echo out; echo err >&2; exit 3"}, std::chrono::seconds(30));
  ASSERT_TRUE(output);
  EXPECT_EQ(output->out, "out\nerr\n");
  EXPECT_EQ(output->exit_code, 3);
  EXPECT_EQ(runner.run({"kernelwright-no-such-program"}, std::chrono::seconds(30)).error().code(),
            ErrorCode::kNotFound);
}

TEST(Tools, KillsWhatDoesNotEnd) {
  ProcessRunner runner;
  auto begin = std::chrono::steady_clock::now();
  auto output = runner.run({"sleep", "600"}, std::chrono::milliseconds(50));
  ASSERT_FALSE(output);
  EXPECT_EQ(output.error().code(), ErrorCode::kDeadlineExceeded);
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(300));
}

}  // namespace
}  // namespace kw::front
