// These tests check which resource measurements on a GPU lease.
#include "gym/supervisor/gpu_workshop.h"

#include <gtest/gtest.h>

namespace kw::gym {
namespace {

TEST(GpuWorkshop, AGpuIsLeasedByItselfWhereEachHasManyCores) {
  cuda::DeviceFacts gpu;
  gpu.place = 3;
  EXPECT_EQ(resource_of(gpu, 1, 8), "gpu3");
  EXPECT_EQ(resource_of(gpu, 1, 7), TimingLock::kCpu);
  EXPECT_EQ(resource_of(gpu, 4, 32), "gpu3");
  EXPECT_EQ(resource_of(gpu, 4, 31), TimingLock::kCpu);
}

TEST(GpuWorkshop, GpusThatAreTimedBesideEachOtherHavePlaces) {
  cuda::DeviceFacts gpu;
  gpu.place = 3;
  gpu.places = 4;
  EXPECT_EQ(timed_place(gpu, "gpu3").place, 3);
  EXPECT_EQ(timed_place(gpu, "gpu3").places, 4);
  EXPECT_EQ(timed_place(gpu, TimingLock::kCpu).place, 0);
  EXPECT_EQ(timed_place(gpu, TimingLock::kCpu).places, 1);
}

TEST(GpuWorkshop, NothingIsFrozenForTheClockOfAGpu) {
  OnTheGpu sandboxes;
  EXPECT_TRUE(sandboxes.freeze_others({}));
  EXPECT_TRUE(sandboxes.thaw_others());
}

}  // namespace
}  // namespace kw::gym
