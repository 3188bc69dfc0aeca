#include "writer/generate/generate.h"

#include <algorithm>
#include <map>
#include <set>
#include <thread>

#include <gtest/gtest.h>

#include "writer/author/author.h"
#include "writer/generate/testing/problem_count.h"
#include "writer/loops/loops.h"

namespace kw::writer {
namespace {

constexpr std::uint64_t kSeed = 11;

GeneratorOptions small() {
  GeneratorOptions out;
  out.max_elements = 4096;
  out.max_work = 1 << 18;
  return out;
}

std::string all_of(const GeneratedProblem& problem) {
  return problem.name + problem.module.problem.module().source +
         problem.definition.problem.definition().reference + to_json_text(problem.module.graph) +
         to_json_text(problem.definition.graph) + problem.steps;
}

// The signature's shapes are the graph's at its sizes.
void expect_same_shapes(const ProblemForm& form, const std::string& what) {
  std::vector<task::Argument> given = form.signature.inputs;
  given.insert(given.end(), form.signature.statics.begin(), form.signature.statics.end());
  ASSERT_EQ(given.size(), form.graph.inputs.size()) << what;
  const auto expect = [&](const task::Argument& argument, const TensorType& type) {
    ASSERT_EQ(argument.shape.size(), type.shape.size()) << what << " " << argument.name;
    EXPECT_EQ(argument.dtype, type.dtype) << what << " " << argument.name;
    for (std::size_t d = 0; d < type.shape.size(); ++d) {
      const auto n = type.shape[d].evaluate(form.graph.sizes);
      ASSERT_TRUE(n) << what << ": " << n.error().message();
      EXPECT_EQ(*n, argument.shape[d]) << what << " " << argument.name << "[" << d << "]";
    }
  };
  for (std::size_t i = 0; i < given.size(); ++i) {
    EXPECT_EQ(given[i].name, form.graph.inputs[i].name) << what;
    expect(given[i], form.graph.inputs[i].type);
  }
  ASSERT_EQ(form.signature.outputs.size(), form.graph.outputs.size()) << what;
  for (std::size_t i = 0; i < form.graph.outputs.size(); ++i)
    expect(form.signature.outputs[i], form.graph.type(form.graph.outputs[i]));
}

// A kernel's own names hide none of the problem's sizes.
void expect_sizes_are_seen(const ProblemForm& form, const std::string& what) {
  const auto draft = write_kernel(form.graph, form.signature, task::Language::kCpp, "blocked");
  ASSERT_TRUE(draft) << what << ": " << draft.error().message();
  const std::string& source = draft->source;
  const std::size_t run = source.find("extern \"C\" void run(");
  for (const auto& [size, value] : form.graph.sizes) {
    const std::string text = "int64_t " + size;
    int declared = 0;
    for (std::size_t at = source.find(text, run); at != std::string::npos;
         at = source.find(text, at + 1)) {
      const char next = source[at + text.size()];
      if (std::isalnum(static_cast<unsigned char>(next)) == 0 && next != '_') ++declared;
    }
    EXPECT_LE(declared, 1) << size << " of " << what << "\n" << source;
  }
}

TEST(Generate, EveryOperatorHasFiveWaysAndIsLowered) {
  std::set<std::string> names, first;
  for (const OperatorWays& one : generator_operators()) {
    EXPECT_TRUE(names.insert(one.name).second) << one.name << " is there twice";
    EXPECT_GE(one.module_ways, 5) << one.name;
    EXPECT_GE(one.definition_ways, 1) << one.name;
    GeneratorOptions options = small();
    options.only_first = one.name;
    options.max_depth = 1;
    for (std::uint64_t index = 0; index < 4; ++index) {
      const auto problem = generate_problem(kSeed, index, options);
      ASSERT_TRUE(problem) << one.name << ": " << problem.error().message();
      first.insert(problem->operators[0]);
      for (const ProblemForm* form : {&problem->module, &problem->definition}) {
        expect_same_shapes(*form, problem->name);
        const auto program = lower(form->graph);
        EXPECT_TRUE(program) << one.name << ": " << program.error().message();
      }
    }
  }
  EXPECT_GE(names.size(), 80U);
  // The others need what a drawn input need not be: positive, of several channels.
  EXPECT_GE(first.size(), names.size() * 3 / 4);
}

TEST(Generate, EveryProblemIsAProblem) {
  std::map<int, int> depths;
  std::map<std::string, int> families;
  for (std::uint64_t index = 0; index < 400; ++index) {
    const auto problem = generate_problem(kSeed, index);
    ASSERT_TRUE(problem) << problem.error().message();
    ++depths[problem->depth];
    ++families[problem->family];
    EXPECT_EQ(problem->renderings.size(), 2 * problem->operators.size());
    for (const ProblemForm* form : {&problem->module, &problem->definition})
      expect_same_shapes(*form, problem->name);
    if (index >= draws(400)) continue;
    for (const ProblemForm* form : {&problem->module, &problem->definition}) {
      const auto draft = write_kernel(form->graph, form->signature, task::Language::kCpp, "naive");
      ASSERT_TRUE(draft) << problem->name << ": " << draft.error().message();
    }
    expect_sizes_are_seen(problem->definition, problem->name);
  }
  EXPECT_EQ(depths.rbegin()->first, 8);
  for (int depth = 1; depth <= 8; ++depth) EXPECT_GE(depths[depth], 5) << depth;
  EXPECT_GE(families.size(), 10U);
}

TEST(Generate, EveryInputIsUsed) {
  int formulas = 0;
  for (std::uint64_t index = 0; index < 500; ++index) {
    const auto problem = generate_problem(kSeed, index, small());
    ASSERT_TRUE(problem) << problem.error().message();
    formulas += std::count(problem->operators.begin(), problem->operators.end(), "expression") > 0;
    const Graph& graph = problem->definition.graph;
    std::set<std::size_t> used;
    const auto see = [&](const ValueId& id) {
      if (id.is_input()) used.insert(id.input_index());
    };
    for (const Node& node : graph.nodes) for_each_value(node, see);
    EXPECT_EQ(used.size(), graph.inputs.size()) << all_of(*problem);
  }
  EXPECT_GT(formulas, 5);
}

TEST(Generate, AProblemDependsOnItsPlaceAlone) {
  constexpr int kProblems = 24;
  std::vector<std::string> forwards(kProblems), backwards(kProblems);
  std::jthread other([&] {
    for (int i = kProblems; i-- > 0;)
      backwards[static_cast<std::size_t>(i)] =
          all_of(*generate_problem(kSeed, static_cast<std::uint64_t>(i)));
  });
  for (int i = 0; i < kProblems; ++i)
    forwards[static_cast<std::size_t>(i)] =
        all_of(*generate_problem(kSeed, static_cast<std::uint64_t>(i)));
  other.join();
  EXPECT_EQ(forwards, backwards);
  EXPECT_EQ(std::set<std::string>(forwards.begin(), forwards.end()).size(), std::size_t{kProblems});
  EXPECT_NE(all_of(*generate_problem(kSeed + 1, 0)), forwards[0]);
}

TEST(Generate, TiersAreWhatTheOperatorsMakeThem) {
  std::map<int, int> counts;
  for (std::uint64_t index = 0; index < draws(400); ++index) {
    const auto problem = generate_problem(kSeed + 2, index, small());
    ASSERT_TRUE(problem) << problem.error().message();
    ++counts[problem->tier];
    EXPECT_GE(problem->tier, problem->depth > 3 ? 2 : 1);
  }
  for (int tier = 1; tier <= 5; ++tier) EXPECT_GE(counts[tier], draws(400) / 80) << tier;
  const auto tier_of = [](const char* name, int depth) {
    GeneratorOptions options = small();
    options.only_first = name;
    options.min_depth = options.max_depth = depth;
    return generate_problem(kSeed, 0, options)->tier;
  };
  EXPECT_EQ(tier_of("relu", 1), 1);
  EXPECT_EQ(tier_of("sum", 1), 2);
  EXPECT_EQ(tier_of("linear", 1), 2);
  EXPECT_EQ(tier_of("conv", 1), 3);
  EXPECT_EQ(tier_of("cumsum", 1), 3);
  EXPECT_EQ(tier_of("attention", 1), 4);
  EXPECT_GE(tier_of("conv", 4), 4);
}

TEST(Generate, OnlyWantedTiersAreDrawn) {
  for (const std::vector<int>& tiers : {std::vector<int>{1}, {1, 2}, {5}}) {
    GeneratorOptions options = small();
    options.tiers = tiers;
    std::set<int> seen;
    for (std::uint64_t index = 0; index < 60; ++index) {
      const auto problem = generate_problem(kSeed, index, options);
      ASSERT_TRUE(problem) << problem.error().message();
      seen.insert(problem->tier);
    }
    EXPECT_EQ(seen, std::set<int>(tiers.begin(), tiers.end()));
  }
  GeneratorOptions none = small();
  none.tiers = {5};
  none.max_depth = 3;
  const auto problem = generate_problem(kSeed, 0, none);
  ASSERT_FALSE(problem);
  EXPECT_NE(problem.error().message().find("are not of tier 5"), std::string::npos);
}

TEST(Generate, SomeProblemsAreInHalfPrecision) {
  std::map<tensor::DType, int> types;
  constexpr std::uint64_t kProblems = 600;
  for (std::uint64_t index = 0; index < kProblems; ++index) {
    const auto problem = generate_problem(kSeed + 3, index, small());
    ASSERT_TRUE(problem) << problem.error().message();
    const task::Argument& first = problem->module.signature.inputs[0];
    ++types[first.dtype];
    const bool half =
        first.dtype == tensor::DType::kFloat16 || first.dtype == tensor::DType::kBFloat16;
    for (const ProblemForm* form : {&problem->module, &problem->definition}) {
      for (const auto* list :
           {&form->signature.inputs, &form->signature.statics, &form->signature.outputs}) {
        for (const task::Argument& one : *list)
          EXPECT_FALSE(half && one.dtype == tensor::DType::kFloat32) << problem->name;
      }
    }
    const std::string& source = problem->module.problem.module().source;
    const bool says =
        source.find("half()") != std::string::npos || source.find("float16") != std::string::npos;
    EXPECT_EQ(says, half) << source;
  }
  for (const auto type : {tensor::DType::kFloat16, tensor::DType::kBFloat16})
    EXPECT_GT(types[type], static_cast<int>(kProblems) / 60) << tensor::to_string(type);
  EXPECT_GT(types[tensor::DType::kInt32], 3);
}

TEST(Generate, LimitsHold) {
  GeneratorOptions options = small();
  options.max_depth = options.min_depth = 2;
  for (std::uint64_t index = 0; index < 100; ++index) {
    const auto problem = generate_problem(kSeed, index, options);
    ASSERT_TRUE(problem);
    EXPECT_LE(problem->depth, 2);
    for (const task::Argument& one : problem->module.signature.inputs)
      EXPECT_LE(one.elements(), 4 * options.max_elements) << problem->name << " " << one.name;
  }
  options.only_first = "no_such";
  const auto wrong = generate_problem(kSeed, 0, options);
  ASSERT_FALSE(wrong);
  EXPECT_NE(wrong.error().message().find("no_such"), std::string::npos);
}

}  // namespace
}  // namespace kw::writer
