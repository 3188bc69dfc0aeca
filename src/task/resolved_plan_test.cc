// Tests of plans at one workload: numbers, references, ranges and CUDA's limits.
#include "task/resolved_plan.h"

#include <cstring>

#include "task/testing/golden.h"

namespace kw::task {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

// x: float32[rows, columns], scale by value, w static; y: float32[rows, columns].
Signature signature() {
  Signature out;
  out.inputs = {
      {.name = "x", .shape = {6, 512}},
      {.name = "scale", .role = Role::kScalar, .dtype = tensor::DType::kFloat32, .value = 0.5}};
  out.statics = {{.name = "w", .role = Role::kStatic, .shape = {512}}};
  out.outputs = {{.name = "y", .role = Role::kOutput, .shape = {6, 512}}};
  out.axes = {{"rows", 6}};
  out.constants = {{"columns", 512}, {"eps", 1e-5}};
  out.output_axes = {{"rows", "columns"}};
  return out;
}

LaunchPlan golden_plan() {
  return launch_plan_from_json(json_of(golden("launch_plan.json"))).value();
}

std::string problem(const std::string& pointer, const Json& value) {
  Json changed = with(json_of(golden("launch_plan.json")), pointer, value);
  auto plan = launch_plan_from_json(changed);
  return plan ? message_of(resolve(*plan, signature())) : "not read: " + message_of(plan);
}

std::string launch_problem(const std::string& pointer, const Json& value) {
  return problem("/steps/1/launch" + pointer, value);
}

template <typename T>
T scalar(const ResolvedArgument& argument) {
  const auto& held = std::get<ResolvedScalar>(argument);
  EXPECT_EQ(held.bytes, sizeof(T));
  T out{};
  std::memcpy(&out, held.value.data(), sizeof out);
  return out;
}

TEST(ResolvedPlan, EveryExpressionIsANumber) {
  auto plan = resolve(golden_plan(), signature());
  ASSERT_TRUE(plan) << message_of(plan);
  ASSERT_EQ(plan->steps.size(), 5U);
  ASSERT_EQ(plan->scratch.size(), 1U);
  EXPECT_EQ(plan->scratch[0].bytes, 4 * 6 * 2);

  // Scratch is zeroed by a step, so it is timed.
  const auto& zeroes = std::get<ResolvedFill>(plan->steps[0]);
  EXPECT_EQ(zeroes.memory.kind, MemoryKind::kScratch);
  EXPECT_EQ(zeroes.bytes, 48);
  EXPECT_EQ(zeroes.value, 0U);

  const auto& fill = std::get<ResolvedFill>(plan->steps[1]);
  EXPECT_EQ(fill.memory.offset, 4);
  EXPECT_EQ(fill.bytes, 4 * 6 * 512 - 4);
  EXPECT_EQ(fill.value, 0x3F800000U);

  const auto& launch = std::get<ResolvedLaunch>(plan->steps[2]);
  EXPECT_THAT(launch.grid, ElementsAre(12, 1, 1));
  EXPECT_THAT(launch.block, ElementsAre(256, 1, 1));
  EXPECT_THAT(launch.cluster, ElementsAre(2, 1, 1));
  EXPECT_EQ(launch.cluster_blocks(), 2U);
  EXPECT_EQ(launch.shared_bytes, 16384U);
  EXPECT_TRUE(launch.cooperative && launch.dependent && launch.spread_clusters);
  ASSERT_EQ(launch.arguments.size(), 8U);
  EXPECT_EQ(std::get<ResolvedMemory>(launch.arguments[1]).offset, 4 * 512);
  EXPECT_EQ(scalar<std::int32_t>(launch.arguments[4]), 512);
  EXPECT_EQ(scalar<float>(launch.arguments[5]), 1e-5F);
  EXPECT_EQ(scalar<float>(launch.arguments[6]), 0.5F);
  EXPECT_TRUE(std::holds_alternative<NullPointer>(launch.arguments[7]));

  const auto& map =
      std::get<ResolvedTensorMap>(std::get<ResolvedLaunch>(plan->steps[3]).arguments.at(0));
  EXPECT_EQ(map.type, 7);  // CU_TENSOR_MAP_DATA_TYPE_FLOAT32
  EXPECT_THAT(map.sizes, ElementsAre(512, 6));
  EXPECT_THAT(map.strides, ElementsAre(2048));
  EXPECT_THAT(map.box, ElementsAre(32, 8));

  const auto& copy = std::get<ResolvedCopy>(plan->steps[4]);
  EXPECT_EQ(copy.from.kind, MemoryKind::kScratch);
  EXPECT_EQ(copy.to.kind, MemoryKind::kOutput);
  EXPECT_EQ(copy.bytes, 24);
}

TEST(ResolvedPlan, AxesAreThoseOfProblemH) {
  EXPECT_THAT(axis_values(signature()),
              ElementsAre(std::pair("rows", 6), std::pair("columns", 512)));
  Signature module = signature();
  module.output_axes.clear();
  module.axes.clear();
  EXPECT_THAT(axis_values(module),
              ElementsAre(std::pair("columns", 512), std::pair("x_0", 6), std::pair("x_1", 512),
                          std::pair("w_0", 512), std::pair("y_0", 6), std::pair("y_1", 512)));
}

TEST(ResolvedPlan, CudasLimitsOfALaunch) {
  const std::string at = "plan.steps[1].launch";
  EXPECT_EQ(launch_problem("/grid/0", "2147483646"), "no error");
  EXPECT_EQ(launch_problem("/grid/0", "2147483648"),
            at + ".grid[0]: \"2147483648\" is 2147483648, but 1 to 2147483647 are allowed");
  EXPECT_EQ(launch_problem("/grid/1", 65535), "no error");
  EXPECT_EQ(launch_problem("/grid/1", 65536),
            at + ".grid[1]: \"65536\" is 65536, but 1 to 65535 are allowed");
  EXPECT_EQ(launch_problem("/grid", {2, 1, 65536}),
            at + ".grid[2]: \"65536\" is 65536, but 1 to 65535 are allowed");
  EXPECT_EQ(launch_problem("/grid/0", "rows - 6"),
            at + ".grid[0]: \"rows - 6\" is 0, but 1 to 2147483647 are allowed");
  EXPECT_EQ(launch_problem("/block", {32, 32}), "no error");
  EXPECT_EQ(launch_problem("/block", {33, 32}), at + ".block: 1056 threads, but 1024 are allowed");
  EXPECT_THAT(launch_problem("/block/0", 1025), HasSubstr(".block[0]: \"1025\" is 1025, but"));
  EXPECT_EQ(launch_problem("/block", {1, 1, 64}), "no error");
  EXPECT_THAT(launch_problem("/block", {1, 1, 65}), HasSubstr(".block[2]: \"65\" is 65, but 1 to"));
  EXPECT_EQ(launch_problem("/shared_bytes", "227 * 1024"), "no error");
  EXPECT_EQ(launch_problem("/shared_bytes", "227 * 1024 + 1"),
            at + ".shared_bytes: \"227 * 1024 + 1\" is 232449, but 0 to 232448 are allowed");
  EXPECT_EQ(launch_problem("/cluster/0", 5),
            at + ".grid: 12 blocks along x are no multiple of the cluster's 5");
  EXPECT_EQ(launch_problem("/cluster", {4, 1, 1}), "no error");
  EXPECT_THAT(launch_problem("/cluster/0", 17), HasSubstr("but 1 to 16 are allowed"));
  EXPECT_EQ(launch_problem("/cluster", {6, 3}), at + ".cluster: 18 blocks, but 16 are allowed");
}

TEST(ResolvedPlan, TheLimitsOfAnotherDeviceCount) {
  DeviceLimits small;
  small.shared_bytes = std::int64_t{99} * 1024;
  LaunchPlan plan = golden_plan();
  EXPECT_TRUE(resolve(plan, signature(), small));
  std::get<PlanLaunch>(plan.steps[1]).shared_bytes = LaunchExpression(std::int64_t{100} * 1024);
  EXPECT_THAT(message_of(resolve(plan, signature(), small)), HasSubstr("0 to 101376 are allowed"));
}

TEST(ResolvedPlan, ParametersFitTheirSpace) {
  LaunchPlan plan = golden_plan();
  auto& arguments = std::get<PlanLaunch>(plan.steps[1]).arguments;
  arguments.assign(4095, PlanArgument(PlanMemory{MemoryKind::kInput, 0, {}}));
  arguments.emplace_back(PlanScalar{tensor::DType::kInt32, LaunchExpression(1)});
  EXPECT_TRUE(resolve(plan, signature()));  // 32764 bytes
  arguments.emplace_back(PlanScalar{tensor::DType::kInt8, LaunchExpression(1)});
  EXPECT_EQ(message_of(resolve(plan, signature())),
            "plan.steps[1].launch.arguments: 32765 bytes, but 32764 are allowed");
}

TEST(ResolvedPlan, ErrorsOfExpressionsNameTheirPlace) {
  EXPECT_EQ(launch_problem("/grid/0", "row"),
            "plan.steps[1].launch.grid[0]: \"row\" is not an axis (did you mean \"rows\"?)");
  EXPECT_EQ(launch_problem("/block/0", "32 * (rows / (columns - 512))"),
            "plan.steps[1].launch.block[0]: \"rows / (columns - 512)\": division by zero");
  EXPECT_EQ(problem("/scratch/0/bytes", "rows * 9223372036854775807"),
            "plan.scratch[0].bytes: \"rows * 9223372036854775807\": 6 * 9223372036854775807 does "
            "not fit 64 bits");
  EXPECT_THAT(problem("/scratch/0/bytes", "-rows"), HasSubstr("\"-rows\" is -6, but 0 to"));
  EXPECT_THAT(problem("/scratch/0/bytes", "80 * 1024 * 1024 * 1024 + 1"), HasSubstr("but 0 to"));
  EXPECT_THAT(launch_problem("/arguments/4/value", "columns * 4194304"),
              HasSubstr(".arguments[4]: 2147483648 does not fit int32"));
}

TEST(ResolvedPlan, ReferencesExistAndAreOfTheirKind) {
  const std::string at = "plan.steps[1].launch.arguments";
  EXPECT_EQ(launch_problem("/arguments/0/input", 2),
            at + "[0]: there is no input 2; the last is 1");
  EXPECT_EQ(launch_problem("/arguments/0/input", 1),
            at + "[0]: input 1 (\"scale\") is a host scalar and has no memory; pass it by value");
  EXPECT_EQ(launch_problem("/arguments/6/input", 0),
            at + "[6]: input 0 (\"x\") is a tensor, not a host scalar");
  EXPECT_EQ(launch_problem("/arguments/6/scalar", "int32"),
            at + "[6]: input 1 is a floating number, not int32");
  EXPECT_EQ(launch_problem("/arguments/0", {{"static", 1}}),
            at + "[0]: there is no static 1; the last is 0");
  EXPECT_EQ(launch_problem("/arguments/0", {{"static", 0}}), "no error");
  EXPECT_EQ(launch_problem("/arguments/1/offset", "4 * rows * columns"), "no error");
  EXPECT_THAT(launch_problem("/arguments/1/offset", "4 * rows * columns + 1"),
              HasSubstr("[1].offset: \"4 * rows * columns + 1\" is 12289, but 0 to 12288"));
}

TEST(ResolvedPlan, FillsAndCopiesStayInTheirBuffers) {
  EXPECT_EQ(problem("/steps/0/fill/bytes", "4 * rows * columns"),
            "plan.steps[0].fill: 12288 bytes at offset 4 do not fit output 0 of 12288 bytes");
  EXPECT_EQ(problem("/steps/0/fill/offset", 2),
            "plan.steps[0].fill: 12284 bytes at offset 2 are no whole fours");
  EXPECT_EQ(problem("/steps/0/fill/bytes", 0), "no error");
  EXPECT_THAT(problem("/steps/3/copy/bytes", 49),
              HasSubstr("copy.from: 49 bytes at offset 0 do not fit scratch 0 of 48 bytes"));
  for (const char* kind : {"input", "static", "constant"})
    EXPECT_EQ(
        problem("/steps/3/copy/to", {{kind, 0}}),
        fmt::format("plan.steps[3].copy.to: {} is never written; only output or scratch", kind));
  EXPECT_EQ(problem("/steps/3/copy", json_of(R"j({"from": {"output": 0},
              "to": {"output": 0, "offset": 8}, "bytes": 9})j")),
            "plan.steps[3].copy: the two ranges overlap");
  EXPECT_EQ(problem("/steps/3/copy", json_of(R"j({"from": {"output": 0},
              "to": {"output": 0, "offset": 8}, "bytes": 8})j")),
            "no error");
}

TEST(ResolvedPlan, TensorMapsKeepTheDriversRules) {
  auto map = [](const std::string& pointer, const Json& value) {
    return problem("/steps/2/launch/arguments/0/tensor_map" + pointer, value);
  };
  const std::string at = "plan.steps[2].launch.arguments[0].tensor_map";
  EXPECT_EQ(map("/strides/0", "4 * columns + 8"), at + ".strides[0]: 2056 is no multiple of 16");
  EXPECT_EQ(map("/sizes/1", "rows + 1"),
            at + ": 14336 bytes at offset 0 do not fit input 0 of 12288 bytes");
  EXPECT_EQ(map("/sizes/0", "rows - 6"),
            at + ".sizes[0]: \"rows - 6\" is 0, but 1 to 4294967296 are allowed");
  EXPECT_EQ(map("/box/0", 3), at + ".box[0]: 3 elements are 12 bytes, which is no multiple of 16");
  EXPECT_EQ(map("/box/0", 64), at + ".box[0]: 256 bytes are more than a swizzle of 128 takes");
  EXPECT_EQ(map("/swizzle", 0), "no error");
  EXPECT_EQ(map("/strides/0", "16 * 4294967296 * rows"),
            at + ": 2061584304128 bytes at offset 0 do not fit input 0 of 12288 bytes");
}

TEST(ResolvedPlan, ScalarsHaveTheBytesOfTheirType) {
  Signature s = signature();
  auto bytes = [&](tensor::DType dtype, ScalarValue value) {
    LaunchPlan plan = golden_plan();
    std::get<PlanLaunch>(plan.steps[1]).arguments = {PlanScalar{dtype, std::move(value)}};
    auto out = resolve(plan, s);
    EXPECT_TRUE(out) << message_of(out);
    return std::get<ResolvedLaunch>(out->steps[2]).arguments.at(0);
  };
  const LaunchExpression minus = LaunchExpression::parse("-rows").value();
  EXPECT_EQ(scalar<std::int64_t>(bytes(tensor::DType::kInt64, minus)), -6);
  EXPECT_EQ(scalar<std::int16_t>(bytes(tensor::DType::kInt16, minus)), -6);
  EXPECT_EQ(scalar<std::int8_t>(bytes(tensor::DType::kInt8, minus)), -6);
  EXPECT_EQ(scalar<std::uint8_t>(bytes(tensor::DType::kBool, LaunchExpression(1))), 1);
  EXPECT_EQ(scalar<double>(bytes(tensor::DType::kFloat64, 0.1)), 0.1);
  EXPECT_EQ(scalar<float>(bytes(tensor::DType::kFloat32, minus)), -6.0F);
  EXPECT_EQ(scalar<std::uint16_t>(bytes(tensor::DType::kFloat16, 1.0)), 0x3C00);
  EXPECT_EQ(scalar<std::uint16_t>(bytes(tensor::DType::kBFloat16, HostScalar{1})), 0x3F00);
}

}  // namespace
}  // namespace kw::task
