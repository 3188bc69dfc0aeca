// For tests: the real gym on a GPU, with a problem whose reference is 3 x + 1. Tests skip
// themselves, saying so, where there is no GPU.
#pragma once
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "cuda/device_facts.h"
#include "gym/gym.h"
#include "os/file.h"
#include "task/candidate_source.h"
#include "task/problem_source.h"

namespace kw::gym {

namespace fs = std::filesystem;

inline constexpr const char* kLineDefinition = R"({
  "name": "line", "op_type": "elementwise", "axes": {"N": {"type": "var"}},
  "inputs": {"x": {"shape": ["N"], "dtype": "float32"}},
  "outputs": {"y": {"shape": ["N"], "dtype": "float32"}},
  "reference": "def run(x):\n    return x * 3.0 + 1.0\n"})";
inline constexpr const char* kLineWorkloads =
    R"({"definition": "line", "solution": null, "workload": {"uuid": "small", "axes": {"N": 100003}, "inputs": {"x": {"type": "random"}}}, "evaluation": null}
{"definition": "line", "solution": null, "workload": {"uuid": "large", "axes": {"N": 16777216}, "inputs": {"x": {"type": "random"}}}, "evaluation": null}
)";
inline constexpr const char* kLinePolicy = R"(schema = 1
[workloads.small]
targets = ["cuda"]
timed = false
[workloads.large]
targets = ["cuda"]
)";
class CudaGymTest : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    folder_ = std::make_unique<os::TempDir>(os::TempDir::make("kw-cuda-").value());
    if (!cuda::list_devices()) return;
    GymOptions options;
    options.programs_folder = fs::path(KW_BINARY_DIR) / "bin";
    options.cache_folder = folder_->path() / "cache";
    options.evidence_folder = folder_->path() / "evidence";
    gym_ = Gym::start(options).value();
    write("line/definition.json", kLineDefinition);
    write("line/workloads.jsonl", kLineWorkloads);
    write("line/policy.toml", kLinePolicy);
  }
  static void TearDownTestSuite() {
    gym_.reset();
    folder_.reset();
  }
  void SetUp() override {
    if (auto found = cuda::list_devices(); !found)
      GTEST_SKIP() << "no GPU: " << found.error().message();
    request_.options.target = task::Target::kCuda;
    request_.options.timing = false;
    request_.options.timeout_seconds = 2;
    request_.problem = task::load_problem(folder_->path() / "line", {}).value();
  }
  task::Verdict judge_source(const std::string& source) {
    request_.candidate = load(source);
    const auto begun = std::chrono::steady_clock::now();
    auto judged = gym_->submit(request_, std::chrono::steady_clock::time_point::max(), {}).get();
    std::printf("[ %.2f s ] %s\n",
                std::chrono::duration<double>(std::chrono::steady_clock::now() - begun).count(),
                judged ? described(*judged).c_str() : judged.error().message().c_str());
    if (judged) return *judged;
    ADD_FAILURE() << judged.error().message();
    return {};
  }
  static task::Candidate load(const std::string& source) {
    const bool is_python = source.starts_with("import");
    return task::load_candidate(write(is_python ? "candidate.py" : "candidate.cu", source)).value();
  }
  static std::string described(const task::Verdict& verdict) {
    std::string text(task::to_string(verdict.outcome));
    if (!verdict.violation.empty()) text += " " + verdict.violation;
    for (const auto& workload : verdict.workloads)
      for (const auto& diagnostic : workload.diagnostics) text += "; " + diagnostic.message;
    for (const auto& diagnostic : verdict.diagnostics) text += "; " + diagnostic.message;
    return text;
  }
  static void show(const task::Verdict& verdict, const char* against) {
    std::printf("[ times ] %.4f ms, %s %.4f ms: %s\n", verdict.times->candidate_ms, against,
                verdict.times->reference_ms,
                verdict.speedup ? fmt::format("{:.4f} ({:.4f} to {:.4f})", verdict.speedup->median,
                                              verdict.speedup->low, verdict.speedup->high)
                                      .c_str()
                                : "none");
  }
  static fs::path write(const std::string& name, const std::string& text) {
    const fs::path path = folder_->path() / name;
    fs::create_directories(path.parent_path());
    std::ofstream(path) << text;
    return path;
  }

  static inline std::unique_ptr<os::TempDir> folder_;
  static inline std::unique_ptr<Gym> gym_;  // one for all tests; null without a GPU
  EvalRequest request_;
};

}  // namespace kw::gym
