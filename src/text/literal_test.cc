#include "text/literal.h"

#include <gtest/gtest.h>

#include "base/testing/values.h"

namespace kw::text {
namespace {

struct Case {
  const char* text;
  const char* printed;
};

// The right column is what Python 3.11 prints for repr(ast.literal_eval(left)).
constexpr Case kLiterals[] = {
    {"16", "16"},
    {"-3", "-3"},
    {"+3", "3"},
    {"1_000", "1000"},
    {"0x1F", "31"},
    {"-0b101", "-5"},
    {"0o17", "15"},
    {"0", "0"},
    {"00", "0"},
    {"9223372036854775807", "9223372036854775807"},
    {"-9223372036854775808", "-9223372036854775808"},
    {"1.", "1.0"},
    {".5", "0.5"},
    {"1e-5", "1e-05"},
    {"1E3", "1000.0"},
    {"1e16", "1e+16"},
    {"123456789012345.0", "123456789012345.0"},
    {"-0.0", "-0.0"},
    {"0.1", "0.1"},
    {"1_0.5_0", "10.5"},
    {"True", "True"},
    {"None", "None"},
    {"'a'", "'a'"},
    {"\"it's\"", "\"it's\""},
    {"'say \"hi\"'", "'say \"hi\"'"},
    {"'both \\' and \"'", "'both \\' and \"'"},
    {"'\\n\\t\\\\'", "'\\n\\t\\\\'"},
    {"'\\x41\\u00e9'", "'A\xc3\xa9'"},
    {"'\\x01'", "'\\x01'"},
    {"()", "()"},
    {"(1024,)", "(1024,)"},
    {"(1)", "1"},
    {"( 1 , 2 )", "(1, 2)"},
    {"(1, 2,)", "(1, 2)"},
    {"[]", "[]"},
    {"[1, [2.5, 'x'], ()]", "[1, [2.5, 'x'], ()]"},
    {"{}", "{}"},
    {"{'a': 1, (1, 2): [3]}", "{'a': 1, (1, 2): [3]}"},
};

TEST(Literal, PrintsLikePython) {
  for (const Case& c : kLiterals) {
    auto parsed = parse_literal(c.text);
    ASSERT_TRUE(parsed) << c.text << ": " << message_of(parsed);
    EXPECT_EQ(repr(*parsed), c.printed) << c.text;
    EXPECT_EQ(parse_literal(repr(*parsed)).value(), *parsed) << c.text;
  }
}

TEST(Literal, RefusesEverythingElse) {
  for (const char* bad : {"",
                          " ",
                          "x",
                          "relu",
                          "1 + 1",
                          "2048 * 2",
                          "1,2",
                          "(1",
                          "[1,,2]",
                          "[,]",
                          "(,)",
                          "'a",
                          "'a' 'b'",
                          "f'a'",
                          "b'a'",
                          "1e999",
                          "9223372036854775808",
                          "1j",
                          "01",
                          "0x",
                          "0xg",
                          "1__0",
                          "1_",
                          "_1",
                          "--1",
                          "-",
                          ".",
                          "-.",
                          "{1}",
                          "{[]: 1}",
                          "{1: 2, 1: 3}",
                          "{1 2}",
                          "'\\q'",
                          "'\\x4'",
                          "'\\ud800'",
                          "inf",
                          "nan",
                          "...",
                          "'a\nb'",
                          "true",
                          "0x1.8p3",
                          "1e5e5"}) {
    EXPECT_FALSE(parse_literal(bad)) << bad;
  }
  EXPECT_FALSE(parse_literal(std::string(100, '[')));
  EXPECT_FALSE(parse_literal(std::string(70000, '1')));
  EXPECT_EQ(message_of(parse_literal("[1, x]")),
            "not a Python literal: column 5: \"x\" is not a value (strings need quotes)");
}

}  // namespace
}  // namespace kw::text
