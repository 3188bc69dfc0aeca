// What every Triton file must have; tests/writer/triton_equality.py runs them.
#include "writer/triton/triton_source.h"

#include <map>
#include <regex>
#include <set>

#include <gtest/gtest.h>

#include "base/text.h"
#include "writer/author/author.h"
#include "writer/generate/generate.h"
#include "writer/generate/testing/problem_count.h"

namespace kw::writer {
namespace {

std::vector<std::string> matches(const std::string& text, const std::string& pattern) {
  const std::regex regex(pattern);
  std::vector<std::string> out;
  for (auto it = std::sregex_iterator(text.begin(), text.end(), regex);
       it != std::sregex_iterator(); ++it)
    out.push_back((*it)[1]);
  return out;
}
std::set<std::string> found(const std::string& text, const std::string& pattern) {
  const std::vector<std::string> all = matches(text, pattern);
  return {all.begin(), all.end()};
}

TEST(TritonSource, KernelsAreDefinedOnceAndLaunchedWithTheirPlan) {
  GeneratorOptions options;
  options.max_elements = 4096;
  std::set<std::string> strategies_that_differ;
  for (std::uint64_t index = 0; index < draws(60); ++index) {
    const auto problem = generate_problem(78, index, options);
    ASSERT_TRUE(problem) << problem.error().message();
    for (const ProblemForm* form : {&problem->module, &problem->definition}) {
      std::string before;
      for (const std::string_view strategy : strategies(task::Language::kTriton)) {
        const auto draft =
            write_kernel(form->graph, form->signature, task::Language::kTriton, strategy);
        ASSERT_TRUE(draft) << problem->name << ": " << draft.error().message();
        const std::string& source = draft->source;
        const std::string what = fmt::format("{} {}\n{}", problem->name, strategy, source);
        const std::vector<std::string> defined = matches(source, R"(@triton\.jit\ndef (\w+)\()");
        const std::set<std::string> launched = found(source, R"(\b(\w+_kernel)\[)");
        std::set<std::string> kernels;
        for (const std::string& one : defined) {
          EXPECT_TRUE(kernels.insert(one).second) << one << " is there twice in " << what;
          if (!one.ends_with("_kernel")) kernels.erase(one);  // a device function
        }
        EXPECT_EQ(kernels, launched) << what;
        for (const std::string& one : found(draft->plan.at(3), R"((\w+_kernel) )"))
          EXPECT_TRUE(kernels.contains(one)) << one << " of the plan is not in " << what;
        EXPECT_EQ(source.find("class ModelNew(nn.Module):") != std::string::npos,
                  form == &problem->module)
            << what;
        // No operator of torch but what makes and reshapes tensors: kernel_only allows no other.
        for (const std::string& one : found(source, R"(torch\.(\w+)\()"))
          EXPECT_TRUE(std::set<std::string>({"empty", "empty_like", "zeros"}).contains(one))
              << "torch." << one << " in " << what;
        if (!before.empty() && before != source) strategies_that_differ.emplace(strategy);
        before = source;
      }
    }
  }
  EXPECT_EQ(strategies_that_differ.size(), strategies(task::Language::kTriton).size() - 1);
}

// Whether the text is in some of the kernels for problems of one operator.
bool any_has(std::string_view op, std::string_view strategy, std::string_view text) {
  GeneratorOptions options;
  options.max_elements = 4096;
  options.min_depth = options.max_depth = 1;
  options.only_first = op;
  bool out = false;
  for (std::uint64_t index = 0; index < 12; ++index) {
    const auto problem = generate_problem(5, index, options);
    EXPECT_TRUE(problem) << problem.error().message();
    const ProblemForm& form = problem->definition;
    const auto draft = write_kernel(form.graph, form.signature, task::Language::kTriton, strategy);
    EXPECT_TRUE(draft) << draft.error().message();
    out = out || draft->source.find(text) != std::string::npos;
  }
  return out;
}

TEST(TritonSource, ScansSortsAndUpdatesGoByRowsWhereStrategiesHaveRows) {
  constexpr std::pair<const char*, const char*> kForms[] = {
      {"cumsum", "tl.cumsum("},
      {"cumprod", "tl.cumprod("},
      {"cummax", "tl.associative_scan("},
      {"sort", "for stage in tl.static_range(1, LOG_LANES + 1):"},
      {"topk", "LANES=triton.next_power_of_2("},
      {"index_add", "tl.atomic_add("}};
  for (const auto& [op, text] : kForms) {
    for (const char* strategy : {"tiled", "online", "blocked"})
      EXPECT_TRUE(any_has(op, strategy, text)) << op << " " << strategy;
    for (const char* strategy : {"fused", "naive"})
      EXPECT_FALSE(any_has(op, strategy, text)) << op << " " << strategy;
  }
}

// Sources of generated definitions in every strategy, line by line.
template <typename Visit>
void for_each_line(const Visit& visit) {
  GeneratorOptions options;
  options.max_elements = 4096;
  for (std::uint64_t index = 0; index < 60; ++index) {
    const auto problem = generate_problem(79, index, options);
    ASSERT_TRUE(problem) << problem.error().message();
    const ProblemForm& form = problem->definition;
    for (const std::string_view strategy : strategies(task::Language::kTriton)) {
      const auto draft =
          write_kernel(form.graph, form.signature, task::Language::kTriton, strategy);
      ASSERT_TRUE(draft) << problem->name << ": " << draft.error().message();
      for (const std::string& line : split(draft->source, '\n')) visit(line);
    }
  }
}

// A tile's number alone is taken apart in 32 bits: a division of 64 takes many times as long.
TEST(TritonSource, OffsetsHave64Bits) {
  std::map<std::string, int> forms;
  for_each_line([&](const std::string& line) {
    const std::string_view text = trim(line);
    if (text.find("tl.program_id(0)") != std::string::npos) {
      const bool is_tile = text == "tile = tl.program_id(0)";
      EXPECT_TRUE(is_tile || text.find("tl.program_id(0).to(tl.int64)") != std::string::npos)
          << text;
      ++forms[std::string(text.substr(0, text.find(' '))) +
              (text.find("ROWS") != std::string::npos ? " of rows" : "")];
    }
    // A number of programs and the number of a tile: wide before they are multiplied.
    if (text.find("tile //") != std::string::npos || text.find("tile %") != std::string::npos) {
      EXPECT_NE(text.find(").to(tl.int64)"), std::string::npos) << text;
    }
    EXPECT_EQ(text.find("tl.program_id(1)"), std::string::npos) << text;
  });
  for (const char* form : {"at", "row", "row of rows", "tile"}) EXPECT_GT(forms[form], 0) << form;
}

// TF32 keeps 10 bits of a factor.
TEST(TritonSource, ProductsOfFloat32AreOfFloat32) {
  int products = 0;
  for_each_line([&](const std::string& line) {
    if (line.find("tl.dot(") == std::string::npos) return;
    ++products;
    EXPECT_TRUE(line.find("input_precision=\"ieee\")") != std::string::npos ||
                line.find("out_dtype=tl.int32)") != std::string::npos)
        << line;
  });
  EXPECT_GT(products, 0);
}

struct Case {
  Graph graph;
  task::Signature signature;
};
// relu(x [rows, 2 * half] * scale).
Case scaled(const std::string& extent = "2 * half") {
  auto graph = graph_from_json(
      fmt::format(
          R"({{"schema": 1, "conditions": [], "sizes": {{"rows": 1237, "half": 1511}}, "inputs": [
            {{"name": "x", "role": "input", "dtype": "bfloat16", "shape": ["rows", "{0}"]}}], "nodes": [
            {{"op": "mul.Tensor", "arguments": {{"self": {{"input": "x"}}, "other": 0.5}},
              "outputs": [{{"dtype": "bfloat16", "shape": ["rows", "{0}"]}}]}},
            {{"op": "relu.default", "arguments": {{"self": {{"node": 0}}}}, "outputs": [{{"dtype": "bfloat16", "shape": ["rows", "{0}"]}}]}}],
            "outputs": [{{"node": 1}}]}})",
          extent),
      "test");
  EXPECT_TRUE(graph) << graph.error().message();
  Case out;
  out.graph = graph.value();
  const task::Argument x{.name = "x",
                         .role = task::Role::kInput,
                         .dtype = tensor::DType::kBFloat16,
                         .shape = {1237, 3022}};
  out.signature.inputs = {x};
  out.signature.outputs = {x};
  out.signature.outputs[0].name = "out";
  return out;
}
Result<TritonFile> file_of(const Case& one, std::string_view strategy, TritonForm form) {
  const auto program = lower(one.graph);
  EXPECT_TRUE(program) << program.error().message();
  for (const TritonStrategy& known : triton_strategies()) {
    if (known.name == strategy)
      return triton_source(one.graph, program.value(), one.signature, strategy, known.tuning, form);
  }
  return triton_source(one.graph, program.value(), one.signature, strategy, {}, form);
}

