#include "gym/checker/gpu_call.h"

#include <gtest/gtest.h>

namespace kw::gym {
namespace {

TEST(GpuCall, ThreadsBecomeAnOccupancy) {
  PlanCall call;
  call.kernels = {{.ns = 1'500'000,
                   .launches = 2,
                   .registers = 40,
                   .local_bytes = 16,
                   .shared_bytes = 1024,
                   .threads = 256,
                   .resident_threads = 1536}};
  call.other_time = std::chrono::microseconds(250);
  call.other_steps = 3;
  call.most_threads = 2048;
  const task::GpuCall out = gpu_call_of(call);
  ASSERT_EQ(out.kernels.size(), 1U);
  EXPECT_DOUBLE_EQ(out.kernels[0].occupancy, 0.75);
  EXPECT_DOUBLE_EQ(out.kernels[0].ms, 1.5);
  EXPECT_DOUBLE_EQ(out.ms(), 1.75);
  EXPECT_EQ(out.steps(), 5);
  call.most_threads = 1024;  // no page can make it more than whole
  EXPECT_DOUBLE_EQ(gpu_call_of(call).kernels[0].occupancy, 1);
}

task::Argument tensor_of(std::int64_t elements, task::Role role) {
  task::Argument out;
  out.role = role;
  out.shape = {elements};
  return out;
}

TEST(GpuCall, OnlyOutputsBeyondACacheHaveALeastTime) {
  task::Signature signature;
  signature.inputs = {tensor_of(1 << 20, task::Role::kInput)};
  signature.outputs = {tensor_of(1 << 20, task::Role::kOutput)};
  EXPECT_EQ(bytes_of_call(signature), 2U * 4 * (1 << 20));
  task::GpuRoofline roofline;
  roofline.bytes_per_second = 4e12;
  EXPECT_EQ(least_time_of_outputs(signature, roofline).count(), 0);
  signature.outputs = {tensor_of(std::int64_t{1} << 30U, task::Role::kOutput)};
  const auto least = least_time_of_outputs(signature, roofline);
  EXPECT_NEAR(static_cast<double>(least.count()), (4.0 - 0.25) * (1 << 30) / 6e12 * 1e9, 2);
  roofline.bytes_per_second = 0;
  EXPECT_EQ(least_time_of_outputs(signature, roofline).count(), 0);
}

}  // namespace
}  // namespace kw::gym
