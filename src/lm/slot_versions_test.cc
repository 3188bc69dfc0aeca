#include "lm/slot_versions.h"

#include <gtest/gtest.h>

namespace kw::lm {
namespace {

Step token_at(std::int32_t slot, std::int32_t position) {
  Step out;
  out.add(1, position, slot);
  return out;
}

TEST(SlotVersions, ASequenceGoesOnUnderTheWeightsThatItBeganWith) {
  SlotVersions versions(2);
  versions.write(token_at(0, 0));
  versions.write(token_at(0, 1));
  versions.weights_changed(3);
  EXPECT_EQ(versions.weights(), 3);
  EXPECT_DEATH(versions.write(token_at(0, 2)), "version == weights_");
  versions.write(token_at(0, 0));  // it begins again
  versions.write(token_at(0, 1));
}

TEST(SlotVersions, ACopyIsOfTheWeightsOfWhatWasCopied) {
  SlotVersions versions(3);
  versions.write(token_at(0, 0));
  versions.weights_changed(1);
  versions.write(token_at(1, 0));
  versions.copy(1, 2);
  versions.write(token_at(2, 1));
  versions.copy(0, 2);
  EXPECT_DEATH(versions.write(token_at(2, 1)), "version == weights_");
}

}  // namespace
}  // namespace kw::lm
