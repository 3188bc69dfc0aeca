// NVRTC takes our kernels. The tests skip themselves where there is no NVRTC.
#include "gym/cuda/kernel_runner.h"

#include <gtest/gtest.h>

namespace kw::gym {
namespace {

TEST(CompileKernels, MakesMachineCodeForHopperAndForOlderGpus) {
  for (const char* architecture : {"sm_90a", "sm_80"}) {
    auto made = compile_kernels(architecture, {});
    if (!made && made.error().code() == ErrorCode::kUnsupported)
      GTEST_SKIP() << made.error().message();
    ASSERT_TRUE(made) << made.error().message();
    EXPECT_EQ(made->substr(1, 3), "ELF");
  }
}

}  // namespace
}  // namespace kw::gym
