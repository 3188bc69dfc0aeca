// Host memory: places, hashes, snapshots, and what an executor can do with a descriptor.
#include "gym/checker/host_memory.h"

#include <algorithm>
#include <cstring>
#include <set>

#include <gtest/gtest.h>

#include "gym/checker/testing/fake_workload.h"

namespace kw::gym {
namespace {

using testing::VectorTensors;

// Two tensors of 1 KiB and 5000 bytes.
class HostMemoryTest : public ::testing::Test {
 protected:
  HostMemoryTest() {
    first_ = testing::float_tensor("a", task::Role::kInput);
    second_ = testing::float_tensor("b", task::Role::kInput);
    second_.shape = {1250};
  }
  Layout reading() const { return Layout::for_reading({&first_, &second_}); }
  Layout writing() const { return Layout::for_writing({&first_, &second_}); }

  task::Argument first_, second_;
};

TEST_F(HostMemoryTest, TensorsMoveInRegionsOfTheirOwn) {
  Rng rng(1);
  for (Layout layout : {reading(), writing()}) {
    std::set<std::size_t> places;
    for (int i = 0; i < 200; ++i) {
      layout.move(rng);
      places.insert(layout.offset(0));
      for (std::size_t t = 0; t < 2; ++t) {
        EXPECT_EQ(layout.offset(t) % kAlignment, 0U);
        EXPECT_GE(layout.offset(t), layout.region_start(t));
        EXPECT_LE(layout.offset(t) + layout.bytes(t) + kReadableTail, layout.region_end(t));
      }
    }
    EXPECT_GT(places.size(), Layout::kMoves / 2);
  }
  const Layout layout = writing();
  EXPECT_GE(layout.offset(0) - layout.region_start(0), Layout::kBand);
  EXPECT_GE(layout.region_end(0) - layout.offset(0) - layout.bytes(0), Layout::kBand);
}

TEST_F(HostMemoryTest, TheHashSeesEveryByteOfSmallSetsWhereverTheyLie) {
  VectorTensors memory(reading());
  ASSERT_TRUE(memory.fill(0, {tensor::DType::kFloat32, first_.shape, {}}, 3));
  const std::uint64_t before = memory.hash(5, 1U << 20U).value();
  EXPECT_NE(memory.hash(6, 1U << 20U).value(), before);
  for (std::size_t t : {0U, 1U}) {
    std::byte& last = memory.tensor(t).back();
    last ^= std::byte{1};
    EXPECT_NE(memory.hash(5, 1U << 20U).value(), before);
    last ^= std::byte{1};
  }
  EXPECT_EQ(memory.hash(5, 1U << 20U).value(), before);
}

TEST_F(HostMemoryTest, TheSameSeedFillsTheSame) {
  VectorTensors a(reading()), b(reading());
  Rng rng(2);
  b.move(rng);
  const InputSpec spec = {tensor::DType::kFloat32, first_.shape, {}};
  ASSERT_TRUE(a.fill(0, spec, 3));
  ASSERT_TRUE(b.fill(0, spec, 3));
  EXPECT_TRUE(std::ranges::equal(a.view(0).value(), b.view(0).value()));
  ASSERT_TRUE(b.fill(0, spec, 4));
  EXPECT_FALSE(std::ranges::equal(a.view(0).value(), b.view(0).value()));
}

TEST_F(HostMemoryTest, ClearLeavesNothing) {
  VectorTensors memory(writing());
  ASSERT_TRUE(memory.write_canaries(3));
  ASSERT_TRUE(memory.poison(1, tensor::DType::kFloat32, 4));
  ASSERT_TRUE(memory.clear());
  for (std::byte byte : memory.bytes()) ASSERT_EQ(byte, std::byte{0});
}

TEST_F(HostMemoryTest, OnlyTheCheckerWritesToSealedMemory) {
  HostAllocator allocator;
  auto sealed = allocator.allocate("inputs", reading(), true).value();
  auto open = allocator.allocate("outputs", writing(), false).value();
  EXPECT_FALSE(os::Mapping::shared(sealed->descriptor(), 4096, true));
  auto read = os::Mapping::shared(sealed->descriptor(), sealed->layout().total_bytes(), false);
  ASSERT_TRUE(read);
  const std::byte value{7};
  ASSERT_TRUE(sealed->write(0, std::span(&value, 1)));
  EXPECT_EQ(read->data()[sealed->layout().offset(0)], value);
  auto write = os::Mapping::shared(open->descriptor(), open->layout().total_bytes(), true);
  ASSERT_TRUE(write);
  write->data()[open->layout().offset(1)] = value;
  ASSERT_TRUE(open->take_snapshot(1, false));
  EXPECT_EQ(open->snapshot(1).value()[0], value);
}

// Rows of a returned tensor may lie apart: the snapshot is row-major.
TEST_F(HostMemoryTest, AnArenasSnapshotIsGathered) {
  testing::VectorArena arena(4096);
  for (std::size_t i = 0; i < 64; ++i) {
    const auto value = static_cast<float>(i);
    std::memcpy(arena.memory().data() + 4 * i, &value, 4);
  }
  OutputReport report{};
  report.rank = 2;
  report.shape[0] = report.shape[1] = 2;
  report.stride[0] = 10;
  report.stride[1] = 1;
  report.dtype = static_cast<std::uint32_t>(tensor::DType::kFloat32);
  for (bool is_still : {true, false}) {
    ASSERT_TRUE(arena.take_snapshot(5, report, 16, is_still));
    float rows[4];
    std::memcpy(rows, arena.snapshot(5).value().data(), sizeof rows);
    EXPECT_EQ(rows[1], 1.0F);
    EXPECT_EQ(rows[2], 10.0F);
  }
}

}  // namespace
}  // namespace kw::gym