TEST(TritonSource, AFusedChainIsAsPeopleWriteIt) {
  const auto file = file_of(scaled(), "fused", TritonForm::kReturns);
  ASSERT_TRUE(file) << file.error().message();
  EXPECT_EQ(file->source, R"(import torch
import triton
import triton.language as tl


@triton.jit
def relu_kernel(x_ptr, out0_ptr, size, BLOCK: tl.constexpr):
    at = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    mask = at < size
    x = tl.load(x_ptr + at, mask=mask, other=0.0).to(tl.float32)
    v = tl.maximum((x * 0.5).to(tl.bfloat16).to(tl.float32), tl.full([], 0.0, tl.float32), propagate_nan=tl.PropagateNan.ALL)
    tl.store(out0_ptr + at, v.to(tl.bfloat16).to(tl.float32), mask=mask)


def run(x):
    rows = x.shape[0]
    half = x.shape[1] // 2
    x = x.contiguous()
    out0 = torch.empty((rows, 2 * half), device=x.device, dtype=torch.bfloat16)
    relu_kernel[(triton.cdiv(2 * half * rows, 1024),)](x, out0, 2 * half * rows, BLOCK=1024)
    return out0
)");
  EXPECT_EQ(file->tiling, std::vector<std::string>{"relu_kernel BLOCK=1024"});
}

