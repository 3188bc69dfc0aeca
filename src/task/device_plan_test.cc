// Tests of device-only candidates: comments in the source, and the plan that they make.
#include "task/device_plan.h"

#include "task/candidate_source.h"
#include "task/launch_comments.h"
#include "task/resolved_plan.h"
#include "task/target.h"
#include "task/testing/golden.h"

namespace kw::task {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

Signature device_signature() {
  Signature out;
  out.inputs = {
      {.name = "x", .dtype = tensor::DType::kFloat16, .shape = {6, 512}},
      {.name = "scale", .role = Role::kScalar, .dtype = tensor::DType::kFloat16, .value = 0.5}};
  out.statics = {{.name = "w", .role = Role::kStatic, .shape = {512}}};
  out.outputs = {{.name = "y", .role = Role::kOutput, .shape = {6, 512}}};
  out.axes = {{"rows", 6}};
  out.constants = {{"columns", 512}, {"pads", {1, 2}}, {"eps", 1e-5}};
  out.input_axes = {{"rows", "columns"}, {}};
  out.static_axes = {{"columns"}};
  out.output_axes = {{"rows", "columns"}};
  return out;
}

PlanModule cubin() {
  return {ModuleKind::kCubin, {"k.cubin", std::string(64, 'a'), 100}};
}

Result<LaunchPlan> plan_of(const std::string& source) {
  KW_TRY(Candidate candidate, candidate_from_source("k.cu", source));
  return device_plan(candidate, device_signature(), cubin());
}

Json steps(const std::string& source) {
  auto plan = plan_of(source);
  EXPECT_TRUE(plan) << message_of(plan);
  return plan ? to_json(*plan)["steps"] : Json();
}

TEST(DeviceComments, ErrorsNameLineAndColumn) {
  auto problem = [](const std::string& source) { return message_of(device_comments(source)); };
  EXPECT_THAT(problem("int x;\n  // launch: {\"kernel\": }"), HasSubstr("line 2, column 25"));
  EXPECT_EQ(problem(R"j(
// launch: {"kernel": "k", "grid": ["ceil_div(n"], "block": [32]})j"),
            "line 2, column 28: launch.grid[0]: column 11: expected \",\", found the end");
  EXPECT_EQ(problem(R"j(// launch: {"kernel": "k", "block": [32]})j"),
            "line 1, column 12: launch.grid: missing");
  EXPECT_EQ(problem(R"j(// launch: {"kernel": "k", "grid": [1], "block": [32], "shard": 1})j"),
            "line 1, column 56: launch.shard: unknown key");
  EXPECT_EQ(problem("// scratch: {\"name\": \"1x\", \"bytes\": 4}"),
            "line 1, column 14: scratch.name: \"1x\" is no name");
  std::string many;
  for (int i = 0; i < 65; ++i) many += "// scratch: {\"name\": \"s\", \"bytes\": 4}\n";
  EXPECT_EQ(problem(many), "line 65: more than 64 of \"// scratch:\"");
  EXPECT_EQ(problem("// launched: nothing\n"), "no error");
}

TEST(DevicePlan, WithoutArgumentsTheOrderIsTheSignatures) {
  EXPECT_EQ(
      steps(R"j(// launch: {"kernel": "k", "grid": ["rows"], "block": [256]})j").dump(),
      R"j([{"launch":{"module":0,"function":"k","grid":["rows"],"block":["256"],"arguments":[)j"
      R"j({"input":0},{"scalar":"float32","input":1},{"static":0},{"output":0},)j"
      R"j({"scalar":"int64","value":"rows"}]}}])j");
}

TEST(DevicePlan, SeveralLaunchesShareScratch) {
  const std::string source =
      R"j(// scratch: {"name": "partial", "bytes": "4 * rows", "zeroed": true}
// launch: {"kernel": "reduce", "grid": ["rows", 2], "block": [256], "cluster": [2], "cooperative": true, "arguments": ["x", "partial", {"int32": "columns"}, {"float32": 1e-5}]}
//   launch : {"kernel": "scale", "grid": ["rows"], "block": [32], "dependent": true, "shared_memory": 1024, "arguments": ["partial", "y", "scale", {"int64": "rows"}]}
)j";
  auto plan = plan_of(source);
  ASSERT_TRUE(plan) << message_of(plan);
  auto resolved = resolve(*plan, device_signature());
  ASSERT_TRUE(resolved) << message_of(resolved);
  ASSERT_EQ(resolved->steps.size(), 3U);  // the zeros first
  EXPECT_EQ(resolved->scratch.at(0).bytes, 24);
  const auto& first = std::get<ResolvedLaunch>(resolved->steps[1]);
  EXPECT_TRUE(first.cooperative);
  EXPECT_EQ(first.cluster_blocks(), 2U);
  EXPECT_EQ(std::get<ResolvedMemory>(first.arguments.at(1)).kind, MemoryKind::kScratch);
  EXPECT_EQ(std::get<ResolvedScalar>(first.arguments.at(3)).bytes, 4U);
  const auto& second = std::get<ResolvedLaunch>(resolved->steps[2]);
  EXPECT_TRUE(second.dependent);
  EXPECT_EQ(second.shared_bytes, 1024U);
  EXPECT_EQ(std::get<ResolvedScalar>(second.arguments.at(3)).bytes, 8U);
}

TEST(DevicePlan, ArgumentsThatAreNone) {
  auto problem = [](const std::string& argument) {
    return message_of(plan_of(R"j(// scratch: {"name": "partial", "bytes": 4}
// launch: {"kernel": "k", "grid": [1], "block": [1], "arguments": ["x", ")j" +
                              argument + "\"]}"));
  };
  EXPECT_EQ(problem("y"), "no error");
  EXPECT_EQ(problem("partal"),
            "launches[0].arguments[1]: \"partal\" is no input, output or scratch (did you mean "
            "\"partial\"?)");
  EXPECT_EQ(problem("columns"),
            "launches[0].arguments[1]: \"columns\" is an axis: write {\"int32\": \"columns\"} or "
            "{\"int64\": \"columns\"}");
  EXPECT_THAT(message_of(plan_of("__global__ void k() {}")), StartsWith("no launch: say which"));
  EXPECT_EQ(message_of(plan_of(R"j(// scratch: {"name": "y", "bytes": 4}
// launch: {"kernel": "k", "grid": [1], "block": [1]})j")),
            "scratch \"y\": the name is taken");
}

TEST(DevicePlan, AnAxisWithAFunctionsNameMustBeListed) {
  Signature signature = device_signature();
  signature.axes = {{"min", 3}};
  Candidate candidate =
      candidate_from_source("k.cu", R"j(// launch: {"kernel": "k", "grid": [1], "block": [1]})j")
          .value();
  EXPECT_EQ(message_of(device_plan(candidate, signature, cubin())),
            "launches[0].arguments: missing, and axis \"min\" has a name that expressions cannot "
            "use");
}

TEST(DeviceHeader, ConstantsAndTheParametersOfAKernel) {
  EXPECT_EQ(device_header(device_signature()),
            R"j(// problem.h: generated, and included before every source file.
#pragma once

constexpr long long columns = 512;
__device__ constexpr long long pads[2] = {1, 2};
constexpr double eps = 1e-05;

// NVRTC reads no <math.h>.
#ifndef INFINITY
#define INFINITY __int_as_float(0x7f800000)
#endif
#ifndef NAN
#define NAN __int_as_float(0x7fffffff)
#endif

// Tensors are contiguous, in row-major order, and 256-byte aligned. A kernel whose launch
// names no arguments gets these:
// __global__ void kernel(
//     const __half* __restrict__ x,  // [rows, columns] float16
//     float scale,                   // scalar float16
//     const float* __restrict__ w,   // [columns] float32
//     float* __restrict__ y,         // [rows, columns] float32
//     long long rows);
)j");
}

TEST(Target, DeviceCodeIsForTheGpu) {
  for (const Language language : {Language::kCuda, Language::kPtx, Language::kCubin}) {
    EXPECT_EQ(route(language, Target::kCuda), Target::kCuda);
    EXPECT_EQ(route(language, Target::kCpu), std::nullopt);
  }
  EXPECT_EQ(languages_for(Target::kCuda), "cuda, ptx, cubin and triton");
}

}  // namespace
}  // namespace kw::task
