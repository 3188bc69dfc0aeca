#include "gym/cuda/device_reports.h"

#include <cstring>

#include <gtest/gtest.h>

#include "gym/cuda/testing/vector_source.h"

namespace kw::gym {
namespace {

class Reports : public ::testing::Test {
 protected:
  // Kernels read and write there.
  static void* place_of(const DeviceReports::Report& report) {
    return reinterpret_cast<void*>(report.address);  // NOLINT(performance-no-int-to-ptr)
  }
  static void write(const DeviceReports::Report& report, std::uint64_t value) {
    std::memcpy(place_of(report), &value, sizeof value);
  }
  std::uint64_t read(const DeviceReports::Report& report) {
    return reports_.read<std::uint64_t>(report).value();
  }

  testing::VectorSource source_;
  DeviceReports reports_{source_};
};

TEST_F(Reports, AreReadTogetherAndKept) {
  const auto first = reports_.make().value(), second = reports_.make().value();
  write(first, 3);
  write(second, 4);
  EXPECT_EQ(read(second), 4U);
  write(first, 5);  // too late
  EXPECT_EQ(read(first), 3U);
  const auto third = reports_.make().value();
  EXPECT_EQ(read(third), 0U);
}

TEST_F(Reports, BeginAsZerosWhereOthersWere) {
  for (std::uint64_t i = 0; i < 3 * DeviceReports::kPlaces; ++i) {
    const auto report = reports_.make().value();
    std::uint64_t value = 1;
    std::memcpy(&value, place_of(report), sizeof value);
    ASSERT_EQ(value, 0U) << i;
    write(report, i + 1);
    if (i % 100 == 99) {
      ASSERT_EQ(read(report), i + 1);
    }
  }
}

TEST_F(Reports, ARingThatIsFullLosesTheOldestOnly) {
  const auto first = reports_.make().value();
  write(first, 7);
  for (std::size_t i = 1; i < DeviceReports::kPlaces; ++i) ASSERT_TRUE(reports_.make());
  EXPECT_EQ(read(first), 7U);
  const auto later = reports_.make().value();
  write(later, 8);
  EXPECT_EQ(read(later), 8U);
  const auto lost = reports_.read(first);
  ASSERT_FALSE(lost);
  EXPECT_EQ(lost.error().code(), ErrorCode::kInternal);
}

TEST_F(Reports, AFullGpuIsAnErrorOfTheMachine) {
  testing::VectorSource full(true);
  DeviceReports none(full);
  ASSERT_FALSE(none.make());
}

}  // namespace
}  // namespace kw::gym
