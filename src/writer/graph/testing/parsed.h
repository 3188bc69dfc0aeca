#pragma once

#include <string_view>

#include <gtest/gtest.h>

#include "writer/graph/int_expr.h"

namespace kw::writer {

// The expression of a test's text; text that cannot be read fails the test and is 0.
inline IntExpr parsed(std::string_view text) {
  Result<IntExpr> out = IntExpr::parse(text);
  EXPECT_TRUE(out) << text << ": " << out.error().message();
  return out ? *out : IntExpr();
}

}  // namespace kw::writer
