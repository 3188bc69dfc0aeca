#include "gym/supervisor/gpu_placement.h"

#include <optional>
#include <set>

#include <gtest/gtest.h>

namespace kw::gym {
namespace {

using Ready = std::set<std::size_t>;

std::function<bool(std::size_t)> among(const Ready& ready) {
  return [ready](std::size_t gpu) { return ready.contains(gpu); };
}

TEST(GpuPlacement, JudgementsAreSpreadOverTheGpus) {
  GpuPlacement placement(3);
  const auto a = placement.take(among({}));
  const auto b = placement.take(among({}));
  const auto c = placement.take(among({}));
  EXPECT_EQ((std::set<std::size_t>{a.gpu(), b.gpu(), c.gpu()}), (std::set<std::size_t>{0, 1, 2}));
}

TEST(GpuPlacement, OneAtATimeStaysOnOneGpu) {
  GpuPlacement placement(4);
  for (int i = 0; i < 5; ++i) EXPECT_EQ(placement.take(among({})).gpu(), 0);
}

TEST(GpuPlacement, AGpuThatIsReadyIsTakenBeforeOthersThatAreAsIdle) {
  GpuPlacement placement(3);
  EXPECT_EQ(placement.take(among({2})).gpu(), 2);
  EXPECT_EQ(placement.take(among({1, 2})).gpu(), 1);
}

// Waiting for a busy GPU would cost more than opening a session on an idle one.
TEST(GpuPlacement, AnIdleGpuIsTakenBeforeABusyOneThatIsReady) {
  GpuPlacement placement(2);
  const auto busy = placement.take(among({1}));
  EXPECT_EQ(busy.gpu(), 1);
  EXPECT_EQ(placement.take(among({1})).gpu(), 0);
}

TEST(GpuPlacement, TheNextOneGoesToTheGpuThatWasLeft) {
  GpuPlacement placement(2);
  const auto a = placement.take(among({}));
  std::optional<GpuPlacement::Seat> b(placement.take(among({})));
  const auto c = placement.take(among({}));
  EXPECT_EQ(c.gpu(), a.gpu());
  const std::size_t left = b->gpu();
  b.reset();
  EXPECT_EQ(placement.take(among({a.gpu()})).gpu(), left);
}

}  // namespace
}  // namespace kw::gym
