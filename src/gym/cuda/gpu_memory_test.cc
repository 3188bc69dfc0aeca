// The conformance suite, the comparisons and large draws on a real GPU. The tests skip themselves,
// saying so, where there is none.
#include <chrono>
#include <cstring>

#include "cuda/device_facts.h"
#include "gym/cuda/device_memory.h"
#include "gym/cuda/testing/comparison_cases.h"
#include "gym/cuda/testing/memory_conformance.h"
#include "gym/inputs/fill.h"
#include "gym/inputs/poison.h"

namespace kw::gym {
namespace {

using testing::MemoryConformance;

Result<std::unique_ptr<DeviceSource>> gpu_source() {
  KW_TRY(const std::vector<cuda::DeviceFacts> gpus, cuda::list_devices());
  KW_TRY(const std::string kernels, compile_kernels(gpus[0].architecture(), {}));
  return cuda_source(0, kernels);
}

Result<std::unique_ptr<TensorAllocator>> gpu() {
  KW_TRY(std::unique_ptr<DeviceSource> source, gpu_source());
  return std::make_unique<DeviceAllocator>(std::move(source));
}

INSTANTIATE_TEST_SUITE_P(Gpu, MemoryConformance, ::testing::Values(&gpu));

class GpuComparison : public testing::ComparisonCases {
 protected:
  void SetUp() override {
    auto made = gpu_source();
    if (!made) GTEST_SKIP() << made.error().message();
    source_ = std::move(*made);
  }
  DeviceSource& source() override { return *source_; }
  std::unique_ptr<DeviceSource> source_;
};

KW_COMPARISON_TESTS(GpuComparison)

TEST_F(GpuComparison, FourMillionElements) {
  for (DType dtype : kReal) real_case(dtype, {500, 8000}, 0.5, true, 17);
}

// A tensor of 256 MiB: the host's bytes, and how long each took.
TEST(GpuDraws, GiveTheHostsBytes) {
  auto allocator = gpu();
  if (!allocator) GTEST_SKIP() << allocator.error().message();
  task::Argument argument = testing::float_tensor("a", task::Role::kInput);
  argument.shape = {(1 << 26) + 70001};
  const Layout layout = Layout::for_writing({&argument});
  auto memory = (*allocator)->allocate("test", layout, false).value();
  std::vector<std::byte> host(argument.bytes());
  const auto timed = [&](const char* name, const auto& work) {
    const auto begun = std::chrono::steady_clock::now();
    ASSERT_TRUE(work());
    std::printf("[ %s ] %.2f ms\n", name,
                std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - begun)
                    .count());
  };
  task::InputPolicy spikes, uniform;
  spikes.distribution = task::Distribution::kSpikes;
  uniform.distribution = task::Distribution::kUniform;
  for (const task::InputPolicy& policy : {task::InputPolicy(), spikes, uniform}) {
    const InputSpec spec{argument.dtype, argument.shape, policy};
    for (int i = 0; i < 2; ++i) timed("GPU draws", [&] { return memory->fill(0, spec, 5); });
    timed("host draws", [&] { return fill_input(spec.dtype, spec.shape, policy, 5, host); });
    EXPECT_EQ(std::memcmp(memory->view(0).value().data(), host.data(), host.size()), 0);
  }
  timed("GPU poisons", [&] { return memory->poison(0, argument.dtype, 6); });
  poison(argument.dtype, 6, host);
  EXPECT_EQ(std::memcmp(memory->view(0).value().data(), host.data(), host.size()), 0);
}

}  // namespace
}  // namespace kw::gym
