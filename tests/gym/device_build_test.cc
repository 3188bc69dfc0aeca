// Device builds in real sandboxes with real NVRTC: no GPU is needed. Skipped where there is none.
#include <chrono>
#include <filesystem>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cuda/library.h"
#include "gym/supervisor/device_builder.h"
#include "os/file.h"
#include "task/candidate_source.h"
#include "task/problem_source.h"
#include "task/resolved_plan.h"

namespace kw::gym {
namespace {

using ::testing::HasSubstr;

constexpr const char* kSource = R"j(
// scratch: {"name": "partial", "bytes": "4 * rows", "zeroed": true}
// launch: {"kernel": "sums", "grid": ["rows"], "block": [256], "arguments": ["x", "partial"]}
// launch: {"kernel": "finish", "grid": ["cdiv(rows, 64)"], "block": [64], "arguments": ["partial", "y", {"int64": "rows"}]}
extern "C" __global__ void sums(const float* x, float* partial) {
  float sum = 0;
  for (int i = threadIdx.x; i < columns; i += 256) sum += x[blockIdx.x * columns + i];
  atomicAdd(partial + blockIdx.x, sum);
}
extern "C" __global__ void finish(const float* partial, float* y, long long rows) {
  long long i = blockIdx.x * 64LL + threadIdx.x;
  if (i < rows) y[i] = partial[i];
}
)j";

task::Signature signature(std::int64_t rows) {
  task::Signature out;
  out.inputs = {{.name = "x", .shape = {rows, 512}}};
  out.outputs = {{.name = "y", .role = task::Role::kOutput, .shape = {rows}}};
  out.axes = {{"rows", rows}};
  out.constants = {{"columns", 512}};
  out.input_axes = {{"rows", "columns"}};
  out.output_axes = {{"rows"}};
  return out;
}

class DeviceBuildTest : public ::testing::Test {
 protected:
  void SetUp() override {
    auto tools = resolve_cuda(cuda::cuda_library_folders(), {});
    if (!tools) GTEST_SKIP() << tools.error().message();
    GymOptions options;
    options.programs_folder = KW_BINARY_DIR "/bin";
    programs_ = find_programs(options).value();
    launchers_ = Launchers::start(programs_, sandbox::Level::kNone).value();
    roles_ = std::make_unique<Roles>(*launchers_, programs_);
    lease_ = std::make_unique<HostLease>(TimingLock::open().value(), *launchers_, nullptr);
    builder_ = std::make_unique<DeviceBuilder>(
        *roles_, *lease_, std::move(tools),
        DeviceBuilderOptions{"sm_90a", folder_.path() / "builds", 2});
  }
  Result<DeviceBuild> build(const std::string& source, std::int64_t rows = 6) {
    return builder_->build(task::candidate_from_source("k.cu", source).value(), signature(rows));
  }

  os::TempDir folder_ = os::TempDir::make("kw-device-build-").value();
  Programs programs_;
  std::unique_ptr<Launchers> launchers_;
  std::unique_ptr<Roles> roles_;
  std::unique_ptr<HostLease> lease_;
  std::unique_ptr<DeviceBuilder> builder_;
};

TEST_F(DeviceBuildTest, FromASourceToAPlanThatResolves) {
  auto first = build(kSource);
  ASSERT_TRUE(first) << first.error().message();
  ASSERT_TRUE(first->plan) << first->mistake;
  EXPECT_FALSE(first->cached);
  const std::string cubin = os::read_to_end(first->cubin.get(), 1U << 20U).value();
  EXPECT_EQ(first->plan->modules.at(0).content.bytes, static_cast<std::int64_t>(cubin.size()));
  // The same build for another workload.
  auto second = build(kSource, 100);
  ASSERT_TRUE(second);
  EXPECT_TRUE(second->cached);
  auto resolved = task::resolve(*second->plan, signature(100));
  ASSERT_TRUE(resolved) << resolved.error().message();
  ASSERT_EQ(resolved->steps.size(), 3U);
  EXPECT_EQ(std::get<task::ResolvedLaunch>(resolved->steps[1]).grid[0], 100U);
  EXPECT_EQ(std::get<task::ResolvedLaunch>(resolved->steps[2]).grid[0], 2U);
}

TEST_F(DeviceBuildTest, EachCandidateGetsASpareOfItsOwn) {
  ASSERT_TRUE(builder_->fill());
  for (int i = 0; i < 6; ++i) {
    const bool right = i % 2 == 0;
    auto build = this->build(std::string(kSource) + (right ? "// " : "x ") + std::to_string(i));
    ASSERT_TRUE(build) << build.error().message();
    EXPECT_EQ(build->plan.has_value(), right) << build->mistake;
    if (!right) {
      EXPECT_THAT(build->mistake, HasSubstr("k.cu:14"));
    }
    RecordProperty("build_" + std::to_string(i) + "_ms", std::to_string(build->wall_ms));
  }
}

// Each for the sizes of its problem that a GPU judges.
TEST_F(DeviceBuildTest, HonestKernelsBecomePlansThatResolve) {
  namespace fs = std::filesystem;
  int count = 0;
  for (const fs::directory_entry& file :
       fs::directory_iterator(KW_SOURCE_DIR "/tests/honest/cuda")) {
    SCOPED_TRACE(file.path().filename());
    const auto problem =
        task::load_problem(fs::path(KW_SOURCE_DIR "/problems") / file.path().stem(), {});
    ASSERT_TRUE(problem) << problem.error().message();
    const auto candidate = task::load_candidate(file.path());
    ASSERT_TRUE(candidate) << candidate.error().message();
    for (const task::Workload& workload : problem->workloads) {
      if (problem->policy.workloads.at(workload.uuid).targets != std::vector{task::Target::kCuda})
        continue;
      const auto sizes =
          task::signature_of(std::get<task::Definition>(problem->body), workload).value();
      const auto built = builder_->build(*candidate, sizes);
      ASSERT_TRUE(built) << built.error().message();
      ASSERT_TRUE(built->plan) << built->mistake;
      const auto resolved = task::resolve(*built->plan, sizes);
      EXPECT_TRUE(resolved) << resolved.error().message();
      ++count;
    }
  }
  EXPECT_GE(count, 28);
}

}  // namespace
}  // namespace kw::gym
