// The target "cuda" where there is no GPU: it says so, and starts nothing.
#include "gym/supervisor/cuda_target.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "gym/supervisor/testing/fake_session.h"

namespace kw::gym {
namespace {

using ::testing::HasSubstr;

class CudaTargetTest : public ::testing::Test {
 protected:
  CudaTargetTest() {
    GymOptions options;
    options.cache_folder = folder_.path() / "cache";
    options.evidence_folder = folder_.path() / "evidence";
    options.programs_folder = "/nowhere";
    target_ = make_cuda_target(options, [this]() -> Result<std::vector<cuda::DeviceFacts>> {
      ++asked_;
      return fail(ErrorCode::kUnsupported, "no NVIDIA driver");
    });
    request_.problem = testing::line_problem();
    request_.options.target = task::Target::kCuda;
    request_.candidate.language = task::Language::kCuda;
  }
  std::string unsupported() {
    auto verdict = target_->judge(request_, {});
    EXPECT_TRUE(verdict) << verdict.error().message();
    EXPECT_EQ(verdict->outcome, task::Outcome::kUnsupported);
    return verdict->diagnostics.empty() ? "" : verdict->diagnostics[0].message;
  }

  os::TempDir folder_ = os::TempDir::make("kw-cuda-target-").value();
  int asked_ = 0;
  std::unique_ptr<Target> target_;
  EvalRequest request_;
};

TEST_F(CudaTargetTest, WithoutAGpuAVerdictNamesTheRemedy) {
  EXPECT_THAT(unsupported(), HasSubstr("judge it on a machine with an NVIDIA GPU and its driver"));
  EXPECT_EQ(target_->session_key(request_), "");
}

TEST_F(CudaTargetTest, HostCodeIsRefusedByNameBeforeAGpuIsLookedFor) {
  request_.candidate.language = task::Language::kCpp;
  EXPECT_THAT(unsupported(), HasSubstr("language cpp"));
  request_.candidate.language = task::Language::kCuda;
  request_.candidate.binding = "torch";
  EXPECT_THAT(unsupported(), HasSubstr("binding torch"));
  EXPECT_EQ(asked_, 0);
}

TEST_F(CudaTargetTest, ItsCapabilitiesSayWhyNot) {
  const Capabilities capabilities = target_->capabilities();
  EXPECT_FALSE(capabilities.available);
  EXPECT_THAT(capabilities.why_not, HasSubstr("no NVIDIA driver"));
}

TEST_F(CudaTargetTest, ADefinitionIsDescribedWithoutAGpu) {
  auto signature = target_->describe(request_.problem);
  ASSERT_TRUE(signature) << signature.error().message();
  EXPECT_EQ(signature->inputs.at(0).name, "x");
  EXPECT_EQ(asked_, 0);
}

}  // namespace
}  // namespace kw::gym
