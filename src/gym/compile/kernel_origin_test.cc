#include "gym/compile/kernel_origin.h"

#include <gtest/gtest.h>

namespace kw::gym {
namespace {

using task::KernelOrigin;

TEST(KernelOrigin, LibrariesAreKnownByTheirNames) {
  for (const char* name :
       {"ampere_sgemm_128x64_nn", "sm90_xmma_gemm_bf16bf16_bf16f32_f32_tn_n_tilesize128x128x64",
        "_ZN8cublasLt19splitKreduce_kernelILi32ELi16E",
        "_ZN7cutlass7Kernel2I66cutlass_80_tensorop_s1688gemm_128x128_nn_align4EEvNT_6ParamsE",
        "_ZN2at6native29vectorized_elementwise_kernelILi4E"})
    EXPECT_EQ(kernel_origin(name), KernelOrigin::kLibrary) << name;
  EXPECT_EQ(kernel_origin("kw_fill"), KernelOrigin::kMover);
  for (const char* name : {"softmax_kernel", "matmul", "_ZN7cutlass6KernelI4MineEEvv",
                           "triton_poi_fused_add_0", "my_kw_copy"})
    EXPECT_EQ(kernel_origin(name), KernelOrigin::kOwn) << name;
}

task::PlanStep launch(std::size_t module, const std::string& function) {
  task::PlanLaunch out;
  out.module = module;
  out.function = function;
  return out;
}

// Two modules may have a function of the same name.
TEST(KernelOrigin, NamesFollowTheOrderOfFirstLaunches) {
  task::LaunchPlan plan;
  plan.steps = {launch(0, "b"), task::PlanFill{}, launch(0, "a"),
                launch(0, "b"), launch(1, "b"),   launch(0, "kw_copy")};
  task::GpuCall call;
  call.kernels.resize(4);
  name_kernels(plan, call);
  EXPECT_EQ(call.kernels[0].name, "b");
  EXPECT_EQ(call.kernels[1].name, "a");
  EXPECT_EQ(call.kernels[2].name, "b");
  EXPECT_EQ(call.kernels[3].name, "kw_copy");
  EXPECT_EQ(call.kernels[3].origin, KernelOrigin::kMover);
}

}  // namespace
}  // namespace kw::gym
