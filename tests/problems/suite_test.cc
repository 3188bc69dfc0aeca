// The suite that is shipped: every problem loads, is laid out as docs/formats/policy.md says, and
// every example belongs to a problem.
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <sstream>

#include "task/candidate_source.h"
#include "task/problem_source.h"
#include "task/signature.h"

namespace kw::task {
namespace {

namespace fs = std::filesystem;

const fs::path kRoot = KW_SOURCE_DIR;

const std::vector<Problem>& suite() {
  static const std::vector<Problem> problems = [] {
    auto loaded = load_problems((kRoot / "problems").string(), {});
    EXPECT_TRUE(loaded) << loaded.error().message();
    return loaded ? std::move(*loaded) : std::vector<Problem>();
  }();
  return problems;
}

std::vector<const Problem*> definitions() {
  std::vector<const Problem*> out;
  for (const Problem& problem : suite()) {
    if (!problem.is_module()) out.push_back(&problem);
  }
  return out;
}

// Folders below `folder`, by name.
std::set<std::string> folders(const fs::path& folder) {
  std::set<std::string> out;
  for (const auto& entry : fs::directory_iterator(folder)) {
    if (entry.is_directory()) out.insert(entry.path().filename());
  }
  return out;
}

// "relu/good.cpp" for every example, "modules/mlp/good.py" for those of modules.
std::set<std::string> example_files() {
  std::set<std::string> out;
  for (const auto& entry : fs::recursive_directory_iterator(kRoot / "examples")) {
    if (entry.is_regular_file() && entry.path().extension() != ".md") {
      out.insert(fs::relative(entry.path(), kRoot / "examples"));
    }
  }
  return out;
}

TEST(Suite, FolderNamesAreDefinitionNames) {
  std::set<std::string> names;
  for (const Problem* problem : definitions()) names.insert(problem->name);
  std::set<std::string> expected = folders(kRoot / "problems");
  expected.erase("modules");
  EXPECT_EQ(names, expected);
  EXPECT_GE(names.size(), 32U);
}

TEST(Suite, CoversTheFamilies) {
  std::set<std::string> families;
  for (const Problem* problem : definitions()) families.insert(problem->policy.family);
  for (const char* family :
       {"elementwise", "activation", "reduction", "arg_reduction", "scan", "softmax", "norm",
        "matmul", "convolution", "pooling", "loss", "fused"}) {
    EXPECT_TRUE(families.contains(family)) << family;
  }
}

// The first workload is the timed one, by which a problem is known; the others are there to catch
// wrong kernels.
TEST(Suite, EveryProblemHasOneTimedWorkloadAndHardOnes) {
  std::set<std::string> uuids;
  for (const Problem* problem : definitions()) {
    SCOPED_TRACE(problem->name);
    EXPECT_GE(problem->workloads.size(), 3U);
    EXPECT_LE(problem->workloads.size(), 5U);
    for (std::size_t i = 0; i < problem->workloads.size(); ++i) {
      const std::string& uuid = problem->workloads[i].uuid;
      EXPECT_TRUE(uuids.insert(uuid).second) << uuid << " is used twice";
      const WorkloadPolicy& policy = problem->workload_policy(uuid);
      EXPECT_EQ(policy.timed, i == 0) << uuid;
      EXPECT_EQ(policy.targets, std::vector<std::string>{"cpu"});
      EXPECT_FALSE(policy.label.empty()) << uuid;
    }
  }
}

TEST(Suite, EveryWorkloadHasASignature) {
  for (const Problem* problem : definitions()) {
    for (const Workload& workload : problem->workloads) {
      auto signature = signature_of(problem->definition(), workload, problem->policy.statics);
      ASSERT_TRUE(signature) << problem->name << ": " << signature.error().message();
      EXPECT_FALSE(signature->outputs.empty());
    }
  }
}

// Rounding must not decide about a whole number, so its rule is stated.
TEST(Suite, IntegerOutputsNameTheirCheck) {
  for (const Problem* problem : definitions()) {
    for (const TensorSpec& output : problem->definition().outputs) {
      if (is_floating(output.dtype)) continue;
      auto policy = problem->policy.outputs.find(output.name);
      ASSERT_NE(policy, problem->policy.outputs.end()) << problem->name << "." << output.name;
      EXPECT_NE(policy->second.check, CheckKind::kValues) << problem->name << "." << output.name;
    }
  }
}

TEST(Examples, EveryProblemsFolderHasTheFourKinds) {
  std::set<std::string> problems = folders(kRoot / "problems");
  for (const std::string& name : folders(kRoot / "examples")) {
    if (name == "modules") continue;
    EXPECT_TRUE(problems.contains(name)) << name;
    std::multiset<std::string> kinds;
    for (const auto& entry : fs::directory_iterator(kRoot / "examples" / name))
      kinds.insert(entry.path().stem());
    EXPECT_EQ(kinds, (std::multiset<std::string>{"cheat", "good", "slow", "wrong"})) << name;
  }
  for (const std::string& name : folders(kRoot / "examples/modules")) {
    EXPECT_TRUE(fs::exists(kRoot / "problems/modules" / (name + ".py"))) << name;
  }
}

TEST(Examples, AllCanBeRead) {
  auto candidates = load_candidates(kRoot / "examples");
  ASSERT_TRUE(candidates) << candidates.error().message();
  EXPECT_EQ(candidates->size(), example_files().size());
}

// Rows of the README's tables begin "| problem | file |"; a problem's name may be left out when it
// is the row's above.
TEST(Examples, ReadmeListsAllOfThem) {
  std::ifstream readme(kRoot / "examples/README.md");
  ASSERT_TRUE(readme);
  std::multiset<std::string> listed;
  std::string problem;
  for (std::string line; std::getline(readme, line);) {
    std::istringstream cells(line);
    std::string before, first, second;
    if (!std::getline(cells, before, '|') || !std::getline(cells, first, '|') ||
        !std::getline(cells, second, '|'))
      continue;
    auto stripped = [](std::string text) {
      std::erase_if(text, [](char c) { return c == ' ' || c == '`'; });
      return text;
    };
    first = stripped(first), second = stripped(second);
    if (!first.empty()) problem = first;
    if (second.find('.') != std::string::npos) listed.insert(problem + "/" + second);
  }
  std::set<std::string> files = example_files();
  EXPECT_EQ(listed, std::multiset<std::string>(files.begin(), files.end()));
}

}  // namespace
}  // namespace kw::task
