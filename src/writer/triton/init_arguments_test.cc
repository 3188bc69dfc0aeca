#include "writer/triton/init_arguments.h"

#include <gtest/gtest.h>

namespace kw::writer::triton {
namespace {

task::Signature signature_of(std::vector<std::string> parameters,
                             std::vector<std::pair<std::string, Json>> constants) {
  task::Signature out;
  out.init_parameters = std::move(parameters);
  out.constants = std::move(constants);
  return out;
}

TEST(InitArguments, AreTheProblemsOwnInItsOrder) {
  const auto signature = signature_of(
      {"width", "mode=", "*", "default=", "eps=", "bias=", "taps=", "stride", "**options"},
      {{"width", 48},
       {"default_", 7},  // a word of C++ has another name among the constants
       {"eps", 1e-5},
       {"bias", true},
       {"taps", {3}},
       {"stride", 2}});
  EXPECT_EQ(InitArguments(signature).parameters(),
            "self, width, mode=None, *, default=7, eps=1e-05, bias=True, taps=(3,), stride, "
            "**options");
}

TEST(InitArguments, WhatIsNotKnownOrCannotBeSoNamedIsTakenAsItComes) {
  EXPECT_EQ(InitArguments(task::Signature()).parameters(), "self, *args, **kwargs");
  const InitArguments taken(signature_of({"width", "torch"}, {{"width", 48}, {"torch", 3}}));
  EXPECT_EQ(taken.parameters(), "self, *args, **kwargs");
  EXPECT_EQ(taken.dimension(48), "48");
  EXPECT_EQ(InitArguments(signature_of({}, {})).parameters(), "self");
}

TEST(InitArguments, ADimensionIsTheOneArgumentThatHasItsValue) {
  const InitArguments arguments(signature_of(
      {"width", "depth", "kernel", "stride", "padding", "sizes", "flag"}, {{"width", 48},
                                                                           {"depth", 96},
                                                                           {"kernel", 3},
                                                                           {"stride", 3},
                                                                           {"padding", 1},
                                                                           {"sizes", {400, 500}},
                                                                           {"flag", true}}));
  EXPECT_EQ(arguments.dimension(48), "width");
  EXPECT_EQ(arguments.dimension(500), "sizes[1]");
  EXPECT_EQ(arguments.dimension(3), "3");  // one of two
  EXPECT_EQ(arguments.dimension(1), "1");  // what is 1 may be anything
  EXPECT_EQ(arguments.dimension(7), "7");
  EXPECT_EQ(arguments.dimension(1600), "4 * sizes[0]");
  EXPECT_EQ(arguments.dimension(96), "depth");  // though 2 * width is it too
  EXPECT_EQ(arguments.dimension(192), "192");   // 4 * width or 2 * depth
}

TEST(InitArguments, PartsAndProductsOfArguments) {
  const InitArguments arguments(signature_of({"dim", "heads"}, {{"dim", 160}, {"heads", 5}}));
  EXPECT_EQ(arguments.dimension(32), "dim // heads");
  EXPECT_EQ(arguments.dimension(800), "dim * heads");
  EXPECT_EQ(arguments.dimension(480), "3 * dim");
}

}  // namespace
}  // namespace kw::writer::triton
