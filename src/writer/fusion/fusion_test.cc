// Fusion and kernel plans compute what the program did: random problems through the interpreter.
#include "writer/fusion/fusion.h"

#include <cmath>
#include <set>

#include <gtest/gtest.h>

#include "base/random.h"
#include "writer/fusion/kernel_plan.h"
#include "writer/generate/generate.h"
#include "writer/generate/testing/problem_count.h"
#include "writer/loops/scalar.h"

namespace kw::writer {
namespace {

using Sizes = std::map<std::string, std::int64_t>;
using Numbers = std::vector<std::vector<double>>;

std::int64_t elements_of(const TensorType& type, const Sizes& sizes) {
  std::int64_t out = 1;
  for (const IntExpr& extent : type.shape) out *= extent.evaluate(sizes).value();
  return out;
}

std::int64_t work_of(const Program& program, const Sizes& sizes) {
  std::int64_t out = 0;
  for (const Step& step : program.steps) {
    if (const auto* stage = std::get_if<Stage>(&step))
      out += (count_of(stage->loops) * count_of(stage->reduced)).evaluate(sizes).value();
  }
  return out;
}

Numbers filled(const Program& program, const Sizes& sizes, std::uint64_t seed) {
  Rng rng = Rng::at(seed, 0);
  Numbers out;
  for (const Buffer& buffer : program.buffers) {
    if (buffer.kind != Buffer::Kind::kInput && buffer.kind != Buffer::Kind::kScalar) continue;
    std::vector<double> values(static_cast<std::size_t>(elements_of(buffer.type, sizes)));
    for (double& value : values)
      value = tensor::is_floating(buffer.type.dtype) ? 0.1 + rng.uniform() : double(rng.below(2));
    out.push_back(std::move(values));
  }
  return out;
}

// "" or where the outputs differ.
std::string difference(const Program& program, const Program& changed, const Sizes& sizes,
                       const Numbers& inputs) {
  const auto want = interpret(program, inputs, sizes);
  if (!want) return "not run: " + want.error().message();
  const auto got = interpret(changed, inputs, sizes);
  if (!got) return got.error().message();
  for (std::size_t i = 0; i < want->size(); ++i) {
    if (got->at(i).size() != want->at(i).size()) return "another number of elements";
    for (std::size_t k = 0; k < want->at(i).size(); ++k) {
      const double a = got->at(i)[k], b = want->at(i)[k];
      if (a == b || (std::isnan(a) && std::isnan(b))) continue;
      if (!(std::abs(a - b) <= 1e-9 * std::max(1.0, std::abs(b))))
        return fmt::format("output {}[{}]: {} instead of {}", i, k, a, b);
    }
  }
  return "";
}

// What the plan's kernels compute, in their order.
Program planned(const Program& program) {
  Program out = program;
  out.steps.clear();
  for (const KernelWork& work : plan_kernels(program)) {
    if (const auto* group = std::get_if<RowGroup>(&work)) {
      for (const RowPart& part : group->parts) out.steps.emplace_back(part.stage);
    } else if (const auto* product = std::get_if<ProductStage>(&work)) {
      Stage stage = product->stage;
      stage.body = binary(ScalarOp::kMul, product->a, product->b);
      out.steps.emplace_back(std::move(stage));
    } else {
      std::visit(
          [&](const auto& step) {
            if constexpr (std::is_constructible_v<Step, decltype(step)>)
              out.steps.emplace_back(step);
          },
          work);
    }
  }
  return out;
}

struct Versions {
  Program fused, split, planned;
};
Versions versions_of(const Program& program) {
  Versions out{program, program, {}};
  fuse(out.fused);
  out.split = out.fused;
  split_reductions(out.split, 3);
  out.planned = planned(out.split);
  return out;
}

TEST(Fusion, RandomProblemsStayWhatTheyAre) {
  GeneratorOptions options;
  options.max_elements = 256;
  options.max_work = 1 << 13;
  std::uint64_t run = 0, fewer = 0, split = 0, groups = 0, products = 0;
  for (std::uint64_t index = 0; index < draws(260); ++index) {
    const auto problem = generate_problem(77, index, options);
    ASSERT_TRUE(problem) << problem.error().message();
    const Graph& graph = problem->definition.graph;
    const auto program = lower(graph);
    ASSERT_TRUE(program) << program.error().message();
    const Versions made = versions_of(*program);
    fewer += made.fused.steps.size() < program->steps.size() ? 1 : 0;
    split += made.split.steps.size() > made.fused.steps.size() ? 1 : 0;
    for (const KernelWork& work : plan_kernels(made.fused)) {
      groups += std::holds_alternative<RowGroup>(work) ? 1 : 0;
      products += std::holds_alternative<ProductStage>(work) ? 1 : 0;
    }
    // The sizes that were traced, then those of the definition's other workloads.
    for (const task::Workload& workload : problem->definition.problem.workloads) {
      Sizes sizes = graph.sizes;
      for (const auto& [axis, n] : workload.axes) sizes[axis] = n;
      if (work_of(*program, sizes) > 20'000 || !broken_condition(graph, sizes).value().empty())
        continue;
      const Numbers inputs = filled(*program, sizes, index);
      if (!interpret(*program, inputs, sizes)) continue;  // an index that is too large
      ++run;
      const std::string what = problem->name + "\n" + to_text(*program) + "becomes\n";
      const auto expect_same = [&](const Program& changed) {
        ASSERT_EQ(difference(*program, changed, sizes, inputs), "") << what << to_text(changed);
      };
      ASSERT_NO_FATAL_FAILURE(expect_same(made.fused));
      ASSERT_NO_FATAL_FAILURE(expect_same(made.split));
      ASSERT_NO_FATAL_FAILURE(expect_same(made.planned));
    }
  }
  EXPECT_GT(run, draws(300));
  EXPECT_GT(fewer, draws(100));
  EXPECT_GT(split, draws(50));
  EXPECT_GT(groups, draws(50));
  EXPECT_GT(products, draws(50));
}

// Steps are computed where another one reads them, by merge_epilogues() and inline_pointwise():
// what they read must be the same there.
TEST(Fusion, BuffersAreCompleteBeforeTheyAreRead) {
  GeneratorOptions options;
  options.max_elements = 256;
  std::uint64_t updates = 0;
  for (std::uint64_t index = 0; index < draws(200); ++index) {
    options.only_first = index % 2 == 0 ? "" : "index_add";
    const auto problem = generate_problem(78, index, options);
    ASSERT_TRUE(problem) << problem.error().message();
    const auto program = lower(problem->definition.graph);
    ASSERT_TRUE(program) << program.error().message();
    std::set<BufferId> read;
    for (const Step& step : program->steps) {
      if (const auto* scatter = std::get_if<Scatter>(&step)) {
        ++updates;
        EXPECT_FALSE(read.contains(scatter->out)) << problem->name << "\n" << to_text(*program);
      }
      if (const auto* sort = std::get_if<Sort>(&step)) read.insert(sort->in);
      for_each_load(step, [&](const Scalar::Load& load) { read.insert(load.buffer); });
    }
  }
  EXPECT_GT(updates, draws(10));
}

// Nodes over x [M, N] and w [K, N], float32.
Program program_of(const std::string& nodes, int output) {
  auto graph = graph_from_json(
      fmt::format(
          R"({{"schema": 1, "conditions": [], "sizes": {{"M": 3, "N": 40, "K": 5}}, "inputs": [
            {{"name": "x", "role": "input", "dtype": "float32", "shape": ["M", "N"]}},
            {{"name": "w", "role": "input", "dtype": "float32", "shape": ["K", "N"]}}],
            "nodes": [{}], "outputs": [{{"node": {}}}]}})",
          nodes, output),
      "test");
  EXPECT_TRUE(graph) << graph.error().message();
  auto program = lower(graph.value());
  EXPECT_TRUE(program) << program.error().message();
  return program.value();
}
constexpr const char* kSoftmax =
    R"({"op": "_softmax.default", "arguments": {"self": {"input": "x"}, "dim": 1, "half_to_float": false},
        "outputs": [{"dtype": "float32", "shape": ["M", "N"]}]})";
