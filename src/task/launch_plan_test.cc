// Tests of the launch plan's JSON.
#include "task/launch_plan.h"

#include "task/testing/golden.h"

namespace kw::task {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

const char* const kLaunchAt = "/steps/1/launch";

std::string plan_problem(const std::string& pointer, const Json& value) {
  return message_of(
      launch_plan_from_json(with(json_of(golden("launch_plan.json")), pointer, value)));
}

TEST(LaunchPlan, TheGoldenFileIsItsOwnForm) {
  const std::string text = golden("launch_plan.json");
  auto plan = launch_plan_from_json(json_of(text));
  ASSERT_TRUE(plan) << message_of(plan);
  EXPECT_EQ(to_json(*plan).dump(2) + "\n", text);
  ASSERT_EQ(plan->steps.size(), 4U);
  const auto& launch = std::get<PlanLaunch>(plan->steps[1]);
  EXPECT_EQ(launch.function, "softmax");
  EXPECT_TRUE(launch.cooperative && launch.dependent && launch.spread_clusters);
  ASSERT_EQ(launch.arguments.size(), 8U);
  EXPECT_EQ(std::get<PlanMemory>(launch.arguments[2]).kind, MemoryKind::kScratch);
  EXPECT_EQ(std::get<double>(std::get<PlanScalar>(launch.arguments[5]).value), 1e-5);
  EXPECT_EQ(std::get<HostScalar>(std::get<PlanScalar>(launch.arguments[6]).value).index, 1U);
  EXPECT_EQ(std::get<PlanFill>(plan->steps[0]).value, 0x3F800000U);
  EXPECT_TRUE(plan->scratch.at(0).zeroed);
}

TEST(LaunchPlan, WhatMayBeLeftOutHasADefault) {
  const Json least = json_of(R"j({"schema": 1,
    "modules": [{"kind": "cubin", "name": "m", "sha256": ")j" +
                             std::string(64, 'a') + R"j(", "bytes": 1}],
    "scratch": [{"name": "s", "bytes": 4}],
    "steps": [{"launch": {"module": 0, "function": "f", "grid": [1], "block": [32]}}]})j");
  auto plan = launch_plan_from_json(least);
  ASSERT_TRUE(plan) << message_of(plan);
  const auto& launch = std::get<PlanLaunch>(plan->steps[0]);
  EXPECT_FALSE(launch.cooperative || launch.dependent || launch.shared_bytes);
  EXPECT_TRUE(launch.arguments.empty() && launch.cluster.empty());
  EXPECT_EQ(plan->scratch[0].alignment, 256);
  EXPECT_EQ(plan->triton, "");
  EXPECT_TRUE(plan->choices.empty());
}

TEST(LaunchPlan, ErrorsNameTheFieldOfThePlan) {
  EXPECT_EQ(plan_problem("/schema", 2), "plan.schema: expected 1, found 2");
  EXPECT_EQ(plan_problem("/step", 1), "plan.step: unknown key (did you mean \"steps\"?)");
  EXPECT_EQ(plan_problem("/steps", Json::array()), "plan.steps: no steps");
  EXPECT_EQ(plan_problem("/steps", 3), "plan.steps: expected a list of at most 4096");
  EXPECT_EQ(plan_problem("/triton", std::string(61, '3')),
            "plan.triton: at most 60 printable characters");
  EXPECT_EQ(plan_problem("/choices/0/configurations", 1),
            "plan.choices[0].configurations: expected 2 to 1000000, found 1");
  EXPECT_EQ(plan_problem("/choices/0/chosen", 4),
            "plan.choices[0].chosen: expected 0 to 3, found 4");
  EXPECT_EQ(plan_problem("/choices/0/text", std::string(1001, 'x')),
            "plan.choices[0]: more than 1000 bytes of text");
  EXPECT_EQ(plan_problem("/modules/0/kind", "elf"),
            "plan.modules[0].kind: expected cubin or ptx, found \"elf\"");
  EXPECT_EQ(plan_problem("/modules/1/sha256", "60"),
            "plan.modules[1].sha256: expected 64 hexadecimal digits");
  EXPECT_THAT(plan_problem("/constants/0/bytes", 0),
              StartsWith("plan.constants[0].bytes: expected 1 to "));
  EXPECT_EQ(plan_problem("/scratch/0/alignment", 48),
            "plan.scratch[0].alignment: 48 is no power of two");
  EXPECT_EQ(plan_problem("/scratch/0/bytes", "4 *"),
            "plan.scratch[0].bytes: column 4: expected a number, a name or \"(\", found the end");
  EXPECT_EQ(plan_problem("/scratch/0/name", "a b"), "plan.scratch[0].name: \"a b\" is no name");
}

