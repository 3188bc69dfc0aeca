// Sizes in C++ kernels: names, but where the kernel's form depends on one.
#include <map>
#include <regex>
#include <set>

#include <gtest/gtest.h>

#include "base/text.h"
#include "writer/author/author.h"
#include "writer/generate/generate.h"
#include "writer/generate/testing/problem_count.h"
#include "writer/loops/testing/graphs.h"

namespace kw::writer {
namespace {

task::Argument argument(const char* name, task::Role role, std::vector<std::int64_t> shape) {
  return {.name = name, .role = role, .dtype = tensor::DType::kFloat32, .shape = std::move(shape)};
}

task::Signature signature_of(std::vector<task::Argument> inputs, task::Argument out) {
  task::Signature signature;
  signature.inputs = std::move(inputs);
  signature.outputs = {std::move(out)};
  signature.output_axes.emplace_back();
  return signature;
}

std::string source(const Graph& graph, const task::Signature& signature,
                   std::string_view strategy) {
  const auto draft = write_kernel(graph, signature, task::Language::kCpp, strategy);
  EXPECT_TRUE(draft) << draft.error().message();
  return draft ? draft->source : "";
}

bool has(const std::string& text, std::string_view part) {
  return text.find(part) != std::string::npos;
}

std::string linear_relu(std::int64_t m, std::int64_t k, std::int64_t n, std::string_view strategy) {
  const TestGraph graph{
      .sizes = {{"M", m}, {"K", k}, {"N", n}},
      .inputs = {{"x", R"(["M", "K"])"}, {"w", R"(["K", "N"])"}},
      .nodes = {{"mm.default", R"("self": {"input": "x"}, "mat2": {"input": "w"})",
                 R"(["M", "N"])"},
                {"relu.default", R"("self": {"node": 0})", R"(["M", "N"])"}},
      .outputs = R"({"node": 1})"};
  return source(graph.graph(),
                signature_of({argument("x", task::Role::kInput, {m, k}),
                              argument("w", task::Role::kInput, {k, n})},
                             argument("out", task::Role::kOutput, {m, n})),
                strategy);
}

TEST(WriteCpp, TheFileHasNoSizeAndServesOthers) {
  for (const std::string_view strategy : strategies(task::Language::kCpp)) {
    const std::string text = linear_relu(1041, 1067, 1053, strategy);
    for (const char* size : {"1041", "1067", "1053", "static_assert"})
      EXPECT_FALSE(has(text, size)) << strategy << ": " << size;
    EXPECT_TRUE(text == linear_relu(1543, 1299, 1321, strategy)) << strategy;
  }
}

// A short sum becomes one expression of its terms.
TEST(WriteCpp, ASizeThatTheFormDependsOnIsANumberThatIsAsserted) {
  const TestGraph graph{
      .sizes = {{"M", 1041}, {"E", 7}, {"N", 1053}},
      .inputs = {{"x", R"(["M", "E", "N"])"}},
      .nodes = {{"sum.dim_IntList",
                 R"("self": {"input": "x"}, "dim": {"sizes": [1]}, "keepdim": false,
                    "dtype": null)",
                 R"(["M", "N"])"}},
      .outputs = R"({"node": 0})"};
  const std::string text = source(graph.graph(),
                                  signature_of({argument("x", task::Role::kInput, {1041, 7, 1053})},
                                               argument("out", task::Role::kOutput, {1041, 1053})),
                                  "blocked");
  EXPECT_TRUE(has(text, "static_assert(E == 7, \"written for E = 7\");"));
  for (const char* size : {"1041", "1053"}) EXPECT_FALSE(has(text, size)) << size;
}

// As torch has them: the last log-sum-exp of 4,096 numbers is 1.7e-6 off with steps in float, 6e-8
// so.
TEST(WriteCpp, RunningSumsAndProductsAreInDouble) {
  for (const auto& [op, step] :
       std::map<std::string, std::string>{{"cumsum", "a1 += "},
                                          {"cumprod", "a1 *= "},
                                          {"logcumsumexp", "a1 = kw_log_add_exp<double>(a1, "}}) {
    const std::string rest = op == "logcumsumexp" ? "" : R"(, "dtype": null)";
    const TestGraph graph{
        .sizes = {{"M", 1041}, {"N", 1053}},
        .inputs = {{"x", R"(["M", "N"])"}},
        .nodes = {{op + ".default", R"("self": {"input": "x"}, "dim": 1)" + rest, R"(["M", "N"])"}},
        .outputs = R"({"node": 0})"};
    for (const std::string_view strategy : strategies(task::Language::kCpp)) {
      const std::string text =
          source(graph.graph(),
                 signature_of({argument("x", task::Role::kInput, {1041, 1053})},
                              argument("out", task::Role::kOutput, {1041, 1053})),
                 strategy);
      for (const std::string& part :
           {std::string("double a1 = "), step, std::string("static_cast<float>(a1)")})
        EXPECT_TRUE(has(text, part)) << op << ", " << strategy << ": " << part << "\n" << text;
    }
  }
}

std::set<std::int64_t> numbers_in(const std::string& text, const std::string& pattern) {
  std::set<std::int64_t> out;
  const std::regex regex(pattern);
  for (std::sregex_iterator at(text.begin(), text.end(), regex), end; at != end; ++at) {
    if ((*at)[1].length() < 10) out.insert(std::stoll((*at)[1].str()));
  }
  return out;
}

std::set<std::int64_t> numbers_of_run(const std::string& source) {
  return numbers_in(source.substr(source.find("extern \"C\" void run(")), R"(\b(\d+)\b)");
}

// A number that a size happens to be does not follow the size.
bool follows(const Graph& graph, const task::Signature& signature, std::string_view strategy,
             const std::string& size) {
  Graph other = graph;
  other.sizes[size] += 1'000'002;
  return numbers_of_run(source(other, signature, strategy)).contains(other.sizes[size]);
}

TEST(WriteCpp, ConditionsOfExtremesAreNotJoinedToBranches) {
  const auto text_of = [](const char* op) {
    const TestGraph graph{
        .sizes = {{"N", 4096}},
        .inputs = {{"x", R"(["N"])"}, {"y", R"(["N"])"}},
        .nodes = {{op, R"("self": {"input": "x"}, "other": {"input": "y"})", R"(["N"])"}},
        .outputs = R"({"node": 0})"};
    return source(graph.graph(),
                  signature_of({argument("x", task::Role::kInput, {4096}),
                                argument("y", task::Role::kInput, {4096})},
                               argument("out", task::Role::kOutput, {4096})),
                  "blocked");
  };
  const char* pragma = "#pragma GCC optimize(\"no-thread-jumps\")";
  EXPECT_TRUE(has(text_of("maximum.default"), pragma));
  EXPECT_TRUE(has(text_of("minimum.default"), pragma));
  EXPECT_FALSE(has(text_of("mul.Tensor"), pragma));
}

TEST(WriteCpp, GeneratedProblemsHaveNoSizesButThoseOfWindows) {
  int windows = 0, looked_at = 0;
  for (std::uint64_t i = 0; i < draws(200); ++i) {
    const auto problem = generate_problem(5, i);
    ASSERT_TRUE(problem) << problem.error().message();
    for (const ProblemForm* form : {&problem->module, &problem->definition}) {
      for (const std::string_view strategy : strategies(task::Language::kCpp)) {
        const std::string text = source(form->graph, form->signature, strategy);
        for (const std::int64_t size :
             numbers_in(text, R"(static_assert\(\w+ == (\d+), "written for)")) {
          ++windows;
          EXPECT_EQ(strategy, "blocked") << problem->name;
          EXPECT_LE(size, 16) << problem->name;
        }
        const std::set<std::int64_t> written = numbers_of_run(text);
        for (const auto& [name, value] : form->graph.sizes) {
          if (value <= 16 || !written.contains(value)) continue;
          ++looked_at;
          EXPECT_FALSE(follows(form->graph, form->signature, strategy, name))
              << problem->name << " " << strategy << ": " << name << "\n"
              << text;
        }
      }
    }
  }
  EXPECT_GT(windows, 0);
  EXPECT_GT(looked_at, 0);
}

TEST(WriteCpp, LoopsAndOffsetsHave64Bits) {
  // t0, t1: values of the problem, in its own dtypes.
  const std::regex narrow(
      R"(\b(?:for \((?!int64_t |;)|(?:int|int32_t|unsigned) (?!kw_hit|t\d)\w+ =))");
  int loops = 0;
  for (std::uint64_t i = 0; i < 60; ++i) {
    const auto problem = generate_problem(6, i);
    ASSERT_TRUE(problem) << problem.error().message();
    const ProblemForm& form = problem->definition;
    for (const std::string_view strategy : strategies(task::Language::kCpp)) {
      const std::string text = source(form.graph, form.signature, strategy);
      for (const std::string& line :
           split(text.substr(text.find("extern \"C\" void run(")), '\n')) {
        loops += has(line, "for (");
        EXPECT_FALSE(std::regex_search(line, narrow)) << line;
      }
    }
  }
  EXPECT_GT(loops, 1000);
}

}  // namespace
}  // namespace kw::writer
