#include "text/base64.h"

#include <string>

#include <gtest/gtest.h>

namespace kw::text {
namespace {

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
}  // namespace kw::text
