// For tests: what TensorMemory promises, held against any allocator. A test program instantiates
// the suite: INSTANTIATE_TEST_SUITE_P(Host, MemoryConformance, ::testing::Values(&make)).
#pragma once
#include <algorithm>
#include <memory>
#include <vector>

#include <gtest/gtest.h>

#include "gym/checker/host_memory.h"
#include "gym/checker/testing/fake_workload.h"

namespace kw::gym::testing {

// Null, with a reason on the test's skip message, where the machine lacks something.
using MakeAllocator = Result<std::unique_ptr<TensorAllocator>> (*)();

// Two tensors of 1 KiB and 5000 bytes.
class MemoryConformance : public ::testing::TestWithParam<MakeAllocator> {
 protected:
  void SetUp() override {
    Result<std::unique_ptr<TensorAllocator>> made = GetParam()();
    if (!made) GTEST_SKIP() << made.error().message();
    allocator_ = std::move(*made);
    first_ = float_tensor("a", task::Role::kInput);
    second_ = float_tensor("b", task::Role::kInput);
    second_.shape = {1250};
  }
  Layout writing() const { return Layout::for_writing({&first_, &second_}); }
  std::unique_ptr<TensorMemory> memory() const {
    return allocator_->allocate("test", writing(), false).value();
  }
  InputSpec spec(const task::Argument& argument) const {
    return {tensor::DType::kFloat32, argument.shape, {}};
  }
  // Changes one byte of a tensor, as a stray store would.
  static void flip(TensorMemory& memory, std::size_t tensor, std::size_t byte) {
    const std::span<const std::byte> now = memory.view(tensor).value();
    std::vector<std::byte> bytes(now.begin(), now.end());
    bytes[byte] ^= std::byte{1};
    ASSERT_TRUE(memory.write(tensor, bytes));
  }

