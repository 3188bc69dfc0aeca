// Prompts against golden files (KW_ACCEPT=1 records them anew), and what must never or always be in
// them.
#include "prompt/problem_prompt.h"

#include <cstdlib>
#include <fstream>
#include <sstream>

#include <gtest/gtest.h>

namespace kw::prompt {
namespace {

using task::DType;
using task::Language;

task::Argument tensor(std::string name, task::Role role, std::vector<std::int64_t> shape,
                      std::string state_key = "") {
  task::Argument out;
  out.name = std::move(name);
  out.role = role;
  out.shape = std::move(shape);
  out.state_key = std::move(state_key);
  return out;
}

task::Problem scaled_softmax() {
  task::Definition d;
  d.name = "scaled_softmax";
  d.op_type = "softmax";
  d.description = "Softmax of scale * x + bias along each row.";
  d.axes = {{"M", std::nullopt, "rows"}, {"N", 512, ""}};
  d.inputs = {{"x", std::vector<std::string>{"M", "N"}, DType::kFloat32, ""},
              {"scale", std::nullopt, DType::kFloat32, ""},
              {"bias", std::vector<std::string>{"N"}, DType::kFloat32, ""}};
  d.outputs = {{"y", std::vector<std::string>{"M", "N"}, DType::kFloat32, ""},
               {"top", std::vector<std::string>{"M"}, DType::kInt64, ""}};
  d.reference =
      "import torch\n\ndef run(x, scale, bias):\n    y = torch.softmax(scale * x + bias, dim=-1)\n "
      "   return y, y.argmax(-1)\n\n";
  task::Problem problem;
  problem.name = d.name;
  problem.body = d;
  task::Workload main{"main-uuid", {{"M", 4096}}, {{"scale", task::ScalarInput{0.5}}}};
  task::Workload odd{"odd-uuid", {{"M", 61}}, {{"scale", task::ScalarInput{2.0}}}};
  problem.workloads = {main, odd};
  problem.policy.any_shape = true;
  problem.policy.statics = {"bias"};
  problem.policy.library = task::Library::kKernelOnly;
  problem.policy.outputs["top"] = {task::CheckKind::kArgmaxOf, "y", -1, true, 0};
  problem.policy.workloads["odd-uuid"].timed = false;
  problem.policy.workloads["odd-uuid"].label = "secret label";
  problem.policy.workloads["odd-uuid"].inputs["x"].distribution = task::Distribution::kSpikes;
  return problem;
}

task::Signature softmax_signature(const task::Problem& problem) {
  auto signature =
      task::signature_of(problem.definition(), problem.workloads[0], problem.policy.statics);
  EXPECT_TRUE(signature) << signature.error().message();
  return *signature;
}

task::Problem linear_module() {
  task::Problem problem;
  problem.name = "7_Linear";
  task::Module module;
  module.source = "import torch\n\nclass Model(torch.nn.Module):\n    ...\n";
  problem.body = module;
  problem.workloads = {{"module", {}, {}}};
  return problem;
}

task::Signature linear_signature() {
  task::Signature signature;
  signature.inputs = {tensor("x", task::Role::kInput, {8, 16})};
  signature.statics = {tensor("fc_weight", task::Role::kStatic, {4, 16}, "fc.weight"),
                       tensor("steps", task::Role::kStatic, {4}, "steps")};
  signature.statics[1].is_buffer = true;
  signature.outputs = {tensor("out", task::Role::kOutput, {8, 4})};
  signature.constants = {{"in_features", 16}};
  return signature;
}

std::string prompt(const task::Problem& problem, const task::Signature& signature,
                   Language language, const PromptOptions& options = {}) {
  auto text = problem_prompt(problem, signature, language, options);
  EXPECT_TRUE(text) << text.error().message();
  return text ? *text : "";
}

void expect_golden(const std::string& name, const std::string& text) {
  std::string path = std::string(KW_SOURCE_DIR) + "/src/prompt/testdata/" + name;
  if (std::getenv("KW_ACCEPT") != nullptr) std::ofstream(path) << text;
  std::ostringstream golden;
  golden << std::ifstream(path).rdbuf();
  EXPECT_EQ(golden.str(), text) << "KW_ACCEPT=1 records " << path;
}

TEST(ProblemPrompt, Golden) {
  task::Problem softmax = scaled_softmax();
  PromptOptions options;
  options.machine = "a CPU, 2 cores";
  options.build_flags = {"-O3", "-march=native"};
  options.optional_flags = {"-ffast-math", "-funroll-loops"};
  expect_golden("softmax_cpp.md",
                prompt(softmax, softmax_signature(softmax), Language::kCpp, options));
  expect_golden("softmax_python.md",
                prompt(softmax, softmax_signature(softmax), Language::kPython));
  expect_golden("linear_cpp.md", prompt(linear_module(), linear_signature(), Language::kCpp));
  expect_golden("linear_triton.md", prompt(linear_module(), linear_signature(), Language::kTriton));
}

TEST(ProblemPrompt, HidesWhatIsTested) {
  task::Problem softmax = scaled_softmax();
  for (Language language : {Language::kCpp, Language::kPython, Language::kTriton}) {
    std::string text = prompt(softmax, softmax_signature(softmax), language);
    EXPECT_EQ(text.find("spikes"), std::string::npos);
    EXPECT_EQ(text.find("secret label"), std::string::npos);
    EXPECT_EQ(text.find("odd-uuid"), std::string::npos);
  }
}

TEST(ProblemPrompt, RulesFollowThePolicy) {
  task::Problem softmax = scaled_softmax();
  auto text = [&] { return prompt(softmax, softmax_signature(softmax), Language::kCpp); };
  EXPECT_NE(text().find("no library of kernels"), std::string::npos);
  EXPECT_NE(text().find("Any values of the variable axes"), std::string::npos);
  EXPECT_EQ(text().find("equal bits"), std::string::npos);
  softmax.policy.library = task::Library::kAnything;
  softmax.policy.any_shape = false;
  softmax.policy.deterministic = true;
  EXPECT_NE(text().find("Any installed library"), std::string::npos);
  EXPECT_NE(text().find("Only the workloads listed"), std::string::npos);
  EXPECT_NE(text().find("equal bits"), std::string::npos);
}

TEST(ProblemPrompt, SaysWhichLanguagesThereAre) {
  task::Problem softmax = scaled_softmax();
  auto text = problem_prompt(softmax, softmax_signature(softmax), Language::kCubin);
  ASSERT_FALSE(text);
  EXPECT_EQ(text.error().code(), ErrorCode::kUnsupported);
}

TEST(ProblemPrompt, EntryByKind) {
  EXPECT_EQ(entry_of(linear_module(), Language::kPython), "ModelNew");
  EXPECT_EQ(entry_of(linear_module(), Language::kCpp), "run");
  EXPECT_EQ(entry_of(scaled_softmax(), Language::kPython), "run");
}

}  // namespace
}  // namespace kw::prompt
