// Device code through real compilers: NVRTC where it is installed (requirements-test.txt has it),
// nvcc and ptxas where there is a toolkit.
#include <cstdlib>

#include "cuda/library.h"
#include "gym/compile/cubin.h"
#include "gym/compile/shared_object.h"
#include "task/candidate_source.h"
#include "testing/build_stage.h"

namespace kw::gym {
namespace {

using testing::HasSubstr;

constexpr const char* kBlend = R"j(
// launch: {"kernel": "blend", "grid": ["ceil_div(n, 256)"], "block": [256], "arguments": ["x", "y", {"int32": "n"}, "factor"]}
extern "C" __global__ void blend(const float* x, float* y, int n, float s) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = s * x[i] + width;
}
)j";

constexpr const char* kCopyPtx =
    R"j(// launch: {"kernel": "copy", "grid": [1], "block": [4], "arguments": ["x", "y"]}
.version 8.0
.target sm_90
.address_size 64
.visible .entry copy(.param .u64 x, .param .u64 y) {
  .reg .b32 %r<2>;
  .reg .f32 %f<2>;
  .reg .b64 %rd<8>;
  ld.param.u64 %rd1, [x];
  ld.param.u64 %rd2, [y];
  mov.u32 %r1, %tid.x;
  mul.wide.u32 %rd3, %r1, 4;
  add.s64 %rd4, %rd1, %rd3;
  add.s64 %rd5, %rd2, %rd3;
  ld.global.f32 %f1, [%rd4];
  st.global.f32 [%rd5], %f1;
  ret;
}
)j";

std::string without(std::string text, const std::string& part, const std::string& by) {
  text.replace(text.find(part), part.size(), by);
  return text;
}

class DeviceCompilerTest : public CompilerTest {
 protected:
  void SetUp() override {
    auto found = resolve_cuda(cuda::cuda_library_folders());
    if (!found) GTEST_SKIP() << found.error().message();
    tools_ = *found;
    // As the supervisor tells a compiler in its sandbox.
    if (!tools_.nvrtc.empty()) ::setenv("KW_CUDA_LIBRARIES", tools_.nvrtc.parent_path().c_str(), 1);
  }

  static task::Signature signature() {
    return signature_of(
        {{.name = "x", .shape = {4}}, {.name = "factor", .role = Role::kScalar, .value = 2.0}},
        {{.name = "y", .role = Role::kOutput, .shape = {4}}});
  }
  Result<CompilePlan> plan_of(const std::string& file, const std::string& source) {
    KW_TRY(task::Candidate candidate, task::candidate_from_source(file, source));
    return plan_device(candidate, signature(), "sm_90a", tools_);
  }
  BuildOutcome build_device(const std::string& file, const std::string& source) {
    auto plan = plan_of(file, source);
    EXPECT_TRUE(plan) << plan.error().message();
    return plan ? build(*plan) : BuildOutcome();
  }
  static std::vector<CubinKernel> kernels(const BuildOutcome& outcome) {
    return read_cubin(os::read_to_end(outcome.artifact.get(), kMaxArtifactBytes).value()).value();
  }
  void need(bool there, const char* name) {
    if (!there) GTEST_SKIP() << name << " is not installed";
  }

  CudaToolchain tools_;
};

// Tests of CUDA C++ run with each compiler that there is.
class CudaSourceTest : public DeviceCompilerTest, public testing::WithParamInterface<const char*> {
 protected:
  void SetUp() override {
    DeviceCompilerTest::SetUp();
    if (IsSkipped()) return;
    const bool nvrtc = std::string_view(GetParam()) == "nvrtc";
    if (!nvrtc) tools_.nvrtc.clear();
    need(nvrtc ? !tools_.nvrtc.empty() : !tools_.nvcc.empty(), GetParam());
  }
};

TEST_P(CudaSourceTest, KernelsAreBuiltWithTheProblemsConstants) {
  BuildOutcome outcome = build_device("main.cu", kBlend);
  ASSERT_EQ(outcome.status, BuildStatus::kBuilt) << outcome.diagnostics;
  const auto found = kernels(outcome);
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].name, "blend");
  ASSERT_TRUE(found[0].parameters);
  EXPECT_EQ(found[0].parameters->size(), 4U);
  // The same launches again need no compiler.
  auto again = find_build(plan_of("main.cu", kBlend).value(), cache_);
  ASSERT_TRUE(again && *again);
  EXPECT_TRUE((*again)->cached);
}

