// Two problems, a definition and a module, and golden files (KW_ACCEPT=1 records them anew; those
// of a version only once) for tests of prompts.
#pragma once
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "task/problem.h"
#include "task/signature.h"

namespace kw::prompt {

inline task::Argument tensor(std::string name, task::Role role, std::vector<std::int64_t> shape,
                             std::string state_key = "") {
  task::Argument out;
  out.name = std::move(name);
  out.role = role;
  out.shape = std::move(shape);
  out.state_key = std::move(state_key);
  return out;
}

inline task::Problem scaled_softmax() {
  task::Definition d;
  d.name = "scaled_softmax";
  d.op_type = "softmax";
  d.description = "Softmax of scale * x + bias along each row.";
  d.axes = {{"M", std::nullopt, "rows"}, {"N", 512, ""}};
  d.inputs = {{"x", std::vector<std::string>{"M", "N"}, tensor::DType::kFloat32, ""},
              {"scale", std::nullopt, tensor::DType::kFloat32, ""},
              {"bias", std::vector<std::string>{"N"}, tensor::DType::kFloat32, ""}};
  d.outputs = {{"y", std::vector<std::string>{"M", "N"}, tensor::DType::kFloat32, ""},
               {"top", std::vector<std::string>{"M"}, tensor::DType::kInt64, ""}};
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

inline task::Signature softmax_signature(const task::Problem& problem) {
  auto signature =
      task::signature_of(problem.definition(), problem.workloads[0], problem.policy.statics);
  EXPECT_TRUE(signature) << signature.error().message();
  return *signature;
}

inline task::Problem linear_module() {
  task::Problem problem;
  problem.name = "7_Linear";
  task::Module module;
  module.source = "import torch\n\nclass Model(torch.nn.Module):\n    ...\n";
  problem.body = module;
  problem.workloads = {{"module", {}, {}}};
  return problem;
}

inline task::Signature linear_signature() {
  task::Signature signature;
  signature.inputs = {tensor("x", task::Role::kInput, {8, 16})};
  signature.statics = {tensor("fc_weight", task::Role::kStatic, {4, 16}, "fc.weight"),
                       tensor("steps", task::Role::kStatic, {4}, "steps")};
  signature.statics[1].is_buffer = true;
  signature.outputs = {tensor("out", task::Role::kOutput, {8, 4})};
  signature.constants = {{"in_features", 16}};
  return signature;
}

inline std::string content_of(const std::filesystem::path& path) {
  std::ostringstream out;
  out << std::ifstream(path).rdbuf();
  return out.str();
}

inline void expect_golden(const std::string& name, const std::string& text) {
  std::string path = std::string(KW_SOURCE_DIR) + "/src/prompt/testdata/" + name;
  if (std::getenv("KW_ACCEPT") != nullptr) std::ofstream(path) << text;
  EXPECT_EQ(content_of(path), text) << "KW_ACCEPT=1 records " << path;
}

// The folder's files, of names with a version: these and no others. One that is there is never
// recorded anew, so that a changed text needs another version.
inline void expect_versioned_goldens(const std::string& folder,
                                     const std::map<std::string, std::string>& texts) {
  const std::filesystem::path all = std::filesystem::path(KW_SOURCE_DIR) / folder;
  for (const auto& [name, text] : texts) {
    if (std::getenv("KW_ACCEPT") != nullptr && !std::filesystem::exists(all / name)) {
      std::filesystem::create_directories(all);
      std::ofstream(all / name) << text;
    }
    EXPECT_EQ(content_of(all / name), text)
        << "a changed text needs a new version; KW_ACCEPT=1 records " << all / name
        << " where it is not there";
  }
  for (const auto& file : std::filesystem::directory_iterator(all)) {
    EXPECT_TRUE(texts.contains(file.path().filename().string()))
        << file.path() << " is of no template";
  }
}

}  // namespace kw::prompt
