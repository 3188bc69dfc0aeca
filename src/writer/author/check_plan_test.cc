// Plans are read back, the writer's fit, and planted defects are named.
#include "writer/author/check_plan.h"

#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "writer/author/author.h"
#include "writer/author/limit.h"
#include "writer/author/operator_chain.h"
#include "writer/generate/generate.h"
#include "writer/generate/testing/problem_count.h"
#include "writer/loops/testing/graphs.h"

namespace kw::writer {
namespace {

using task::Language;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr const char* kPlan =
    "operators: mm > relu\nlimit: memory\nstrategy: fused: loops: merged\ntiling: lanes=64\n";

std::string refusal(const std::string& answer) {
  const auto plan = parse_plan(answer);
  EXPECT_FALSE(plan);
  return plan ? "" : plan.error().message();
}

TEST(ParsePlan, ReadsTheFourLines) {
  const std::string list =
      "Here it is.\r\n\n* operators: mm > relu\r\n- limit: memory \n  strategy: fused: loops: "
      "merged\ntiling:lanes=64\nSo:\n```cpp\noperators: in code\n```\n";
  for (const std::string& answer : {std::string(kPlan), list}) {
    const auto plan = parse_plan(answer);
    ASSERT_TRUE(plan) << plan.error().message();
    EXPECT_EQ(plan->operators, "mm > relu");
    EXPECT_EQ(plan->limit, "memory");
    EXPECT_EQ(plan->strategy, "fused: loops: merged");
    EXPECT_EQ(plan->tiling, "lanes=64");
  }
}

TEST(ParsePlan, NamesTheLineThatIsWrong) {
  const std::string plan = kPlan;
  const auto with = [&](const std::string& part, const std::string& other) {
    std::string out = plan;
    return out.replace(out.find(part), part.size(), other);
  };
  EXPECT_EQ(refusal(""), R"(the plan has no line "operators")");
  EXPECT_EQ(refusal(with("limit: memory\n", "")), R"(the plan has no line "limit")");
  EXPECT_EQ(refusal("```\n" + plan + "```\n"), R"(the plan has no line "operators")");
  EXPECT_EQ(refusal(plan + "tiling: none\n"), R"(the plan has the line "tiling" twice)");
  EXPECT_EQ(refusal(with("lanes=64", "")), R"(the plan's line "tiling" is empty)");
  EXPECT_EQ(refusal(with("\nlimit", "\n\nlimit")),
            R"(the plan's line "limit" is not behind "operators")");
  EXPECT_EQ(refusal("limit: memory\n" + with("limit: memory\n", "")),
            R"(the plan's line "limit" is not behind "operators")");
}

TestGraph product(int size) {
  return {.sizes = {{"N", size}},
          .inputs = {{"x", R"(["N", "N"])"}, {"w", R"(["N", "N"])"}},
          .nodes = {{"mm.default", R"("self": {"input": "x"}, "mat2": {"input": "w"})",
                     R"(["N", "N"])"}},
          .outputs = R"({"node": 0})"};
}

TEST(Limit, IsArithmeticFromMoreThanTenOperationsAByte) {
  // 2 N^3 operations, 12 N^2 bytes.
  EXPECT_EQ(*limit_of(lowered(product(60))), "memory");
  EXPECT_EQ(*limit_of(lowered(product(61))), "arithmetic");
  TestGraph graph = product(61);
  graph.nodes = {{"add.Tensor", R"("self": {"input": "x"}, "other": {"input": "w"}, "alpha": 1)",
                  R"(["N", "N"])"}};
  EXPECT_EQ(*limit_of(lowered(graph)), "memory");
  // N log2 N comparisons of a row's 4 + 4 + 8 bytes: never.
  graph.nodes = {{"sort.default", R"("self": {"input": "x"}, "dim": 1, "descending": false)",
                  R"(["N", "N"]}, {"dtype": "int64", "shape": ["N", "N"])"}};
  EXPECT_EQ(*limit_of(lowered(graph)), "memory");
}

// x @ w, the mean of its rows, leaky ReLU: as a definition.
struct Example {
  Graph graph;
  task::Signature signature;

