#include "writer/cpp/standard_headers.h"

#include <gtest/gtest.h>

namespace kw::writer {
namespace {

TEST(StandardHeaders, OfTheNamesThatTheTextHas) {
  EXPECT_EQ(standard_includes("out[i] = x[i] + 1.0f;"), "#include <cstdint>\n");
  EXPECT_EQ(standard_includes("std::min<int64_t>(a, std::numeric_limits<float>::max())"),
            "#include <algorithm>\n#include <cstdint>\n#include <limits>\n");
  EXPECT_EQ(standard_includes("std::tanh(std::bit_cast<float>(i))"),
            "#include <bit>\n#include <cmath>\n#include <cstdint>\n");
  EXPECT_EQ(standard_includes("memcpy(a, b, std::size_t{4});"),
            "#include <cstddef>\n#include <cstdint>\n#include <cstring>\n");
}

TEST(StandardHeaders, PartsOfOtherNamesAreNone) {
  EXPECT_EQ(standard_includes("mystd::vector<int> memory; kw_memset(0); memcpy_of;"),
            "#include <cstdint>\n");
}

}  // namespace
}  // namespace kw::writer
