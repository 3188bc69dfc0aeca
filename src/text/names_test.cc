#include "text/names.h"

#include <gtest/gtest.h>

#include "base/testing/values.h"

namespace kw::text {
namespace {

TEST(Names, ParametersAreNamesInBothLanguages) {
  for (const char* good : {"x", "A", "hidden_size", "x_0", "_y"})
    EXPECT_TRUE(check_parameter_name(good, "inputs")) << good;
  for (const char* bad : {"", "0x", "a-b", "a b", "lambda", "template", "kw_state", "\xc3\xa9"}) {
    EXPECT_FALSE(check_parameter_name(bad, "inputs")) << bad;
  }
  EXPECT_EQ(message_of(check_parameter_name("lambda", "inputs.lambda")),
            "inputs.lambda: \"lambda\" is a keyword of Python");
  EXPECT_FALSE(is_identifier(std::string(129, 'a')));
}

TEST(Names, TitlesAndPathsCannotLeaveTheirFolder) {
  for (const char* good : {"gemm_n4096", "Llama 3.1", "a.b"})
    EXPECT_TRUE(check_title(good, "name")) << good;
  for (const char* bad : {"", ".", "..", "a/b", "a\\b", "a\nb", "\xff"})
    EXPECT_FALSE(check_title(bad, "name")) << bad;
  EXPECT_FALSE(check_title(std::string(257, 'a'), "name"));
  for (const char* good : {"main.cpp", "src/main.cpp", "a..b"})
    EXPECT_TRUE(check_relative_path(good, "path")) << good;
  for (const char* bad :
       {"", "/etc/passwd", "../x", "a/../b", "a//b", "./a", "a/", "a\\b", "a\x01", "\xff"}) {
    EXPECT_FALSE(check_relative_path(bad, "path")) << bad;
  }
}

}  // namespace
}  // namespace kw::text
