// Other people's rows as samples.
#include "data/import.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "data/python_rename.h"
#include "data/testing/session.h"
#include "prompt/testing/problems.h"

namespace kw::data {
namespace {

using testing::HasSubstr;
using testing::Not;

constexpr const char* kBook =
    "import torch\nimport torch.nn as nn\n\n\nclass Gate(nn.Module):\n    # Gate of a Gate\n"
    "    def __init__(self, size, bias=True, scale=0.5):\n        super(Gate, self).__init__()\n\n"
    "    def forward(self, x):\n        return x\n\n\ndef get_inputs():\n    return "
    "[torch.rand([4, "
    "4])]\n\n\ndef get_init_inputs():\n    return [[], {'size': 4, 'scale': 2.0}]\n";

Json book_row() {
  return {{"uuid", 17},
          {"entry_point", "Gate"},
          {"module_name", "Gate"},
          {"python_code", kBook},
          {"triton_code", "import triton\n\nclass GateNew(nn.Module):\n    pass\n"},
          {"repo_name", "a/b"},
          {"licenses", {"MIT"}},
          {"synthetic", false}};
}

TEST(Import, KernelBookRowsGetKernelBenchsForm) {
  ImportOptions options;
  options.dataset = "KernelBook";
  auto sample = sample_of_row(book_row(), 5, options);
  ASSERT_TRUE(sample) << sample.error().message();
  const std::string& source = sample->problem->source;
  EXPECT_THAT(source, HasSubstr("class Model(nn.Module):\n    # Gate of a Gate"));
  EXPECT_THAT(source, HasSubstr("super(Model, self)"));
  EXPECT_THAT(source, HasSubstr("return [4, True, 2.0]\n"));
  EXPECT_THAT(sample->answer(), HasSubstr("class ModelNew(nn.Module)"));
  EXPECT_THAT(sample->messages[0].content, HasSubstr("return [4, True, 2.0]"));
  EXPECT_EQ(sample->problem->name, "Gate_17");
  EXPECT_EQ(sample->group, sample->problem->hash);
  EXPECT_EQ(sample->language, "triton");
  EXPECT_EQ(sample->origin["row"], 5);
  EXPECT_EQ(sample->origin["licences"].dump(), R"(["MIT"])");
  EXPECT_TRUE(sample_from_json(*parse_json(to_line(*sample))));
  EXPECT_TRUE(task::problem_of(*sample->problem, "test"));
  options.answers = false;
  EXPECT_FALSE(sample_of_row(book_row(), 5, options)->answered());
}

TEST(Import, RowsAreRefusedWithTheColumn) {
  const auto error_with = [](const char* column, const Json& value,
                             std::vector<std::string> licences = {}) {
    Json row = book_row();
    row[column] = value;
    ImportOptions options;
    options.licences = std::move(licences);
    auto sample = sample_of_row(row, 1, options);
    return sample ? "" : sample.error().message();
  };
  EXPECT_THAT(error_with("entry_point", "Other"), HasSubstr("no class Other"));
  EXPECT_THAT(error_with("entry_point", "a b"), HasSubstr("entry_point"));
  EXPECT_THAT(error_with("python_code", nullptr), HasSubstr("expected columns"));
  EXPECT_THAT(error_with("python_code", 3), HasSubstr("python_code"));
  EXPECT_THAT(error_with("triton_code", "class Gate: pass"),
              HasSubstr("triton_code has no GateNew"));
  EXPECT_EQ(error_with("licenses", Json::array({"MIT"}), {"MIT", "BSD"}), "");
  EXPECT_THAT(error_with("licenses", Json::array({"MIT", "GPL-3.0"}), {"MIT"}),
              HasSubstr("GPL-3.0"));
  EXPECT_THAT(error_with("licenses", nullptr, {"MIT"}), HasSubstr("no licence"));
  std::string source = kBook;
  source.replace(source.find("get_inputs"), 10, "inputs");
  EXPECT_THAT(error_with("python_code", source), HasSubstr("get_inputs"));
}

TEST(Import, ChatsComeInTwoForms) {
  auto pair = sample_of_row({{"prompt", "Hi"}, {"completion", "Hello"}}, 1, {});
  ASSERT_TRUE(pair) << pair.error().message();
  auto list = sample_of_row(*parse_json(R"({"messages": [{"role": "user", "content": "Hi"},
                      {"role": "assistant", "content": "Hello", "name": "x"}], "license": "mit"})"),
                            2, {});
  ASSERT_TRUE(list) << list.error().message();
  EXPECT_EQ(pair->id, list->id);
  EXPECT_EQ(list->origin["licences"][0], "mit");
  EXPECT_EQ(list->kind, Kind::kChat);
  EXPECT_TRUE(sample_from_json(*parse_json(to_line(*list))));
  auto empty = sample_of_row({{"prompt", "Hi"}, {"completion", " "}}, 1, {});
  ASSERT_FALSE(empty);
  EXPECT_THAT(empty.error().message(), HasSubstr("empty assistant"));
}

