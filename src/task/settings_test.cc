#include "task/settings.h"

#include <gtest/gtest.h>

#include "task/testing/golden.h"

namespace kw::task {
namespace {

TEST(Settings, AreSortedAndCanonical) {
  auto settings = parse_settings({"shape=(1024, )", "batch_size=1_6", "batch_size=16"});
  ASSERT_TRUE(settings) << message_of(settings);
  EXPECT_EQ(*settings, (Settings{{"batch_size", "16"}, {"shape", "(1024,)"}}));
  EXPECT_EQ(message_of(parse_settings({"a=1", "a=2"})), "--set a: given twice, as 1 and 2");
  EXPECT_FALSE(parse_settings({"a"}));
  EXPECT_FALSE(parse_settings({"=1"}));
  EXPECT_THAT(message_of(parse_settings({"act=relu"})),
              testing::StartsWith("--set act: not a Python literal"));
}

TEST(Settings, TakeEffectAtTheAssignment) {
  std::string source =
      "N = 2048 * 2  # rows\nM = N\nshape = (\n    N,\n    4)\nK: int = 3; L = 5\n";
  Settings settings = {{"K", "7"}, {"N", "16"}, {"shape", "(8,)"}};
  EXPECT_EQ(apply_settings(source, settings).value(),
            "N = 16  # rows\nM = N\nshape = ((8,)\n\n)\nK: int = 7; L = 5\n");
  EXPECT_EQ(apply_settings(source, {}).value(), source);
  EXPECT_EQ(apply_settings("\xEF\xBB\xBFN = 1\n", {{"N", "3"}}).value(), "\xEF\xBB\xBFN = 3\n");
  EXPECT_EQ(apply_settings("N = 1\nN = N * 2\n", {{"N", "3"}}).value(), "N = 3\nN = 3\n");
}

TEST(Settings, NameWhatThereIs) {
  std::string source = "batch_size = 1\ndim = 2\nbatch_size = 3\n";
  EXPECT_EQ(message_of(apply_settings(source, {{"batch_sise", "1"}})),
            "--set batch_sise: the problem has no such constant; it has batch_size, dim (did you "
            "mean \"batch_size\"?)");
  EXPECT_THAT(message_of(apply_settings("x()", {{"a", "1"}})), testing::HasSubstr("it has none"));
  EXPECT_THAT(message_of(apply_settings("a = 1\na += 1\n", {{"a", "1"}})),
              testing::HasSubstr("augmented"));
}

}  // namespace
}  // namespace kw::task
