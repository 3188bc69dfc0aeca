// The conformance suite on a real GPU. Skips itself, saying so, where there is none.
#include "gym/cuda/device_memory.h"
#include "gym/cuda/testing/memory_conformance.h"

namespace kw::gym {
namespace {

using testing::MemoryConformance;

Result<std::unique_ptr<TensorAllocator>> gpu() {
  KW_TRY(std::unique_ptr<DeviceSource> source, cuda_source(0));
  return std::make_unique<DeviceAllocator>(std::move(source));
}

INSTANTIATE_TEST_SUITE_P(Gpu, MemoryConformance, ::testing::Values(&gpu));

}  // namespace
}  // namespace kw::gym
