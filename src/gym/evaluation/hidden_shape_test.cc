#include "gym/evaluation/hidden_shape.h"

#include <set>

#include <gtest/gtest.h>

#include "task/definition_json.h"
#include "task/signature.h"
#include "task/workload_json.h"

namespace kw::gym {
namespace {

task::Problem problem_of(const char* axes, const char* shape) {
  task::Problem out;
  out.name = "p";
  out.hash = "h";
  out.body = *task::definition_from_json(
      *parse_json(fmt::format(R"({{"name": "p", "op_type": "x", "axes": {},
        "inputs": {{"x": {{"shape": {}, "dtype": "float32"}}}},
        "outputs": {{"y": {{"shape": {}, "dtype": "float32"}}}},
        "reference": "def run(x):\n    return x\n"}})",
                              axes, shape, shape)),
      "");
  return out;
}

void add(task::Problem& problem, const char* axes, task::Target target,
         const char* input = R"({"type": "random"})") {
  problem.workloads.push_back(*task::workload_from_json(
      *parse_json(
          fmt::format(R"({{"uuid": "w", "axes": {}, "inputs": {{"x": {}}}}})", axes, input)),
      ""));
  problem.policy.workloads["w"].targets = {target};
  problem.policy.any_shape = true;
}

task::Problem matrix(task::Target target) {
  task::Problem out =
      problem_of(R"({"M": {"type": "var"}, "N": {"type": "var"}})", R"(["M", "N"])");
  add(out, R"({"M": 64, "N": 128})", target);
  return out;
}

TEST(HiddenShape, EveryCandidateGetsOneOfTwo) {
  for (const task::Target target : task::all_targets()) {
    const task::Problem announced = matrix(target);
    std::set<std::string> shapes;
    for (int candidate = 0; candidate < 32; ++candidate) {
      const task::Problem with = with_hidden_shape(announced, target, std::to_string(candidate));
      ASSERT_EQ(with.workloads.size(), 2U);
      EXPECT_EQ(with.hash, announced.hash);
      const task::Workload& hidden = with.workloads.back();
      EXPECT_EQ(with.workloads.front().uuid, "w");
      EXPECT_FALSE(with.workload_policy(hidden.uuid).timed);
      EXPECT_TRUE(with.is_for(hidden.uuid, target));
      for (const auto& [name, size] : hidden.axes) EXPECT_EQ(size % 2, 1) << hidden.uuid;
      EXPECT_TRUE(task::signature_of(with.definition(), hidden, {}));
      EXPECT_EQ(with_hidden_shape(announced, target, std::to_string(candidate)).workloads[1].uuid,
                hidden.uuid);
      shapes.insert(hidden.uuid);
    }
    EXPECT_EQ(shapes.size(), 2U);
  }
}

// One of the two has an axis of 1, the other a long one; a GPU's is longer than 65,535 blocks.
TEST(HiddenShape, OneIsSmallAndOneLong) {
  const task::Problem announced = matrix(task::Target::kCuda);
  bool has_one = false, has_long = false;
  for (int candidate = 0; candidate < 32; ++candidate) {
    const task::Workload hidden =
        with_hidden_shape(announced, task::Target::kCuda, std::to_string(candidate))
            .workloads.back();
    std::int64_t least = hidden.axes[0].second, most = least;
    for (const auto& [name, size] : hidden.axes) {
      least = std::min(least, size);
      most = std::max(most, size);
    }
    has_one = has_one || (least == 1 && most < 100);
    has_long = has_long || most > 65'535;
  }
  EXPECT_TRUE(has_one);
  EXPECT_TRUE(has_long);
}

// N x N of 65,537 would have 4 thousand million elements.
TEST(HiddenShape, TensorsStaySmall) {
  task::Problem square = problem_of(R"({"N": {"type": "var"}})", R"(["N", "N"])");
  add(square, R"({"N": 64})", task::Target::kCuda);
  for (int candidate = 0; candidate < 16; ++candidate) {
    const task::Problem with =
        with_hidden_shape(square, task::Target::kCuda, std::to_string(candidate));
    ASSERT_EQ(with.workloads.size(), 2U);
    EXPECT_LE(with.workloads.back().axes[0].second, 1448);
  }
}

TEST(HiddenShape, SoDoThoseOfManyAxes) {
  task::Problem images = problem_of(
      R"({"B": {"type": "var"}, "C": {"type": "var"}, "H": {"type": "var"}, "W": {"type": "var"}})",
      R"(["B", "C", "H", "W"])");
  add(images, R"({"B": 8, "C": 3, "H": 64, "W": 64})", task::Target::kInterpret);
  for (int candidate = 0; candidate < 16; ++candidate) {
    const task::Problem with =
        with_hidden_shape(images, task::Target::kInterpret, std::to_string(candidate));
    ASSERT_EQ(with.workloads.size(), 2U);
    const auto signature = task::signature_of(with.definition(), with.workloads.back(), {});
    EXPECT_LE(signature->inputs[0].elements(), 2048);
  }
}

TEST(HiddenShape, OnlyWhereTheContractAllowsIt) {
  task::Problem fixed = matrix(task::Target::kCpu);
  fixed.policy.any_shape = false;
  EXPECT_EQ(with_hidden_shape(fixed, task::Target::kCpu, "c").workloads.size(), 1U);
  EXPECT_EQ(
      with_hidden_shape(matrix(task::Target::kCpu), task::Target::kCuda, "c").workloads.size(), 1U);
  task::Problem given = problem_of(R"({"N": {"type": "var"}})", R"(["N"])");
  add(given, R"({"N": 64})", task::Target::kCpu,
      R"({"type": "safetensors", "path": "a", "tensor_key": "b"})");
  EXPECT_EQ(with_hidden_shape(given, task::Target::kCpu, "c").workloads.size(), 1U);
}

}  // namespace
}  // namespace kw::gym