  std::unique_ptr<TensorAllocator> allocator_;
  task::Argument first_, second_;
};
// A program without an instance of its own does not fail for it.
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(MemoryConformance);

TEST_P(MemoryConformance, FillsTheHostsBytes) {
  auto memory = this->memory();
  VectorTensors host(writing());
  Rng rng(2);
  memory->move(rng);
  for (std::uint64_t seed : {3U, 4U}) {
    ASSERT_TRUE(memory->fill(1, spec(second_), seed));
    ASSERT_TRUE(host.fill(1, spec(second_), seed));
    EXPECT_TRUE(std::ranges::equal(memory->view(1).value(), host.view(1).value()));
  }
  ASSERT_TRUE(host.fill(1, spec(second_), 3));
  EXPECT_FALSE(std::ranges::equal(memory->view(1).value(), host.view(1).value()));
}

TEST_P(MemoryConformance, APartIsEditedAndTheRestStays) {
  auto memory = this->memory();
  ASSERT_TRUE(memory->fill(1, spec(second_), 4));
  const std::span<const std::byte> filled = memory->view(1).value();
  std::vector<std::byte> expected(filled.begin(), filled.end());
  std::ranges::fill(std::span(expected).subspan(100, 200), std::byte{7});
  ASSERT_TRUE(memory->edit(1, 100, 200, [&](std::span<std::byte> part) {
    EXPECT_EQ(part.size(), 200U);
    std::ranges::fill(part, std::byte{7});
  }));
  EXPECT_TRUE(std::ranges::equal(memory->view(1).value(), expected));
}

TEST_P(MemoryConformance, TheHashSeesEveryTensorsLastByteWhereverTheyLie) {
  auto memory = this->memory();
  ASSERT_TRUE(memory->fill(0, spec(first_), 3));
  ASSERT_TRUE(memory->fill(1, spec(second_), 4));
  const std::uint64_t before = memory->hash(5, 1U << 20U).value();
  EXPECT_NE(memory->hash(6, 1U << 20U).value(), before);
  for (std::size_t t : {0U, 1U}) {
    const std::size_t last = memory->layout().bytes(t) - 1;
    flip(*memory, t, last);
    EXPECT_NE(memory->hash(5, 1U << 20U).value(), before);
    flip(*memory, t, last);
  }
  EXPECT_EQ(memory->hash(5, 1U << 20U).value(), before);
  Rng rng(9);
  memory->move(rng);
  ASSERT_TRUE(memory->fill(0, spec(first_), 3));
  ASSERT_TRUE(memory->fill(1, spec(second_), 4));
  EXPECT_EQ(memory->hash(5, 1U << 20U).value(), before);
}

TEST_P(MemoryConformance, AWriteOutsideATensorBreaksItsCanary) {
  auto memory = this->memory();
  ASSERT_TRUE(memory->write_canaries(3));
  ASSERT_TRUE(memory->fill(0, spec(first_), 3));
  ASSERT_TRUE(memory->fill(1, spec(second_), 4));
  EXPECT_TRUE(memory->canaries_intact(3).value());
  EXPECT_FALSE(memory->canaries_intact(4).value());
  // After a move, tensors are filled where canaries lay.
  Rng rng(1);
  const std::size_t was = memory->layout().offset(0);
  while (memory->layout().offset(0) == was) memory->move(rng);
  EXPECT_FALSE(memory->canaries_intact(3).value());
}

TEST_P(MemoryConformance, ACopyHasTheBytesAtPlacesOfItsOwn) {
  auto from = this->memory(), to = this->memory();
  Rng rng(4);
  from->move(rng);
  to->move(rng);
  ASSERT_TRUE(from->fill(0, spec(first_), 3));
  ASSERT_TRUE(from->fill(1, spec(second_), 4));
  ASSERT_TRUE(to->write_canaries(5));
  ASSERT_TRUE(to->copy(*from));
  for (std::size_t t : {0U, 1U})
    EXPECT_TRUE(std::ranges::equal(to->view(t).value(), from->view(t).value()));
  EXPECT_TRUE(to->canaries_intact(5).value());
}

TEST_P(MemoryConformance, PoisonIsTheHosts) {
  auto memory = this->memory();
  VectorTensors host(writing());
  ASSERT_TRUE(memory->poison(1, tensor::DType::kFloat32, 8));
  ASSERT_TRUE(host.poison(1, tensor::DType::kFloat32, 8));
  EXPECT_TRUE(std::ranges::equal(memory->view(1).value(), host.view(1).value()));
}

TEST_P(MemoryConformance, ClearLeavesNothing) {
  auto memory = this->memory();
  ASSERT_TRUE(memory->write_canaries(3));
  ASSERT_TRUE(memory->poison(0, tensor::DType::kFloat32, 4));
  ASSERT_TRUE(memory->clear());
  EXPECT_FALSE(memory->canaries_intact(3).value());
  const std::span<const std::byte> left = memory->view(0).value();
  for (std::byte byte : left) ASSERT_EQ(byte, std::byte{0});
}

TEST_P(MemoryConformance, ASnapshotOutlivesLaterWrites) {
  auto memory = this->memory();
  ASSERT_TRUE(memory->fill(1, spec(second_), 3));
  const std::span<const std::byte> now = memory->view(1).value();
  const std::vector<std::byte> before(now.begin(), now.end());
  ASSERT_TRUE(memory->take_snapshot(1, false));
  ASSERT_TRUE(memory->fill(1, spec(second_), 4));
  EXPECT_TRUE(std::ranges::equal(memory->snapshot(1).value(), before));
  EXPECT_EQ(memory->snapshot_copy(1).value(), before);
}

TEST_P(MemoryConformance, ACopyOfASnapshotInPlaceIsTheCallers) {
  auto memory = this->memory();
  ASSERT_TRUE(memory->fill(1, spec(second_), 3));
  const std::span<const std::byte> now = memory->view(1).value();
  const std::vector<std::byte> before(now.begin(), now.end());
  ASSERT_TRUE(memory->take_snapshot(1, true));
  const std::vector<std::byte> copy = memory->snapshot_copy(1).value();
  EXPECT_TRUE(std::ranges::equal(memory->snapshot(1).value(), before));
  ASSERT_TRUE(memory->fill(1, spec(second_), 4));
  EXPECT_EQ(copy, before);
}

TEST_P(MemoryConformance, AWriteIsCutToTheTensor) {
  auto memory = this->memory();
  ASSERT_TRUE(memory->write_canaries(3));
  const std::vector<std::byte> ones(2000, std::byte{1});
  ASSERT_TRUE(memory->write(0, ones));
  EXPECT_TRUE(memory->canaries_intact(3).value());
  EXPECT_EQ(memory->view(0).value().back(), std::byte{1});
}

}  // namespace kw::gym::testing