  explicit Example(const std::string& slope = "0.01", const std::string& dim = "1") {
    const TestGraph made{
        .sizes = {{"M", 200}, {"K", 160}, {"N", 120}},
        .inputs = {{"x", R"(["M", "K"])"}, {"w", R"(["K", "N"])"}},
        .nodes = {{"mm.default", R"("self": {"input": "x"}, "mat2": {"input": "w"})",
                   R"(["M", "N"])"},
                  {"mean.dim",
                   R"("self": {"node": 0}, "dim": {"sizes": [)" + dim +
                       R"(]}, "keepdim": true, "dtype": null)",
                   dim == "1" ? R"(["M", 1])" : R"([1, "N"])"},
                  {"leaky_relu.default", R"("self": {"node": 1}, "negative_slope": )" + slope,
                   dim == "1" ? R"(["M", 1])" : R"([1, "N"])"}},
        .outputs = R"({"node": 2})"};
    graph = made.graph();
    const auto argument = [](const char* name, task::Role role, std::vector<std::int64_t> shape) {
      return task::Argument{
          .name = name, .role = role, .dtype = tensor::DType::kFloat32, .shape = std::move(shape)};
    };
    signature.inputs = {argument("x", task::Role::kInput, {200, 160}),
                        argument("w", task::Role::kInput, {160, 120})};
    signature.outputs = {argument(
        "out", task::Role::kOutput,
        dim == "1" ? std::vector<std::int64_t>{200, 1} : std::vector<std::int64_t>{1, 120})};
    signature.output_axes.emplace_back();
  }

