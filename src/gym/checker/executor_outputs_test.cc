// Guards before a launch and snapshots after it.
#include "gym/checker/executor_outputs.h"

#include <cstring>
#include <utility>

#include <gtest/gtest.h>

#include "gym/checker/testing/fake_workload.h"

namespace kw::gym {
namespace {

using testing::ExecutorScript;
using testing::FakeWorkload;
using testing::kWorkloadElements;

const std::array<std::uint32_t, 1> kSet0 = {0};

class ExecutorOutputsTest : public ::testing::Test {
 protected:
  HostTensors& destination() {
    return dynamic_cast<HostTensors&>(*workload_.memory.candidate().destinations[0]);
  }
  std::span<float> written() {
    auto bytes = destination().tensor(0);
    return {reinterpret_cast<float*>(bytes.data()), bytes.size() / sizeof(float)};
  }
  // A result that the candidate returned, of so many elements, at this offset of the arena.
  std::unique_ptr<Side> returning(std::uint64_t offset, std::int64_t elements) {
    ExecutorScript script;
    script.style = Style::kReturning;
    script.report = [=](std::uint32_t, std::uint32_t) {
      OutputReport report{};
      report.offset = offset;
      report.dtype = static_cast<std::uint32_t>(tensor::DType::kFloat32);
      report.rank = 1;
      report.shape[0] = elements;
      report.stride[0] = 1;
      return report;
    };
    return workload_.candidate(script);
  }
  FakeWorkload workload_;
  Rng rng_{5};
};

TEST_F(ExecutorOutputsTest, UnwrittenElementsAreCounted) {
  auto side = workload_.candidate({});
  ASSERT_TRUE(side->outputs().guard(0, rng_, {}));
  std::fill_n(written().begin(), 100, 1.0F);
  ASSERT_FALSE(side->outputs().take_snapshot(kSet0).value());
  EXPECT_EQ(side->outputs().unwritten(0, 0).value(), kWorkloadElements - 100U);
  // Without poison nothing can be said.
  ASSERT_TRUE(side->outputs().guard(0, rng_, {.poison = false}));
  EXPECT_EQ(side->outputs().unwritten(0, 0).value(), 0U);
}

TEST_F(ExecutorOutputsTest, CanariesStandOnBothSides) {
  auto side = workload_.candidate({});
  const Layout& layout = destination().layout();
  for (std::size_t at :
       {layout.region_start(0), layout.offset(0) - 1, layout.offset(0) + layout.bytes(0)}) {
    ASSERT_TRUE(side->outputs().guard(0, rng_, {.move = false}));
    EXPECT_TRUE(side->outputs().canaries_intact(kSet0).value());
    destination().bytes()[at] ^= std::byte{1};
    EXPECT_FALSE(side->outputs().canaries_intact(kSet0).value()) << at;
  }
  ASSERT_TRUE(side->outputs().guard(0, rng_, {.canaries = false}));
  EXPECT_TRUE(side->outputs().canaries_intact(kSet0).value());
}

TEST_F(ExecutorOutputsTest, DestinationsMove) {
  auto side = workload_.candidate({});
  const std::size_t before = destination().layout().offset(0);
  for (int i = 0; i < 20 && destination().layout().offset(0) == before; ++i)
    ASSERT_TRUE(side->outputs().guard(0, rng_, {}));
  EXPECT_NE(destination().layout().offset(0), before);
  EXPECT_EQ(destination().layout().offset(0) % kAlignment, 0U);
}

TEST_F(ExecutorOutputsTest, AStillExecutorsMemoryIsReadInPlaceAnyOthersIsCopied) {
  for (bool is_still : {true, false}) {
    ExecutorScript script;
    script.is_still = is_still;
    auto side = workload_.candidate(script);
    written()[0] = 1;
    ASSERT_FALSE(side->outputs().take_snapshot(kSet0).value());
    written()[0] = 2;
    float seen = 0;
    std::memcpy(&seen, side->outputs().output(0, 0).value().data(), sizeof seen);
    EXPECT_EQ(seen, is_still ? 2 : 1);
  }
}

TEST_F(ExecutorOutputsTest, AReturnedResultIsReadOutOfTheArena) {
  OutputMemory& memory = workload_.memory.candidate();
  ASSERT_TRUE(memory.ensure_arena(workload_.allocator, workload_.signature));
  auto& arena = dynamic_cast<HostArena&>(*memory.arena);
  const float value = 4;
  std::memcpy(arena.memory().data() + 128, &value, sizeof value);
  auto side = returning(128, kWorkloadElements);
  ASSERT_FALSE(side->outputs().take_snapshot(kSet0).value());
  float seen = 0;
  std::memcpy(&seen, side->outputs().output(0, 0).value().data(), sizeof seen);
  EXPECT_EQ(seen, 4);
  // Its memory belongs to the candidate's allocator.
  ASSERT_TRUE(side->outputs().guard(0, rng_, {}));
  EXPECT_TRUE(side->outputs().canaries_intact(kSet0).value());
}

TEST_F(ExecutorOutputsTest, AReturnedResultMustBeWhatIsDeclaredAndInTheArena) {
  // Without an arena every place is outside.
  auto fault = returning(0, kWorkloadElements)->outputs().take_snapshot(kSet0).value();
  ASSERT_TRUE(fault);
  EXPECT_EQ(fault->violation, "forged_report");
  OutputMemory& memory = workload_.memory.candidate();
  ASSERT_TRUE(memory.ensure_arena(workload_.allocator, workload_.signature));
  fault =
      returning(memory.arena->bytes(), kWorkloadElements)->outputs().take_snapshot(kSet0).value();
  ASSERT_TRUE(fault);
  EXPECT_EQ(fault->violation, "forged_report");
  fault = returning(0, kWorkloadElements - 1)->outputs().take_snapshot(kSet0).value();
  ASSERT_TRUE(fault);
  EXPECT_EQ(fault->outcome, task::Outcome::kWrongShape);
}

}  // namespace
}  // namespace kw::gym
