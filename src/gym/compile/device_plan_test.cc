// Tests of the plan of a device build, and of finding its compilers: files only, nothing is run.
#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/testing/folder.h"
#include "base/testing/values.h"
#include "gym/compile/plan.h"
#include "task/candidate_source.h"

namespace kw::gym {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

constexpr const char* kSource = R"j(
// launch: {"kernel": "k", "grid": ["ceil_div(n, 256)"], "block": [256]}
extern "C" __global__ void k(const float* x, float* y, long long n) {}
)j";

task::Signature device_plan_signature(std::int64_t n) {
  task::Signature out;
  out.inputs = {{.name = "x", .shape = {n}}};
  out.outputs = {{.name = "y", .role = task::Role::kOutput, .shape = {n}}};
  out.axes = {{"n", n}};
  out.constants = {{"width", 3}};
  out.input_axes = out.output_axes = {{"n"}};
  return out;
}

CudaToolchain all_tools() {
  CudaToolchain out;
  out.nvrtc = "/opt/lib/libnvrtc.so.13";
  out.nvcc = "/opt/bin/nvcc";
  out.ptxas = "/opt/bin/ptxas";
  out.include = "/opt/include";
  out.identity = "tools";
  return out;
}

Result<CompilePlan> device_plan_of(const std::string& file, const std::string& source,
                                   const CudaToolchain& tools = all_tools(), std::int64_t n = 4) {
  KW_TRY(task::Candidate candidate, task::candidate_from_source(file, source));
  return plan_device(candidate, device_plan_signature(n), "sm_90a", tools);
}

TEST(DeviceBuildPlan, NvrtcIsTakenBeforeNvcc) {
  auto plan = device_plan_of("k.cu", kSource);
  ASSERT_TRUE(plan) << message_of(plan);
  ASSERT_EQ(plan->commands.size(), 1U);
  EXPECT_THAT(plan->commands[0], ElementsAre("nvrtc", "--gpu-architecture=sm_90a", "--std=c++17",
                                             "--pre-include=problem.h", "-I.", "-I/opt/include",
                                             "-o", "kw_out.cubin", "k.cu"));
  EXPECT_EQ(plan->files.at(0).path, "problem.h");
  EXPECT_THAT(plan->files[0].content, HasSubstr("constexpr long long width = 3;"));
  EXPECT_EQ(plan->files.at(1).content, kSource);
  ASSERT_TRUE(plan->launches);
  EXPECT_EQ(plan->launches->steps.size(), 1U);

  CudaToolchain without = all_tools();
  without.nvrtc.clear();
  plan = device_plan_of("k.cu", kSource, without);
  ASSERT_TRUE(plan) << message_of(plan);
  EXPECT_EQ(plan->commands[0][0], "/opt/bin/nvcc");
  EXPECT_EQ(plan->commands[0].back(), "k.cu");
  without.nvcc.clear();
  auto none = device_plan_of("k.cu", kSource, without);
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().code(), ErrorCode::kUnsupported);
}

TEST(DeviceBuildPlan, TheKeyCoversLaunchesAndNotTheAxesValues) {
  const std::string key = device_plan_of("k.cu", kSource)->key;
  EXPECT_EQ(device_plan_of("k.cu", kSource, all_tools(), 5)->key, key);
  task::Candidate candidate = task::candidate_from_source("k.cu", kSource).value();
  candidate.launches[0].arguments.emplace();
  EXPECT_NE(plan_device(candidate, device_plan_signature(4), "sm_90a", all_tools())->key, key);
  EXPECT_NE(plan_device(candidate, device_plan_signature(4), "sm_100a", all_tools())->key, key);
  CudaToolchain newer = all_tools();
  newer.identity = "newer";
  EXPECT_NE(device_plan_of("k.cu", kSource, newer)->key, key);
}

TEST(DeviceBuildPlan, WhatTheCandidateDidWrong) {
  EXPECT_THAT(message_of(device_plan_of("k.cu", "__global__ void k() {}")), HasSubstr("no launch"));
  task::Candidate c = task::candidate_from_source("k.cu", kSource).value();
  c.sources[0].path = c.entry_file = "k.txt";
  EXPECT_EQ(message_of(plan_device(c, device_plan_signature(4), "sm_90a", all_tools())),
            "the entry file k.txt does not end in .cu");
  c.sources[0].path = "../k.cu";
  EXPECT_EQ(message_of(plan_device(c, device_plan_signature(4), "sm_90a", all_tools())),
            "source path \"../k.cu\" is not allowed");
  c.sources[0].path = "other.cu";
  EXPECT_THAT(message_of(plan_device(c, device_plan_signature(4), "sm_90a", all_tools())),
              HasSubstr("is not among the sources"));
  c.language = task::Language::kTriton;
  EXPECT_THAT(message_of(plan_device(c, device_plan_signature(4), "sm_90a", all_tools())),
              HasSubstr("is no language of device code"));
}

TEST(DeviceBuildPlan, PtxNeedsPtxas) {
  const std::string ptx = R"j(// launch: {"kernel": "k", "grid": [1], "block": [1]}
.version 8.0
)j";
  EXPECT_THAT(device_plan_of("k.ptx", ptx)->commands[0],
              ElementsAre("/opt/bin/ptxas", "-arch=sm_90a", "-o", "kw_out.cubin", "k.ptx"));
  CudaToolchain without = all_tools();
  without.ptxas.clear();
  EXPECT_EQ(message_of(device_plan_of("k.ptx", ptx, without)), "ptxas is not installed");
}

TEST(CudaToolchain, IsFoundByItsFiles) {
  TestFolder folder;
  const std::filesystem::path& root = folder.path();
  auto write = [&](const std::string& path, bool program) {
    std::filesystem::create_directories((root / path).parent_path());
    std::ofstream(root / path) << "x";
    if (program) std::filesystem::permissions(root / path, std::filesystem::perms::owner_all);
  };
  const std::vector<std::filesystem::path> libraries = {root / "none", root / "cu13/lib"};
  const std::vector<std::filesystem::path> toolkits = {root / "toolkit"};
  auto none = resolve_cuda(libraries, toolkits);
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().code(), ErrorCode::kUnsupported);
  EXPECT_THAT(none.error().message(), HasSubstr("KW_CUDA_LIBRARIES"));

  write("toolkit/bin/ptxas", true);
  write("toolkit/bin/nvcc", false);  // no program
  write("toolkit/include/cuda_fp16.h", false);
  auto tools = resolve_cuda(libraries, toolkits);
  ASSERT_TRUE(tools) << message_of(tools);
  EXPECT_EQ(tools->ptxas, (root / "toolkit/bin/ptxas").string());
  EXPECT_EQ(tools->nvcc, "");
  EXPECT_EQ(tools->include, root / "toolkit/include");

  write("cu13/lib/libnvrtc.so.13", false);
  write("cu13/include/cuda_fp16.h", false);
  auto with_nvrtc = resolve_cuda(libraries, toolkits);
  ASSERT_TRUE(with_nvrtc);
  EXPECT_EQ(with_nvrtc->nvrtc, root / "cu13/lib/libnvrtc.so.13");
  EXPECT_EQ(with_nvrtc->include, root / "cu13/include");
  EXPECT_NE(with_nvrtc->identity, tools->identity);
}

}  // namespace
}  // namespace kw::gym