TEST(TritonSource, FormsDifferInTheHostAlone) {
  const auto returns = file_of(scaled(), "naive", TritonForm::kReturns);
  const auto writes = file_of(scaled(), "naive", TritonForm::kWrites);
  ASSERT_TRUE(returns && writes);
  EXPECT_NE(writes->source.find("def run(x, out0):"), std::string::npos) << writes->source;
  EXPECT_EQ(returns->source.substr(0, returns->source.find("def run(")),
            writes->source.substr(0, writes->source.find("def run(")));
}

TEST(TritonSource, WhatCannotBeWrittenIsNamed) {
  const auto message = [](const Result<TritonFile>& file) {
    return file ? ""
                : fmt::format("{}: {}", to_string(file.error().code()), file.error().message());
  };
  EXPECT_EQ(message(file_of(scaled(), "fastest", TritonForm::kReturns)),
            "not_found: unknown strategy fastest");
  Case more = scaled();
  more.signature.inputs.push_back(more.signature.inputs[0]);
  EXPECT_EQ(message(file_of(more, "fused", TritonForm::kReturns)),
            "invalid_argument: the graph has 1 inputs and 1 outputs, the problem 2 and 1");
  EXPECT_EQ(message(file_of(scaled("half * half"), "fused", TritonForm::kReturns)),
            "unsupported: no input's shape tells the size half");
}

}  // namespace
}  // namespace kw::writer
