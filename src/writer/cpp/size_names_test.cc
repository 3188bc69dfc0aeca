#include "writer/cpp/size_names.h"

#include <gtest/gtest.h>

namespace kw::writer {
namespace {

IntExpr parsed(const char* text) {
  return IntExpr::parse(text).value();
}

// A convolution's output with windows of so many steps.
Nest with_output(const std::vector<const char*>& shape) {
  Nest out;
  Buffer buffer;
  for (const char* size : shape) buffer.type.shape.push_back(parsed(size));
  out.program.buffers.push_back(std::move(buffer));
  return out;
}

TEST(SizeNames, AnIndexIsASumOfProducts) {
  SizeNames names(with_output({"B", "(H - 1) // 2 + 1", "(W - 3) // 2 + 2"}));
  const IntExpr rows = parsed("(H - 1) // 2 + 1"), columns = parsed("(W - 3) // 2 + 2");
  const IntExpr i = IntExpr::symbol("i"), j = IntExpr::symbol("j"), k = IntExpr::symbol("k");
  EXPECT_EQ(names.in((i * rows + j) * columns + k), parsed("i * kw_n0 * kw_n1 + j * kw_n1 + k"));
  EXPECT_EQ(names.in(IntExpr::call(IntFunction::kMin, rows, 7)), parsed("min(kw_n0, 7)"));
  const auto used = names.used();
  ASSERT_EQ(used.size(), 2U);
  EXPECT_EQ(used[0], std::pair(std::string("kw_n0"), rows));
  EXPECT_EQ(used[1], std::pair(std::string("kw_n1"), columns));
}

TEST(SizeNames, WhatWouldBeLongerStays) {
  SizeNames names(with_output({"(H - 1) // 2 + 1"}));
  const IntExpr quotient = parsed("(H - 1) // 2");
  EXPECT_EQ(names.in(quotient), quotient);
  EXPECT_TRUE(names.used().empty());
}

TEST(SizeNames, NamesAndNumbersHaveNone) {
  SizeNames names(with_output({"H", "8", "2 * W"}));
  const IntExpr expr = parsed("2 * W * H + 8");
  EXPECT_EQ(names.in(expr), expr);
  EXPECT_TRUE(names.used().empty());
}

}  // namespace
}  // namespace kw::writer
