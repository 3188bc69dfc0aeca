// Tensor memory of the host and, with vectors behind it, of a GPU: the same promises.
#include "gym/cuda/device_memory.h"

#include "gym/cuda/testing/emulated_kernels.h"
#include "gym/cuda/testing/memory_conformance.h"
#include "gym/cuda/testing/vector_source.h"

namespace kw::gym {
namespace {

using testing::MemoryConformance;

Result<std::unique_ptr<TensorAllocator>> host() {
  return std::make_unique<HostAllocator>();
}
Result<std::unique_ptr<TensorAllocator>> vectors() {
  return std::make_unique<DeviceAllocator>(std::make_unique<testing::VectorSource>());
}

Result<std::unique_ptr<TensorAllocator>> emulated() {
  return std::make_unique<DeviceAllocator>(
      std::make_unique<testing::VectorSource>(false, &testing::emulated_kernels()));
}

INSTANTIATE_TEST_SUITE_P(Host, MemoryConformance, ::testing::Values(&host));
INSTANTIATE_TEST_SUITE_P(Vectors, MemoryConformance, ::testing::Values(&vectors));
INSTANTIATE_TEST_SUITE_P(Emulated, MemoryConformance, ::testing::Values(&emulated));

TEST(DeviceAllocator, AFullGpuIsAnErrorOfTheMachine) {
  DeviceAllocator full(std::make_unique<testing::VectorSource>(true));
  const task::Argument tensor = testing::float_tensor("a", task::Role::kInput);
  auto made = full.allocate("inputs", Layout::for_reading({&tensor}), true);
  ASSERT_FALSE(made);
  EXPECT_EQ(made.error().code(), ErrorCode::kResourceExhausted);
}

TEST(DeviceAllocator, ThereIsNoArena) {
  DeviceAllocator allocator(std::make_unique<testing::VectorSource>());
  auto made = allocator.allocate_arena(4096);
  ASSERT_FALSE(made);
  EXPECT_EQ(made.error().code(), ErrorCode::kUnsupported);
}

}  // namespace
}  // namespace kw::gym