TEST_P(CudaSourceTest, MistakesNameTheLine) {
  BuildOutcome outcome = build_device("main.cu", without(kBlend, "s * x[i]", "s * z[i]"));
  EXPECT_EQ(outcome.status, BuildStatus::kFailed);
  EXPECT_THAT(outcome.diagnostics, HasSubstr("main.cu:5:25: error: identifier \"z\" is undefined\n"
                                             "    if (i < n) y[i] = s * z[i] + width;\n"
                                             "                          ^\n"));
  outcome = build_device("main.cu", without(kBlend, "int i =", "asm(\"foo.u32;\"); int i ="));
  EXPECT_EQ(outcome.status, BuildStatus::kFailed);
  EXPECT_THAT(outcome.diagnostics, HasSubstr("instruction: 'foo'"));
}

TEST_P(CudaSourceTest, LaunchesMustFitTheKernels) {
  BuildOutcome outcome = build_device("main.cu", without(kBlend, "void blend", "void blond"));
  EXPECT_EQ(outcome.status, BuildStatus::kFailed);
  EXPECT_EQ(outcome.diagnostics,
            "there is no kernel blend (there is blond) (did you mean \"blond\"?)\n");
  outcome = build_device("main.cu", without(kBlend, "extern \"C\" ", ""));
  EXPECT_THAT(outcome.diagnostics, HasSubstr("; declare it extern \"C\" __global__"));
  outcome = build_device("main.cu", without(kBlend, "int n,", "long long n,"));
  EXPECT_EQ(outcome.diagnostics,
            "kernel blend: parameter 2 has 8 bytes, but the launch's argument has 4\n");
  EXPECT_EQ(cache_.size().value().entries, 0U);
}

INSTANTIATE_TEST_SUITE_P(With, CudaSourceTest, testing::Values("nvrtc", "nvcc"),
                         [](const auto& test) { return std::string(test.param); });

TEST_F(DeviceCompilerTest, AWarmCompilerBuildsTheSame) {
  need(!tools_.nvrtc.empty(), "NVRTC");
  if (IsSkipped()) return;
  const CompilePlan plan = plan_of("main.cu", kBlend).value();
  BuildOutcome cold = build(plan);
  ASSERT_EQ(cold.status, BuildStatus::kBuilt) << cold.diagnostics;
  ASSERT_TRUE(cache_.clean());
  Process process(true);
  BuildOutcome warm = run_compile(plan, process.link(), cache_).value();
  ASSERT_EQ(warm.status, BuildStatus::kBuilt) << warm.diagnostics;
  EXPECT_EQ(os::read_to_end(warm.artifact.get(), kMaxArtifactBytes).value(),
            os::read_to_end(cold.artifact.get(), kMaxArtifactBytes).value());
}

TEST_F(DeviceCompilerTest, PtxIsAssembled) {
  need(!tools_.ptxas.empty(), "ptxas");
  if (IsSkipped()) return;
  BuildOutcome outcome = build_device("main.ptx", kCopyPtx);
  ASSERT_EQ(outcome.status, BuildStatus::kBuilt) << outcome.diagnostics;
  EXPECT_EQ(kernels(outcome).at(0).name, "copy");
  outcome = build_device("main.ptx", without(kCopyPtx, "mul.wide.u32 %rd3", "mul.wide.u32 %rd9"));
  EXPECT_EQ(outcome.status, BuildStatus::kFailed);
  EXPECT_THAT(outcome.diagnostics, HasSubstr("main.ptx:12: error: Unknown symbol '%rd9'\n"));
}

TEST_F(DeviceCompilerTest, CubinsAreTakenAsTheyAre) {
  const std::string cubin =
      os::read_file(std::string(KW_SOURCE_DIR) + "/src/gym/testdata/kernels.cubin").value();
  task::Candidate c;
  c.language = task::Language::kCubin;
  c.entry_file = "k.cubin";
  c.sources = {{"k.cubin", cubin}};
  task::LaunchDescriptor launch;
  launch.kernel = "nothing";
  launch.grid = launch.block = {task::LaunchExpression(1)};
  launch.arguments.emplace();
  c.launches = {launch};
  BuildOutcome outcome = build(plan_device(c, signature(), "sm_90a", tools_).value());
  ASSERT_EQ(outcome.status, BuildStatus::kBuilt) << outcome.diagnostics;
  EXPECT_EQ(kernels(outcome).size(), 4U);
  c.sources[0].content = "text";
  outcome = build(plan_device(c, signature(), "sm_90a", tools_).value());
  EXPECT_THAT(outcome.diagnostics, HasSubstr("not a cubin: no ELF file"));
}

}  // namespace
}  // namespace kw::gym