constexpr const char* kScores =
    R"({"op": "t.default", "arguments": {"self": {"input": "w"}}, "outputs": [{"dtype": "float32", "shape": ["N", "K"]}]},
       {"op": "mm.default", "arguments": {"self": {"input": "x"}, "mat2": {"node": 0}},
        "outputs": [{"dtype": "float32", "shape": ["M", "K"]}]},
       {"op": "relu.default", "arguments": {"self": {"node": 1}}, "outputs": [{"dtype": "float32", "shape": ["M", "K"]}]})";

TEST(Fusion, SoftmaxIsOneGroupOfRows) {
  Program program = program_of(kSoftmax, 0);
  fuse(program);
  EXPECT_EQ(program.steps.size(), 3U) << to_text(program);  // the exponentials are in their readers
  const std::vector<KernelWork> plan = plan_kernels(program);
  ASSERT_EQ(plan.size(), 1U);
  const auto& group = std::get<RowGroup>(plan[0]);
  ASSERT_EQ(group.rows.size(), 1U);
  EXPECT_EQ(group.rows[0].extent.python(), "M");
  ASSERT_EQ(group.parts.size(), 3U);
  for (std::size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(group.parts[i].is_stored, i == 2) << i;
    ASSERT_EQ(group.parts[i].lanes.size(), 1U);
    EXPECT_EQ(group.parts[i].lanes[0].extent.python(), "N");
  }
}

TEST(Fusion, ActivationsAreEpiloguesOfProducts) {
  Program program = program_of(kScores, 2);
  fuse(program);
  const std::vector<KernelWork> plan = plan_kernels(program);
  ASSERT_EQ(plan.size(), 1U);
  const auto& product = std::get<ProductStage>(plan[0]);
  EXPECT_TRUE(product.batch.empty());
  EXPECT_EQ(count_of(product.m).python(), "M");
  EXPECT_EQ(count_of(product.n).python(), "K");
  EXPECT_EQ(count_of(product.k).python(), "N");
  EXPECT_NE(product.stage.epilogue, nullptr);
}

TEST(Fusion, FewLongReductionsAreSplit) {
  const Program program = program_of(
      R"({"op": "sum.dim_IntList", "arguments": {"self": {"input": "x"}, "dim": {"sizes": [1]}, "keepdim": false, "dtype": null},
          "outputs": [{"dtype": "float32", "shape": ["M"]}]})",
      0);
  Program split = program, whole = program, many = program;
  split_reductions(split, 10);
  EXPECT_EQ(split.steps.size(), 2U);
  split_reductions(whole, 11);  // fewer than four chunks
  EXPECT_EQ(whole.steps.size(), 1U);
  many.sizes["M"] = 1000;
  split_reductions(many, 10);
  EXPECT_EQ(many.steps.size(), 1U);
  for (const std::int64_t n : {1, 9, 10, 41}) {  // chunks that are not full, or empty but for one
    const Sizes sizes = {{"M", 2}, {"N", n}, {"K", 1}};
    EXPECT_EQ(difference(program, split, sizes, filled(program, sizes, 1)), "") << n;
  }
}

}  // namespace
}  // namespace kw::writer