TEST(LaunchPlan, ErrorsNameTheFieldOfALaunch) {
  auto problem = [](const std::string& pointer, const Json& value) {
    return plan_problem(kLaunchAt + pointer, value);
  };
  EXPECT_EQ(problem("/module", 2),
            "plan.steps[1].launch.module: expected an index below 2, found 2");
  EXPECT_EQ(problem("/module", -1),
            "plan.steps[1].launch.module: expected an index below 2, found -1");
  EXPECT_EQ(problem("/function", "f()"), "plan.steps[1].launch.function: \"f()\" is not a symbol");
  EXPECT_EQ(problem("/grid", Json::array()),
            "plan.steps[1].launch.grid: expected a list of 1 to 3 expressions");
  EXPECT_THAT(problem("/block/0", "x y"), StartsWith("plan.steps[1].launch.block[0]: column 3"));
  EXPECT_THAT(problem("/cluster/0", 1.5), StartsWith("plan.steps[1].launch.cluster[0]: expected"));
  EXPECT_THAT(problem("/cooperative", 1), StartsWith("plan.steps[1].launch.cooperative: "));
  EXPECT_EQ(problem("/shared", 1), "plan.steps[1].launch.shared: unknown key");
}

TEST(LaunchPlan, ErrorsNameTheFieldOfAnArgument) {
  auto problem = [](const std::string& pointer, const Json& value) {
    return plan_problem(kLaunchAt + std::string("/arguments") + pointer, value);
  };
  const std::string at = "plan.steps[1].launch.arguments";
  EXPECT_EQ(problem("/2/scratch", 1), at + "[2].scratch: expected an index below 1, found 1");
  EXPECT_EQ(problem("/3/constant", 7), at + "[3].constant: expected an index below 1, found 7");
  EXPECT_THAT(problem("/0", Json::object()), HasSubstr("expected scalar, tensor_map, null, or"));
  EXPECT_EQ(problem("/0/ofset", 1), at + "[0].ofset: unknown key (did you mean \"offset\"?)");
  EXPECT_EQ(problem("/0/output", 1), at + "[0].output: unknown key");
  EXPECT_EQ(problem("/4/scalar", "int128"), at + "[4].scalar: \"int128\" is no type of a scalar");
  EXPECT_EQ(problem("/4/scalar", "float8_e5m2"),
            at + "[4].scalar: \"float8_e5m2\" is no type of a scalar");
  EXPECT_EQ(problem("/4/value", 1.5), at + "[4].value: 1.5 is not an expression for int32");
  EXPECT_EQ(problem("/7/null", false), at + "[7].null: only true");
}

TEST(LaunchPlan, ErrorsNameTheFieldOfATensorMapFillOrCopy) {
  auto map = [](const std::string& pointer, const Json& value) {
    return plan_problem("/steps/2/launch/arguments/0/tensor_map" + pointer, value);
  };
  const std::string at = "plan.steps[2].launch.arguments[0].tensor_map";
  EXPECT_THAT(map("/type", "fp32"), StartsWith(at + ".type: \"fp32\" is no type of a tensor map"));
  EXPECT_EQ(map("/strides", Json::array()), at + ".strides: expected a list of 1 to 1 expressions");
  EXPECT_EQ(map("/box/0", 257), at + ".box[0]: expected 1 to 256");
  EXPECT_EQ(map("/box", 8), at + ".box: expected a list");
  EXPECT_EQ(map("/box", {8}), at + ": box and element_strides have not 2 dimensions");
  EXPECT_EQ(map("/swizzle", 4), at + ".swizzle: expected 0 to 3, found 4");
  EXPECT_EQ(plan_problem("/steps/0/fill/width", 3), "plan.steps[0].fill.width: only 1, 2 or 4");
  EXPECT_EQ(plan_problem("/steps/0/fill/value", std::int64_t{1} << 32),
            "plan.steps[0].fill.value: expected 0 to 4294967295, found 4294967296");
  EXPECT_EQ(plan_problem("/steps/3/copy/bytes", nullptr), "plan.steps[3].copy.bytes: missing");
  EXPECT_EQ(plan_problem("/steps/3/copy/to", Json::object()),
            "plan.steps[3].copy.to: expected one of input, static, output, scratch, constant");
  EXPECT_EQ(plan_problem("/steps/3", Json::object()),
            "plan.steps[3]: expected launch, fill or copy");
}

}  // namespace
}  // namespace kw::task
