// The kernels' text, run on the processor, finds what the host's comparison finds.
#include "gym/cuda/device_comparer.h"

#include "gym/cuda/testing/comparison_cases.h"
#include "gym/cuda/testing/emulated_kernels.h"
#include "gym/cuda/testing/vector_source.h"

namespace kw::gym {
namespace {

class DeviceComparisonTest : public testing::ComparisonCases {
 protected:
  DeviceSource& source() override { return source_; }
  testing::VectorSource source_{false, &testing::emulated_kernels()};
};

KW_COMPARISON_TESTS(DeviceComparisonTest)

}  // namespace
}  // namespace kw::gym
