#include "kernelwright/gpu_checks.h"

#include <algorithm>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace kw::front {
namespace {

using sandbox::HealthCheck;
using ::testing::HasSubstr;
using State = HealthCheck::State;

cuda::DeviceFacts h100() {
  cuda::DeviceFacts gpu;
  gpu.name = "NVIDIA H100 80GB HBM3";
  gpu.driver_version = 13000;
  gpu.compute_capability = 90;
  gpu.multiprocessors = 132;
  gpu.memory_bytes = 79ULL << 30U;
  gpu.l2_bytes = 50U << 20U;
  return gpu;
}

HealthCheck named(const std::vector<HealthCheck>& all, const std::string& name) {
  auto found = std::ranges::find(all, name, &HealthCheck::name);
  EXPECT_NE(found, all.end()) << name;
  return found == all.end() ? HealthCheck{} : *found;
}

std::vector<HealthCheck> checks(const cuda::DeviceFacts& gpu, Result<cuda::DeviceState> state) {
  return gpu_checks(std::vector{gpu}, [&](int) { return state; });
}

TEST(GpuFindings, WithoutAGpuOneFindingSaysWhy) {
  const auto all = gpu_checks(fail(ErrorCode::kUnsupported, "no NVIDIA driver"), {});
  ASSERT_EQ(all.size(), 1U);
  EXPECT_EQ(all[0].state, State::kMissing);
  EXPECT_EQ(all[0].detail, "no NVIDIA driver");
}

TEST(GpuFindings, AQuietGpuIsFine) {
  cuda::DeviceState state;
  state.driver = "580.159.04";
  const auto all = checks(h100(), state);
  EXPECT_THAT(named(all, "GPU 0").detail, HasSubstr("compute capability 9.0"));
  EXPECT_THAT(named(all, "GPU 0").detail, HasSubstr("79.0 GiB"));
  EXPECT_EQ(named(all, "  driver").detail, "580.159.04, CUDA 13.0");
  EXPECT_TRUE(std::ranges::all_of(all, [](const HealthCheck& f) { return f.state == State::kOk; }));
}

TEST(GpuFindings, OthersHeatAndSharedMemoryAreWarnings) {
  cuda::DeviceFacts gpu = h100();
  gpu.reaches_host_memory = true;
  cuda::DeviceState state;
  state.users = {{4711, 2ULL << 30U}};
  state.throttle_reasons = 0x1 | 0x40;  // idle, and heat
  const auto all = checks(gpu, state);
  EXPECT_THAT(named(all, "  users").detail, HasSubstr("process 4711 (2.0 GiB)"));
  EXPECT_THAT(named(all, "  clock").detail, HasSubstr("slowed down: heat"));
  EXPECT_EQ(named(all, "  host memory").state, State::kWarn);
}

TEST(GpuFindings, WithoutTheManagementLibraryTheRestIsTold) {
  const auto all = checks(h100(), fail(ErrorCode::kUnsupported, "no management library"));
  EXPECT_EQ(named(all, "  driver").detail, "CUDA 13.0");
  EXPECT_EQ(named(all, "  users").detail, "no management library");
}

}  // namespace
}  // namespace kw::front
