// Sizes: as people choose them, and the other sets that a problem comes with.
#include "writer/generate/sizes.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "writer/generate/generate.h"
#include "writer/generate/testing/problem_count.h"

namespace kw::writer::generate {
namespace {

constexpr std::uint64_t kSizesSeed = 23;

TEST(Sizes, HumanSizesAreLogUniformWithinTheirBounds) {
  Rng rng(kSizesSeed);
  constexpr int kDraws = 20000;
  constexpr std::int64_t kLow = 4, kHigh = 1 << 20;
  int odd = 0, powers = 0, tens = 0;
  double octaves[18] = {};
  for (int i = 0; i < kDraws; ++i) {
    const std::int64_t n = human_size(rng, kLow, kHigh);
    ASSERT_GE(n, kLow);
    ASSERT_LE(n, kHigh);
    odd += n % 2 == 1;
    powers += (n & (n - 1)) == 0;
    tens += n >= 50 && n % 10 == 0;
    ++octaves[static_cast<std::size_t>(std::lround(std::log2(static_cast<double>(n)) - 2)) % 18];
  }
  EXPECT_NEAR(odd, 0.23 * kDraws, 0.04 * kDraws);
  EXPECT_NEAR(powers, 0.47 * kDraws, 0.04 * kDraws);
  EXPECT_GT(tens, 0.1 * kDraws);
  for (int octave = 1; octave < 17; ++octave)  // those at the ends are half as wide
    EXPECT_NEAR(octaves[octave], kDraws / 18.0, 0.25 * kDraws / 18) << octave;
  EXPECT_EQ(human_size(rng, 7, 7), 7);
  EXPECT_EQ(human_size(rng, 9, 3), 9);
}

TEST(Sizes, OtherSizesDifferAndTheOddOnesAreOdd) {
  for (std::int64_t n = 2; n <= 5000; ++n) {
    const std::int64_t odd = other_size(SizeSet::kOdd, n), near = other_size(SizeSet::kNear, n);
    EXPECT_EQ(odd % 2, 1) << n;
    EXPECT_NE(odd, n);
    EXPECT_NE(near, n);
    EXPECT_NE(near, odd);
    EXPECT_GE(std::min(odd, near), 2);
    EXPECT_LE(odd, std::max<std::int64_t>(n, 5));
    EXPECT_LE(near, std::max<std::int64_t>(n, 12));
    if (n > 20) {
      EXPECT_NEAR(static_cast<double>(odd), 0.7 * static_cast<double>(n), 3);
    }
    EXPECT_GT(other_size(SizeSet::kOddAbove, n), n);
    EXPECT_EQ(other_size(SizeSet::kOddAbove, n) % 2, 1);
    EXPECT_GT(other_size(SizeSet::kAbove, n), other_size(SizeSet::kOddAbove, n));
  }
}

// A plan of one input and one value made of it.
Plan plan_of(const Dims& input, const Dims& made) {
  Plan out;
  for (const Dims* shape : {&input, &made}) {
    out.values.emplace_back();
    out.values.back().shape = *shape;
  }
  out.slots.emplace_back();
  return out;
}

TEST(Sizes, ADimensionThatWouldVanishTakesLargerSets) {
  const Dim n = {IntExpr::symbol("N"), 6}, window = {n.size - 5, 1};
  Plan plan = plan_of({n}, {window});
  plan.axes = {{"N", "N", 6}};
  EXPECT_FALSE(with_sizes(plan, {{"N", 5}}));
  const auto sets = other_sizes(plan, {"N"});
  ASSERT_EQ(sets.size(), 2U);
  EXPECT_EQ(sets[0].at("N"), 7);
  EXPECT_EQ(sets[1].at("N"), 9);
  EXPECT_TRUE(other_sizes(plan, {}).empty());
}

TEST(Sizes, FixedAxesOnesAndNumbersOfReferencesDoNotVary) {
  const auto dim = [](const char* name, std::int64_t n) { return Dim{IntExpr::symbol(name), n}; };
  Plan plan = plan_of({dim("A", 8), dim("B", 1), dim("C", 8)}, {dim("D", 4)});
  plan.axes = {{"A", "A", 8}, {"B", "B", 1}, {"C", "C", 8, true}, {"D", "D", 4}};
  EXPECT_EQ(free_axes(plan), (std::set<std::string>{"A", "D"}));
  plan.steps.emplace_back();
  plan.steps.back().params.push_back({"rows", dim("D", 4)});
  EXPECT_EQ(variable_axes(plan), (std::set<std::string>{"A"}));
}

// Every size set of a problem's two forms: axes of the definition, dimensions of the module.
TEST(Sizes, EveryProblemComesAtTwoOtherSizeSetsOneOdd) {
  GeneratorOptions large, interpreted;
  interpreted.max_elements = 1 << 22;
  interpreted.max_work = 32 * interpreted.max_elements;
  interpreted.interpreted_elements = 1 << 14;
  for (const GeneratorOptions& options : {large, interpreted}) {
    for (std::uint64_t index = 0; index < draws(400); ++index) {
      const auto problem = generate_problem(kSizesSeed, index, options);
      ASSERT_TRUE(problem) << problem.error().message();
      ASSERT_EQ(problem->resized_modules.size(), 2U) << problem->name;
      std::set<std::string> sources = {problem->module.problem.module().source};
      for (const task::Problem& other : problem->resized_modules)
        sources.insert(other.module().source);
      EXPECT_EQ(sources.size(), 3U) << problem->name;
      const auto& workloads = problem->definition.problem.workloads;
      ASSERT_EQ(workloads.size(), 3U) << problem->name;
      bool has_odd = false;
      for (std::size_t a = 0; a < workloads[0].axes.size(); ++a) {
        const std::int64_t shown = workloads[0].axes[a].second, n = workloads[1].axes[a].second;
        has_odd = has_odd || (n % 2 == 1 && n != shown);
      }
      EXPECT_TRUE(has_odd) << problem->name;
      EXPECT_NE(workloads[1].axes, workloads[2].axes) << problem->name;
      EXPECT_NE(workloads[0].axes, workloads[2].axes) << problem->name;
    }
  }
}

std::int64_t largest_of(const task::Signature& signature) {
  std::int64_t out = 0;
  for (const auto* list : {&signature.inputs, &signature.outputs}) {
    for (const task::Argument& one : *list) out = std::max(out, one.elements());
  }
  return out;
}

TEST(Sizes, ProblemsForAnInterpreterAreLargeBesideSmallSets) {
  GeneratorOptions options;
  options.max_elements = 1 << 24;
  options.max_work = 32 * options.max_elements;
  options.interpreted_elements = 1 << 14;
  constexpr std::uint64_t kProblems = 300;
  int large = 0, huge = 0;
  std::int64_t largest_axis = 0;
  for (std::uint64_t index = 0; index < kProblems; ++index) {
    const auto problem = generate_problem(kSizesSeed + 1, index, options);
    ASSERT_TRUE(problem) << problem.error().message();
    const std::int64_t shown = largest_of(problem->module.signature);
    EXPECT_LE(shown, options.max_elements) << problem->name;
    large += shown > 1 << 16;
    huge += shown > 1 << 20;
    for (const task::Argument& one : problem->module.signature.inputs) {
      for (const std::int64_t n : one.shape) largest_axis = std::max(largest_axis, n);
    }
    const task::Problem& definition = problem->definition.problem;
    const task::Problem& module = problem->module.problem;
    const auto of_module = module.policy.workloads.find(module.workloads[0].uuid);
    if (of_module == module.policy.workloads.end()) continue;
    EXPECT_EQ(of_module->second.targets, (std::vector{task::Target::kCpu, task::Target::kCuda}));
    EXPECT_FALSE(definition.is_for(definition.workloads[0].uuid, task::Target::kInterpret));
    for (std::size_t i = 1; i < definition.workloads.size(); ++i) {
      EXPECT_TRUE(definition.is_for(definition.workloads[i].uuid, task::Target::kInterpret));
      const auto at = task::signature_of(definition.definition(), definition.workloads[i]);
      ASSERT_TRUE(at);
      EXPECT_LE(largest_of(*at), 16 * options.interpreted_elements) << problem->name;
    }
  }
  EXPECT_GT(large, kProblems / 4);
  EXPECT_GT(huge, kProblems / 12);
  EXPECT_GT(largest_axis, 100000);
}

}  // namespace
}  // namespace kw::writer::generate
