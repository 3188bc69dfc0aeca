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
  EXPECT_GE(names.size(), 110U);
}

// The list of docs/formats/policy.md.
const std::set<std::string> kFamilies = {
    "elementwise", "activation", "reduction", "arg_reduction", "scan",
    "softmax",     "norm",       "matmul",    "convolution",   "pooling",
    "loss",        "attention",  "gather",    "quantization",  "rotary",
    "sort",        "sampling",   "layout",    "fused"};

TEST(Suite, CoversTheFamilies) {
  std::map<std::string, int> families;
  for (const Problem* problem : definitions()) {
    families[problem->policy.family] += 1;
    EXPECT_TRUE(kFamilies.contains(problem->policy.family)) << problem->name;
    EXPECT_EQ(problem->definition().op_type, problem->policy.family) << problem->name;
  }
  for (const std::string& family : kFamilies) EXPECT_GE(families[family], 1) << family;
  EXPECT_GE(families["fused"], 30);
}

TEST(Suite, WorkloadsAreUniqueAndLabelled) {
  std::set<std::string> uuids;
  for (const Problem* problem : definitions()) {
    for (const Workload& workload : problem->workloads) {
      EXPECT_TRUE(uuids.insert(workload.uuid).second) << workload.uuid << " is used twice";
      EXPECT_FALSE(problem->workload_policy(workload.uuid).label.empty()) << workload.uuid;
    }
  }
}

std::vector<WorkloadPolicy> policies_for(const Problem& problem, Target target) {
  std::vector<WorkloadPolicy> out;
  for (const Workload& workload : problem.workloads) {
    const WorkloadPolicy& policy = problem.workload_policy(workload.uuid);
    if (policy.targets == std::vector{target}) out.push_back(policy);
  }
  return out;
}

// A problem is known by the first workload of a target, which is timed; the others are there to
// catch wrong kernels. Triton's interpreter is not timed.
TEST(Suite, EveryProblemHasWorkloadsForEveryTarget) {
  for (const Problem* problem : definitions()) {
    SCOPED_TRACE(problem->name);
    auto cpu = policies_for(*problem, Target::kCpu);
    auto interpret = policies_for(*problem, Target::kInterpret);
    auto cuda = policies_for(*problem, Target::kCuda);
    EXPECT_EQ(cpu.size() + interpret.size() + cuda.size(), problem->workloads.size());
    EXPECT_GE(cpu.size(), 3U);
    EXPECT_GE(interpret.size(), 2U);
    EXPECT_GE(cuda.size(), 2U);
    for (std::size_t i = 0; i < cpu.size(); ++i) EXPECT_EQ(cpu[i].timed, i == 0) << i;
    for (const WorkloadPolicy& policy : interpret) EXPECT_FALSE(policy.timed) << policy.label;
    EXPECT_TRUE(std::ranges::any_of(cuda, &WorkloadPolicy::timed));
  }
}

// Whoever takes the first workload gets the timed one of the cpu.
TEST(Suite, WorkloadsAreOrderedByTarget) {
  const std::vector<Target> order = {Target::kCpu, Target::kInterpret, Target::kCuda};
  for (const Problem* problem : definitions()) {
    auto place = [&](const Workload& workload) {
      return std::ranges::find(order, problem->workload_policy(workload.uuid).targets.at(0));
    };
    EXPECT_TRUE(std::ranges::is_sorted(problem->workloads, {}, place)) << problem->name;
  }
}

std::size_t total_bytes(const Signature& signature) {
  std::size_t bytes = 0;
  for (const auto* tensors : {&signature.inputs, &signature.statics, &signature.outputs})
    for (const Argument& tensor : *tensors) bytes += tensor.bytes();
  return bytes;
}

// What a program of Triton's interpreter costs, about a millisecond, bounds its workloads; cuda's
// must fill a large GPU without filling its memory.
TEST(Suite, SizesFitTheTarget) {
  for (const Problem* problem : definitions()) {
    for (const Workload& workload : problem->workloads) {
      const Target target = problem->workload_policy(workload.uuid).targets.at(0);
      auto signature = signature_of(problem->definition(), workload, problem->policy.statics);
      ASSERT_TRUE(signature) << problem->name << ": " << signature.error().message();
      std::size_t most = std::size_t{target == Target::kInterpret ? 16U : 4096U} << 20;
      EXPECT_LE(total_bytes(*signature), most) << problem->name << " for " << to_string(target);
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

TEST(Honest, EveryCandidateBelongsToAProblem) {
  const std::set<std::string> problems = folders(kRoot / "problems");
  std::map<std::string, int> by_language;
  for (const std::string& language : folders(kRoot / "tests/honest")) {
    for (const auto& entry : fs::directory_iterator(kRoot / "tests/honest" / language)) {
      EXPECT_TRUE(problems.contains(entry.path().stem())) << entry.path();
      by_language[language] += 1;
    }
  }
  EXPECT_EQ(by_language["cpp"], definitions().size());
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
