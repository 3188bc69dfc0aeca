#include "tensor/dtype.h"

#include <limits>

#include <gtest/gtest.h>

namespace kw::tensor {
namespace {

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

}  // namespace
}  // namespace kw::tensor
