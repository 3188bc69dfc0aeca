// Tests of launch expressions and descriptors.
#include "task/launch.h"

#include <gtest/gtest.h>

#include "task/testing/golden.h"

namespace kw::task {
namespace {

const AxisValues kAxes = {
    {"M", 100}, {"N", 7}, {"big", INT64_MAX}, {"low", INT64_MIN}, {"zero", 0}};

std::int64_t value(const std::string& text) {
  auto parsed = LaunchExpression::parse(text);
  EXPECT_TRUE(parsed) << text << ": " << message_of(parsed);
  auto out = parsed->evaluate(kAxes);
  EXPECT_TRUE(out) << text << ": " << message_of(out);
  return out.value_or(-999);
}

TEST(LaunchExpression, FollowsPythonsArithmetic) {
  EXPECT_EQ(value("M"), 100);
  EXPECT_EQ(value("1 + 2 * 3"), 7);
  EXPECT_EQ(value("(1 + 2) * 3"), 9);
  EXPECT_EQ(value("10 - 4 - 3"), 3);
  EXPECT_EQ(value("100 / 10 / 2"), 5);
  EXPECT_EQ(value("-7 / 2"), -4);
  EXPECT_EQ(value("-7 % 3"), 2);
  EXPECT_EQ(value("7 % -3"), -2);
  EXPECT_EQ(value("--3"), 3);
  EXPECT_EQ(value("-2 * -3"), 6);
  EXPECT_EQ(value("ceil_div(M, N)"), 15);
  EXPECT_EQ(value("ceil_div(M, 10)"), 10);
  EXPECT_EQ(value("ceil_div(-7, 2)"), -3);
  EXPECT_EQ(value("min(M, max(N, 50))"), 50);
  EXPECT_EQ(value("low % -1"), 0);
  EXPECT_EQ(value("low / 2"), INT64_MIN / 2);
}

TEST(LaunchExpression, PowersBindAsPythonsDo) {
  EXPECT_EQ(value("2 ** 10"), 1024);
  EXPECT_EQ(value("2 ** 3 ** 2"), 512);
  EXPECT_EQ(value("(2 ** 3) ** 2"), 64);
  EXPECT_EQ(value("-2 ** 2"), -4);
  EXPECT_EQ(value("(-2) ** 63"), INT64_MIN);
  EXPECT_EQ(value("3 * 2 ** zero"), 3);
  EXPECT_EQ(value("0 ** 0"), 1);
  EXPECT_EQ(value("zero ** big"), 0);
  EXPECT_EQ(value("(-1) ** big"), -1);
  EXPECT_EQ(value("1 ** big"), 1);
  EXPECT_EQ(value("2 ** -(1 - N)"), 64);
  EXPECT_EQ(value("+M - +N"), 93);
}

TEST(LaunchExpression, MinAndMaxTakeAnyNumber) {
  EXPECT_EQ(value("min(M, N, 3, 8)"), 3);
  EXPECT_EQ(value("max(1, M, N)"), 100);
}

TEST(LaunchExpression, ComparesAndChooses) {
  EXPECT_EQ(value("M < 100"), 0);
  EXPECT_EQ(value("M <= 100"), 1);
  EXPECT_EQ(value("M > 99"), 1);
  EXPECT_EQ(value("M >= 101"), 0);
  EXPECT_EQ(value("M == 100"), 1);
  EXPECT_EQ(value("M != 100"), 0);
  EXPECT_EQ(value("N + 1 < 9 ? N : M"), 7);
  EXPECT_EQ(value("N > 7 ? 1 : N > 6 ? 2 : 3"), 2);
  EXPECT_EQ(value("(M > 1) + (N > 1)"), 2);
  EXPECT_EQ(value("max(M > 1 ? 3 : 4, 2)"), 3);
  // What is not chosen is not evaluated.
  EXPECT_EQ(value("zero == 0 ? 5 : M / zero"), 5);
  EXPECT_EQ(value("zero ? M / zero : 6"), 6);
}

TEST(LaunchExpression, ChecksOverflowDivisionAndNames) {
  auto failure = [](const std::string& text) {
    return message_of(LaunchExpression::parse(text).value().evaluate(kAxes));
  };
  EXPECT_THAT(failure("big + 1"), testing::HasSubstr("does not fit 64 bits"));
  EXPECT_THAT(failure("low - 1"), testing::HasSubstr("does not fit 64 bits"));
  EXPECT_THAT(failure("big * 2"), testing::HasSubstr("does not fit 64 bits"));
  EXPECT_THAT(failure("-low"), testing::HasSubstr("does not fit 64 bits"));
  EXPECT_THAT(failure("low / -1"), testing::HasSubstr("does not fit 64 bits"));
  EXPECT_EQ(failure("1 + M / zero"), "\"M / zero\": division by zero");
  EXPECT_EQ(failure("M % (N - 7)"), "\"M % (N - 7)\": division by zero");
  EXPECT_EQ(failure("cdiv(M, zero)"), "\"ceil_div(M, zero)\": division by zero");
  EXPECT_EQ(failure("2 * -(low + 0)"),
            "\"-(low + 0)\": 0 - -9223372036854775808 does not fit 64 bits");
  EXPECT_EQ(failure("M ** 10"), "\"M ** 10\": 100 ** 10 does not fit 64 bits");
  EXPECT_EQ(failure("2 ** 63"), "\"2 ** 63\": 2 ** 63 does not fit 64 bits");
  EXPECT_EQ(failure("M ** -N"), "\"M ** -N\": the exponent is -7, less than 0");
  EXPECT_EQ(failure("bigg"), "\"bigg\" is not an axis (did you mean \"big\"?)");
}

TEST(LaunchExpression, SaysWhereTextIsWrong) {
  auto problem = [](const std::string& text) { return message_of(LaunchExpression::parse(text)); };
  EXPECT_EQ(problem(""), "column 1: expected a number, a name or \"(\", found the end");
  EXPECT_EQ(problem("M +"), "column 4: expected a number, a name or \"(\", found the end");
  EXPECT_EQ(problem("M N"), "column 3: expected an operator or the end, found \"N\"");
  EXPECT_EQ(problem("(M"), "column 3: expected \")\", found the end");
  EXPECT_EQ(problem("min(M)"), "column 6: expected \",\", found \")\"");
  EXPECT_EQ(problem("pow(M, 2)"),
            "column 1: \"pow\" is no function; there are ceil_div (cdiv), min and max");
  EXPECT_EQ(problem("min + 1"), "column 5: expected \"(\" after min, found \"+\"");
  EXPECT_EQ(problem("M ? 1"), "column 6: expected \":\", found the end");
  EXPECT_EQ(problem("1 < M < 2"), "column 7: expected an operator or the end, found \"<\"");
  EXPECT_EQ(problem("9223372036854775808"), "column 1: the number does not fit 64 bits");
  EXPECT_EQ(problem(std::string(2000, '1')), "longer than 1024 characters");
  EXPECT_THAT(problem(std::string(200, '(') + "1"), testing::HasSubstr("nested deeper"));
  EXPECT_THAT(problem(std::string(200, '-') + "1"), testing::HasSubstr("nested deeper"));
  std::string powers = "2";
  for (int i = 0; i < 40; ++i) powers += "**2";
  EXPECT_THAT(problem(powers), testing::HasSubstr("nested deeper"));
  std::string choices;
  for (int i = 0; i < 40; ++i) choices += "M?1:";
  EXPECT_THAT(problem(choices + "1"), testing::HasSubstr("nested deeper"));
  std::string chain = "1";
  for (int i = 0; i < 300; ++i) chain += "+1";
  EXPECT_THAT(problem(chain), testing::HasSubstr("more than 256 terms"));
  for (const char* bad :
       {"1.5", "M // 2", "M * * 2", "** 2", "a.b", "M = 1", "M <", "\"M\"", "1 +\n2", "M;", "0x10"})
    EXPECT_NE(problem(bad), "no error") << bad;
}

TEST(LaunchExpression, PrintsOneFormPerTree) {
  auto printed = [](const std::string& text) {
    return LaunchExpression::parse(text).value().print();
  };
  for (const auto& [text, canonical] : std::vector<std::pair<std::string, std::string>>{
           {"1+2*3", "1 + 2 * 3"},
           {"((M))", "M"},
           {"(1+2)*3", "(1 + 2) * 3"},
           {"1-(2-3)", "1 - (2 - 3)"},
           {"(1-2)-3", "1 - 2 - 3"},
           {"M/(N*2)", "M / (N * 2)"},
           {"-(M+1)", "-(M + 1)"},
           {"-M*2", "-M * 2"},
           {"2**3**zero", "2 ** 3 ** zero"},
           {"(2**3)**N", "(2 ** 3) ** N"},
           {"(-M)**2", "(-M) ** 2"},
           {"-(M**2)", "-M ** 2"},
           {"2**-zero", "2 ** -zero"},
           {"+2**(M*zero)*3", "2 ** (M * zero) * 3"},
           {"min(1,2,M)", "min(min(1, 2), M)"},
           {"2*-M", "2 * -M"},
           {"ceil_div( M ,N+1 )", "ceil_div(M, N + 1)"},
           {"cdiv(M,2)", "ceil_div(M, 2)"},
           {"M<N?1:(M==N?2:3)", "M < N ? 1 : M == N ? 2 : 3"},
           {"(M<N?1:0)?2:3", "(M < N ? 1 : 0) ? 2 : 3"},
           {"(M<N)==1", "(M < N) == 1"},
           {"1+(M>=N)", "1 + (M >= N)"},
           {"(M ? 1 : 2)*3", "(M ? 1 : 2) * 3"},
           {"007", "7"}}) {
    EXPECT_EQ(printed(text), canonical);
    EXPECT_EQ(printed(canonical), canonical);
    EXPECT_EQ(value(text), value(canonical));
  }
  EXPECT_THAT(LaunchExpression::parse("N + min(M, N) * K").value().names(),
              testing::ElementsAre("N", "M", "K"));
}

constexpr std::string_view kLaunch =
    R"j({"kernel": "relu", "grid": ["ceil_div(n,256)", 1], "block": [256], "shared_memory": "256*4", "arguments": ["x", "y", {"int64": "n"}]})j";

// print() puts spaces in: what it prints must be readable too.
TEST(LaunchExpression, RefusesWhatIsTooLongWhenPrinted) {
  auto sum = [](int terms) {
    std::string text = "1";
    for (int i = 1; i < terms; ++i) text += "+1";
    return text;
  };
  auto longest = LaunchExpression::parse(sum(256));
  ASSERT_TRUE(longest);
  EXPECT_TRUE(LaunchExpression::parse(longest->print()));
  auto longer = LaunchExpression::parse(sum(257));
  ASSERT_FALSE(longer);
  EXPECT_EQ(longer.error().message(), "longer than 1024 characters with spaces between them");
}

TEST(LaunchDescriptor, RoundTripsInCanonicalForm) {
  auto launch = launch_from_json(json_of(kLaunch), "launch");
  ASSERT_TRUE(launch) << message_of(launch);
  Json written = to_json(*launch);
  EXPECT_EQ(
      written.dump(),
      R"j({"kernel":"relu","grid":["ceil_div(n, 256)","1"],"block":["256"],"shared_memory":"256 * 4","arguments":["x","y",{"int64":"n"}]})j");
  EXPECT_EQ(to_json(launch_from_json(written, "launch").value()), written);
}

TEST(LaunchDescriptor, RoundTripsWithEveryField) {
  const Json all = json_of(
      R"j({"kernel":"k","grid":["n"],"block":["32"],"cluster":["2","1"],"cooperative":true,"dependent":true,"arguments":["x",{"float32":1.5},{"float64":2.0}]})j");
  EXPECT_EQ(to_json(launch_from_json(all, "launch").value()), all);
  const Json least = json_of(R"j({"kernel":"k","grid":["n"],"block":["32"]})j");
  auto launch = launch_from_json(least, "launch");
  ASSERT_TRUE(launch) << message_of(launch);
  EXPECT_FALSE(launch->arguments);
  EXPECT_EQ(to_json(*launch), least);
  const Json scratch = json_of(R"j({"name":"s","bytes":"4 * n","zeroed":true})j");
  EXPECT_EQ(to_json(scratch_from_json(scratch, "scratch").value()), scratch);
}

TEST(LaunchDescriptor, ChecksEveryField) {
  Json good = json_of(kLaunch);
  auto problem = [&](const std::string& pointer, const Json& v) {
    return message_of(launch_from_json(with(good, pointer, v), "launch"));
  };
  EXPECT_EQ(problem("/kernel", nullptr), "launch.kernel: missing");
  EXPECT_THAT(problem("/kernel", "a b"), testing::HasSubstr("not a symbol"));
  EXPECT_EQ(problem("/grid", Json::array()), "launch.grid: expected a list of 1 to 3 expressions");
  EXPECT_EQ(problem("/block", {1, 1, 1, 1}), "launch.block: expected a list of 1 to 3 expressions");
  EXPECT_THAT(problem("/grid/0", "n +"), testing::StartsWith("launch.grid[0]: column"));
  EXPECT_THAT(problem("/grid/0", 1.5),
              testing::StartsWith("launch.grid[0]: expected an expression"));
  EXPECT_THAT(problem("/shared_memory", "*"), testing::StartsWith("launch.shared_memory: "));
  EXPECT_THAT(problem("/arguments/0", "x + 1"), testing::HasSubstr("no tensor's name"));
  EXPECT_THAT(problem("/arguments/2", {{"int16", "n"}}), testing::HasSubstr("unknown key"));
  EXPECT_THAT(problem("/arguments/2", Json::object()),
              testing::HasSubstr("expected a name, int32, int64, float32 or float64"));
  EXPECT_THAT(problem("/arguments/2", {{"int32", "n"}, {"int64", "n"}}),
              testing::HasSubstr("unknown key"));
  EXPECT_EQ(problem("/arguments/2", {{"float32", "n"}}),
            "launch.arguments[2].float32: expected a number, found \"n\"");
  EXPECT_EQ(problem("/cluster", {1, 1, 1, 1}),
            "launch.cluster: expected a list of 1 to 3 expressions");
  EXPECT_EQ(problem("/blok", 1), "launch.blok: unknown key (did you mean \"block\"?)");
}

}  // namespace
}  // namespace kw::task
