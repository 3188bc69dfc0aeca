// Capabilities as they travel: what was written is read, and nothing else.
#include "gym/capabilities.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace kw::gym {
namespace {

TEST(Capabilities, AreReadAsTheyWereWritten) {
  Capabilities before;
  before.available = before.freeze = true;
  before.why_not = "no Python";
  before.languages = {"cpp", "python"};
  before.level = "full";
  const auto after = capabilities_from_json(to_json(before), "c");
  ASSERT_TRUE(after) << after.error().message();
  EXPECT_EQ(to_json(*after), to_json(before));
  EXPECT_TRUE(after->available && after->freeze);
  EXPECT_FALSE(after->isolation || after->clock);
}

TEST(Capabilities, AMissingAnUnknownAndAnotherKindOfKeyAreNamed) {
  const Json right = to_json(Capabilities());
  for (const char* key : {"available", "why_not", "isolation", "freeze", "clock"}) {
    for (const bool is_missing : {true, false}) {
      Json wrong = right;
      wrong[key] = 7;
      if (is_missing) wrong.erase(key);
      const auto read = capabilities_from_json(wrong, "c");
      ASSERT_FALSE(read) << key;
      EXPECT_EQ(read.error().code(), ErrorCode::kInvalidArgument);
      EXPECT_THAT(read.error().message(), ::testing::HasSubstr(key));
    }
  }
  Json more = right;
  more["speed"] = 1;
  EXPECT_FALSE(capabilities_from_json(more, "c"));
}

}  // namespace
}  // namespace kw::gym
