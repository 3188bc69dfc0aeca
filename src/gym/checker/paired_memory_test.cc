// Which side of a pair gets which memory, and that nothing is left in it.
#include "gym/checker/paired_memory.h"

#include <set>

#include <gtest/gtest.h>

#include "gym/checker/testing/fake_workload.h"

namespace kw::gym {
namespace {

TEST(PairedMemory, SidesAreExchangedAsAskedAndNothingIsLeft) {
  testing::VectorAllocator allocator;
  const task::Signature signature = testing::workload_signature();
  SessionSeeds seeds{SecretSeeds(3)};
  PairedMemory memory(allocator, signature, seeds, true);
  ASSERT_TRUE(memory.renew(2, false, std::nullopt));
  const TensorMemory* first = memory.baseline().destinations[0].get();
  auto& held = dynamic_cast<HostTensors&>(*memory.baseline().destinations[0]);
  held.bytes()[0] = std::byte{9};
  ASSERT_TRUE(memory.renew(2, true, true));
  EXPECT_EQ(memory.candidate().destinations[0].get(), first);
  EXPECT_EQ(held.bytes()[0], std::byte{0});
  // Tried again with the same wish: each keeps what it had.
  ASSERT_TRUE(memory.renew(2, true, true));
  EXPECT_EQ(memory.candidate().destinations[0].get(), first);
  ASSERT_TRUE(memory.renew(2, true, false));
  EXPECT_EQ(memory.baseline().destinations[0].get(), first);
  // Memory that a process may still write to is given to nobody.
  ASSERT_TRUE(memory.renew(2, false, std::nullopt));
  EXPECT_EQ(allocator.allocations, 8);
}

TEST(PairedMemory, WhoGetsWhichIsDrawn) {
  testing::VectorAllocator allocator;
  const task::Signature signature = testing::workload_signature();
  SessionSeeds seeds{SecretSeeds(3)};
  PairedMemory memory(allocator, signature, seeds, true);
  ASSERT_TRUE(memory.renew(2, false, std::nullopt));
  std::set<const TensorMemory*> had;
  for (int i = 0; i < 30; ++i) {
    ASSERT_TRUE(memory.renew(2, true, std::nullopt));
    had.insert(memory.baseline().destinations[0].get());
  }
  EXPECT_EQ(had.size(), 2U);
}

TEST(PairedMemory, TheNextCandidatesMemoryIsClearedOnce) {
  testing::VectorAllocator allocator;
  const task::Signature signature = testing::workload_signature();
  SessionSeeds seeds{SecretSeeds(3)};
  PairedMemory memory(allocator, signature, seeds, true);
  ASSERT_TRUE(memory.renew(2, false, std::nullopt));
  ASSERT_TRUE(memory.renew_candidate(2, false));  // fresh: nobody has had it
  EXPECT_EQ(allocator.allocations, 4);
  auto& held = dynamic_cast<HostTensors&>(*memory.candidate().destinations[1]);
  held.bytes()[5] = std::byte{9};
  ASSERT_TRUE(memory.renew_candidate(2, true));
  EXPECT_EQ(held.bytes()[5], std::byte{0});
  ASSERT_TRUE(memory.renew_candidate(2, false));
  EXPECT_EQ(allocator.allocations, 6);
}

}  // namespace
}  // namespace kw::gym
