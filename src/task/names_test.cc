// Tests of names, dtypes, enums' names and base64.
#include "task/names.h"

#include <gtest/gtest.h>

#include "task/base64.h"
#include "task/dtype.h"
#include "task/test_support.h"

namespace kw::task {
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

TEST(DType, NamesSizesAndOrder) {
  EXPECT_EQ(to_string(DType::kFloat8E4M3Fn), "float8_e4m3fn");
  for (int i = 0; i <= static_cast<int>(DType::kBool); ++i) {
    auto dtype = static_cast<DType>(i);
    EXPECT_EQ(dtype_from_string(to_string(dtype)), dtype);
    EXPECT_EQ(epsilon_of(dtype) > 0, is_floating(dtype));
    if (auto lower = next_lower(dtype)) {
      EXPECT_GT(epsilon_of(*lower), epsilon_of(dtype)) << to_string(dtype);
    }
  }
  EXPECT_FALSE(dtype_from_string("float"));
  EXPECT_EQ(size_of(DType::kBFloat16), 2U);
  EXPECT_EQ(cpp_type(DType::kBool), "uint8_t");
  EXPECT_EQ(epsilon_of(DType::kFloat32),
            static_cast<double>(std::numeric_limits<float>::epsilon()));
}

TEST(Base64, RoundTripsAndRefusesWhatIsNot) {
  for (const std::string& text : {std::string(), std::string("f"), std::string("fo"),
                                  std::string("foo"), std::string("\0\xff\x80", 3)}) {
    EXPECT_EQ(from_base64(to_base64(text)).value(), text);
  }
  EXPECT_EQ(to_base64("foobar"), "Zm9vYmFy");
  EXPECT_EQ(to_base64("fo"), "Zm8=");
  for (const char* bad : {"Zm8", "Zm8\n", "Zm9=", "Z===", "Zm=v", "Zg==Zg==", "Zm 8"})
    EXPECT_FALSE(from_base64(bad)) << bad;
}

}  // namespace
}  // namespace kw::task