TEST(Import, WorkloadsWithInputsInFilesAreLeftOut) {
  task::Problem problem = double_problem();
  const std::size_t whole = problem.workloads.size();
  ASSERT_GT(whole, 0U);
  task::Workload filed = problem.workloads[0];
  filed.uuid = "filed";
  filed.inputs.begin()->second = task::SafetensorsInput{};
  problem.workloads.insert(problem.workloads.begin(), filed);
  problem.policy.workloads["filed"] = {};
  ImportOptions options;
  options.language = task::Language::kCpp;
  EXPECT_EQ(workloads_in_files(problem), 1U);
  auto sample = question_about(problem, options);
  ASSERT_TRUE(sample) << sample.error().message();
  EXPECT_EQ(sample->problem->workloads.size(), whole);
  const auto left = task::problem_of(*sample->problem, "test");
  EXPECT_TRUE(left) << left.error().message();
  problem.workloads = {filed};
  sample = question_about(problem, options);
  ASSERT_FALSE(sample);
  EXPECT_THAT(sample.error().message(), HasSubstr("stands alone"));
}

TEST(Import, ModulesInCppAreAskedForWithTheirInterface) {
  const task::Problem module = prompt::linear_module();
  ImportOptions options;
  options.language = task::Language::kCpp;
  EXPECT_FALSE(question_about(module, options));
  int described = 0;
  options.describe = [&](const task::Problem& problem) -> Result<task::Signature> {
    ++described;
    EXPECT_EQ(problem.hash, module.hash);
    task::Signature out;
    task::Argument x;
    x.name = "x";
    x.shape = {4};
    out.inputs = {x};
    x.name = "out";
    x.role = task::Role::kOutput;
    out.outputs = {x};
    return out;
  };
  const auto sample = question_about(module, options);
  ASSERT_TRUE(sample) << sample.error().message();
  EXPECT_EQ(described, 1);
  EXPECT_EQ(sample->language, "cpp");
  EXPECT_EQ(sample->kind, Kind::kConvert);
  EXPECT_THAT(sample->messages[0].content, HasSubstr("void run("));
  EXPECT_THAT(sample->messages[0].content, HasSubstr("class Model"));
}

TEST(Import, InitInputsAreFlattenedOnlyWhereTheOrderIsKnown) {
  const auto flat = [](const std::string& parameters, const std::string& value) {
    const std::string source = "class M:\n    def __init__(self" + parameters +
                               "):\n        pass\n\ndef get_init_inputs():\n    return " + value;
    return flat_init_inputs(source, "M").substr(source.find("return ") + 7);
  };
  EXPECT_EQ(flat(", a", "[[3], {}]\n"), "[3]\n");
  EXPECT_EQ(flat(", a", "[[], {}]\n"), "[]\n");
  EXPECT_EQ(flat(", a, b", "[[3], {'b': [1, (2, 3)]}]\n"), "[3, [1, (2, 3)]]\n");
  EXPECT_EQ(flat(", a, b: int = -1, c=None", "[[], {'c': 1, 'a': 2}]\n"), "[2, -1, 1]\n");
  for (const char* kept : {"[[], {'b': 1}]\n", "[3, 4]\n", "[[1, 2], [3]]\n", "[[], dict(a=1)]\n"})
    EXPECT_EQ(flat(", a, b=f()", kept), kept);
  EXPECT_EQ(flat(", a, *, b", "[[1], {'b': 2}]\n"), "[[1], {'b': 2}]\n");
  EXPECT_EQ(flat(", a, b=f(), c=2", "[[1], {'c': 2}]\n"), "[[1], {'c': 2}]\n");
  EXPECT_EQ(rename_names("A = 'A'  # A\nb.A(AB)\n", {{"A", "C"}}), "C = 'A'  # A\nb.C(AB)\n");
}

}  // namespace
}  // namespace kw::data