  std::string answer(Language language, std::string_view strategy,
                     const Tuning& tuning = {}) const {
    const auto draft = write_kernel(graph, signature, language, strategy, tuning);
    EXPECT_TRUE(draft) << draft.error().message();
    return draft ? answer_text(*draft) : "";
  }
  std::vector<std::string> misfits(Language language, const std::string& answer) const {
    const auto out = check_answer(graph, signature, language, answer);
    EXPECT_TRUE(out) << out.error().message();
    return out ? *out : std::vector<std::string>{};
  }
};

std::string with(std::string text, const std::string& part, const std::string& other) {
  const std::size_t at = text.find(part);
  EXPECT_NE(at, std::string::npos) << part << " is not in\n" << text;
  return at == std::string::npos ? text : text.replace(at, part.size(), other);
}

TEST(CheckPlan, PlantedDefectsAreNamed) {
  const Example example;
  for (const Language language : {Language::kCpp, Language::kTriton}) {
    const bool cpp = language == Language::kCpp;
    const std::string good = example.answer(language, strategies(language).front());
    ASSERT_THAT(example.misfits(language, good), IsEmpty()) << good;
    EXPECT_THAT(good, HasSubstr("operators: mm > mean(dim=[1], keepdim=True) > "
                                "leaky_relu(negative_slope=0.01)\nlimit: arithmetic\n"));
    const auto misfits = [&](const std::string& part, const std::string& other) {
      return example.misfits(language, with(good, part, other));
    };
    EXPECT_THAT(misfits("slope=0.01", "slope=0.02"),
                ElementsAre("operators: entry 3 is \"leaky_relu(negative_slope=0.02)\", not "
                            "\"leaky_relu(negative_slope=0.01)\""));
    EXPECT_THAT(misfits("mm > ", ""), ElementsAre(HasSubstr("operators: entry 1 is \"mean(dim")));
    EXPECT_THAT(misfits(" > leaky_relu(negative_slope=0.01)", ""),
                ElementsAre(HasSubstr("entry 3 is missing, not \"leaky_relu(")));
    EXPECT_THAT(misfits("\nlimit", " > relu\nlimit"),
                ElementsAre("operators: entry 4 is \"relu\", not there"));
    EXPECT_THAT(misfits("limit: arithmetic", "limit: memory"),
                ElementsAre("limit: \"memory\", not \"arithmetic\""));
    EXPECT_THAT(misfits("strategy: ", "strategy: un"),
                ElementsAre(HasSubstr(cpp ? "\"unblocked\" is none of blocked, fused"
                                          : "\"untiled\" is none of tiled, online")));
    EXPECT_THAT(misfits(cpp ? "blocked: " : "tiled: ", "naive: "),
                testing::Contains(HasSubstr("strategy: \"naive: ")));
    EXPECT_THAT(misfits("tiling: ", cpp ? "tiling: lane=64 " : "tiling: lane=64; "),
                ElementsAre(HasSubstr("tiling: unknown choice lane")));
    EXPECT_THAT(misfits("tiling: ", cpp ? "tiling: side_by_side=5 " : "tiling: block=5; "),
                ElementsAre(HasSubstr("=5: there are ")));
    EXPECT_THAT(misfits("tiling: ", cpp ? "tiling: lanes=many " : "tiling: block=many; "),
                ElementsAre(HasSubstr("=many")));
    EXPECT_THAT(misfits("limit: arithmetic\n", ""), ElementsAre("the plan has no line \"limit\""));
    EXPECT_THAT(misfits(" + ", " - "), ElementsAre(testing::MatchesRegex("line [0-9]+ is .*")));
  }
}

TEST(CheckPlan, AChangedTileNumberIsFound) {
  const Example example;
  const std::string cpp = example.answer(Language::kCpp, "blocked");
  // Allowed, and of another kernel than the one below it.
  EXPECT_THAT(example.misfits(Language::kCpp, with(cpp, "tile_rows=0", "tile_rows=4")),
              ElementsAre(testing::MatchesRegex("line [0-9]+ is .*")));
  EXPECT_THAT(
      example.misfits(Language::kCpp, with(cpp, "depth_block=256", "depth_block=256 lanes=64")),
      ElementsAre(HasSubstr("tiling: ")));
  const std::string triton = example.answer(Language::kTriton, "tiled");
  EXPECT_THAT(example.misfits(Language::kTriton, with(triton, "BLOCK_K=32", "BLOCK_K=64")),
              ElementsAre(HasSubstr("tiling: \"mm")));
  const std::string tuned = example.answer(Language::kTriton, "tiled", {{"product_k", 16}});
  EXPECT_THAT(tuned, HasSubstr("tiling: product_k=16; mm"));
  EXPECT_THAT(example.misfits(Language::kTriton, tuned), IsEmpty());
  EXPECT_THAT(example.misfits(Language::kTriton, with(tuned, "product_k=16", "product_k=64")),
              ElementsAre(HasSubstr("tiling: \"product_k=64; mm")));
}

TEST(CheckPlan, AnAnswerToAnotherGraphDoesNotFit) {
  const Example example;
  for (const Language language : {Language::kCpp, Language::kTriton}) {
    const std::string good = example.answer(language, strategies(language).front());
    EXPECT_THAT(Example("0.2").misfits(language, good), ElementsAre(HasSubstr("entry 3 is")));
    EXPECT_THAT(Example("0.01", "0").misfits(language, good),
                testing::Contains(HasSubstr("entry 2 is")));
  }
}

TEST(CheckPlan, EveryAnswerOfTheWriterFits) {
  GeneratorOptions options;
  options.max_elements = 4096;
  for (std::uint64_t index = 0; index < draws(20); ++index) {
    const auto problem = generate_problem(79, index, options);
    ASSERT_TRUE(problem) << problem.error().message();
    for (const ProblemForm* form : {&problem->module, &problem->definition}) {
      std::set<std::string> operators, limit;
      for (const Language language : {Language::kCpp, Language::kTriton}) {
        for (const std::string_view strategy : strategies(language)) {
          const Choice choice = choices(language, strategy)[index % 10];
          for (const Tuning& tuning : {Tuning(), Tuning{{choice.name, choice.values.back()}}}) {
            const auto draft =
                write_kernel(form->graph, form->signature, language, strategy, tuning);
            ASSERT_TRUE(draft) << problem->name << ": " << draft.error().message();
            const auto misfits =
                check_answer(form->graph, form->signature, language, answer_text(*draft));
            ASSERT_TRUE(misfits) << misfits.error().message();
            EXPECT_THAT(*misfits, IsEmpty()) << answer_text(*draft);
            operators.insert(draft->plan.at(0));
            limit.insert(draft->plan.at(1));
          }
        }
      }
      EXPECT_THAT(operators, ElementsAre("operators: " + operator_chain(form->graph)));
      EXPECT_EQ(limit.size(), 1U) << problem->name;
    }
  }
}

TEST(WrittenPlan, NamesBothLimitsOverProblems) {
  GeneratorOptions options;
  options.max_elements = 4096;
  std::set<std::string> limits;
  for (std::uint64_t index = 0; index < 20; ++index) {
    const auto problem = generate_problem(79, index, options);
    ASSERT_TRUE(problem) << problem.error().message();
    const ProblemForm& form = problem->definition;
    const auto draft = write_kernel(form.graph, form.signature, Language::kCpp,
                                    strategies(Language::kCpp).front(), {});
    ASSERT_TRUE(draft) << problem->name << ": " << draft.error().message();
    limits.insert(draft->plan.at(1));
  }
  EXPECT_THAT(limits, ElementsAre("limit: arithmetic", "limit: memory"));
}

TEST(OperatorChain, HasEveryConstantThatChangesAValue) {
  const auto chain = [](const std::string& op, const std::string& arguments) {
    return operator_chain(
        TestGraph{.sizes = {{"N", 8}},
                  .inputs = {{"x", R"(["N"])"}},
                  .nodes = {{op, R"("self": {"input": "x"}, )" + arguments, R"(["N"])"}},
                  .outputs = R"({"node": 0})"}
            .graph());
  };
  EXPECT_EQ(chain("gelu.default", R"("approximate": "tanh")"), "gelu(approximate=tanh)");
  EXPECT_EQ(chain("gelu.default", R"("approximate": "none")"), "gelu");
  EXPECT_EQ(chain("celu.default", R"("alpha": 0.5)"), "celu(alpha=0.5)");
  EXPECT_EQ(chain("celu.default", R"("alpha": 1.0)"), "celu");
  EXPECT_EQ(chain("mul.Tensor", R"("other": 0.5)"), "mul(0.5)");
}

}  // namespace
}  // namespace kw::writer
