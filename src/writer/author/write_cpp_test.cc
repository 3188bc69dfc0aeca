// Sizes in C++ kernels: names, but where the kernel's form depends on one.
#include "writer/author/write_cpp.h"

#include <gtest/gtest.h>

#include "writer/author/same_form.h"
#include "writer/loops/testing.h"

namespace kw::writer {
namespace {

task::Argument argument(const char* name, task::Role role, std::vector<std::int64_t> shape) {
  return {.name = name, .role = role, .dtype = task::DType::kFloat32, .shape = std::move(shape)};
}

task::Signature signature_of(std::vector<task::Argument> inputs, task::Argument out) {
  task::Signature signature;
  signature.inputs = std::move(inputs);
  signature.outputs = {std::move(out)};
  signature.output_axes.emplace_back();
  return signature;
}

std::string source(const TestGraph& graph, const task::Signature& signature,
                   std::string_view strategy) {
  const auto out = write_cpp(graph.graph(), signature, strategy, {});
  EXPECT_TRUE(out) << out.error().message();
  return out ? out->source : "";
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
  return source(graph,
                signature_of({argument("x", task::Role::kInput, {m, k}),
                              argument("w", task::Role::kInput, {k, n})},
                             argument("out", task::Role::kOutput, {m, n})),
                strategy);
}

TEST(WriteCpp, TheFileHasNoSizeAndServesOthers) {
  for (const std::string_view strategy : cpp_strategy_names()) {
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
  const std::string text = source(graph,
                                  signature_of({argument("x", task::Role::kInput, {1041, 7, 1053})},
                                               argument("out", task::Role::kOutput, {1041, 1053})),
                                  "blocked");
  EXPECT_TRUE(has(text, "static_assert(E == 7, \"written for E = 7\");"));
  for (const char* size : {"1041", "1053"}) EXPECT_FALSE(has(text, size)) << size;
}

TEST(FormOfSource, NamesAndNumbersAreAlikeLoopsAndVariablesAreNot) {
  const std::map<std::string, std::int64_t> sizes = {{"N", 64}, {"C", 3}};
  const FormOfSource number("for (i < 64) {\n  y = x[192 * i + 3] / 64.0f;\n}\n", sizes);
  EXPECT_EQ(
      number,
      FormOfSource("for (i < N) {\n  y = x[C * i * N + C] / static_cast<float>(N);\n}\n", sizes));
  EXPECT_FALSE(number ==
               FormOfSource("for (i < N) {\n  y = x[C * i * N + C % i] / 64.0f;\n}\n", sizes));
  EXPECT_FALSE(number ==
               FormOfSource("for (i < N) {\n  y = x[C * j * N + C] / 64.0f;\n}\n", sizes));
  EXPECT_FALSE(number ==
               FormOfSource("for (i < N)\n{\n  y = x[C * i * N + C] / 64.0f;\n}\n", sizes));
}

}  // namespace
}  // namespace kw::writer
