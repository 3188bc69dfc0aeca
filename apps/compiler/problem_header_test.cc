// problem.h in g++: every element type computes as its format says, and every name compiles.
#include <cmath>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "testing/build_stage.h"

namespace kw::gym {
namespace {

struct Format {
  DType dtype;
  int exponent_bits, mantissa_bits;
  double largest;
  double over;  // what a value far beyond the largest becomes
};
void PrintTo(const Format& format, std::ostream* out) {
  *out << to_string(format.dtype);
}

// Decodes a small float by its definition (IEEE 754 with the format's own infinities and NaNs left
// out).
double decode(const Format& f, unsigned bits) {
  unsigned mantissa = bits & ((1U << f.mantissa_bits) - 1);
  unsigned exponent = (bits >> f.mantissa_bits) & ((1U << f.exponent_bits) - 1);
  bool negative = (bits >> (f.mantissa_bits + f.exponent_bits)) != 0;
  int bias = (1 << (f.exponent_bits - 1)) - 1;
  double value = exponent == 0 ? std::ldexp(mantissa, 1 - bias - f.mantissa_bits)
                               : std::ldexp(1.0 + std::ldexp(mantissa, -f.mantissa_bits),
                                            static_cast<int>(exponent) - bias);
  return negative ? -value : value;
}

class ElementTypeTest : public CompilerTest, public testing::WithParamInterface<Format> {};

TEST_P(ElementTypeTest, RoundsToTheNearestAndBack) {
  Format f = GetParam();
  task::Signature s =
      signature_of({{.name = "x", .shape = {4}}, {.name = "b", .dtype = f.dtype, .shape = {4}}},
                   {{.name = "y", .role = Role::kOutput, .dtype = f.dtype, .shape = {4}},
                    {.name = "z", .role = Role::kOutput, .shape = {4}}});
  std::string type(tensor::cpp_type(f.dtype));
  std::string source = "void run(const float* x, const " + type + "* b, " + type +
                       "* y, float* z, int64_t n) { for (int64_t i = 0; i < n; ++i) { y[i] = x[i]; "
                       "z[i] = b[i] * 1.0f; } }";
  BuildOutcome outcome = build(plan(candidate(source), s));
  ASSERT_EQ(outcome.status, BuildStatus::kBuilt) << outcome.diagnostics;
  Loaded object(outcome.artifact);

  // Every finite value, and the middle between neighbours with what lies just beside it.
  unsigned width = 1U + static_cast<unsigned>(f.exponent_bits + f.mantissa_bits);
  std::vector<std::uint8_t> codes;
  for (unsigned code = 0; code < (1U << width); ++code) {
    if (std::fabs(decode(f, code)) <= f.largest) codes.push_back(static_cast<std::uint8_t>(code));
  }
  std::vector<float> x;
  std::vector<std::uint8_t> expected;
  for (std::uint8_t code : codes) {
    double value = decode(f, code);
    x.push_back(static_cast<float>(value));
    expected.push_back(code);
    unsigned next = code + 1U;
    if (std::fabs(decode(f, next & ((1U << width) - 1))) > f.largest ||
        next == (1U << (width - 1)) || next == (1U << width)) {
      continue;
    }
    auto middle = static_cast<float>((value + decode(f, next)) / 2);
    float beyond = std::nextafter(middle, static_cast<float>(decode(f, next)));
    float before = std::nextafter(middle, static_cast<float>(value));
    for (float sample : {middle, beyond, before}) x.push_back(sample);
    expected.push_back(static_cast<std::uint8_t>(code % 2 == 0 ? code : next));
    expected.push_back(static_cast<std::uint8_t>(next));
    expected.push_back(code);
  }
  x.insert(x.end(), {1e30F, -1e30F, NAN});
  auto n = static_cast<std::int64_t>(x.size());
  std::vector<std::uint8_t> y(x.size()), b(x.size());
  std::copy(codes.begin(), codes.end(), b.begin());
  std::vector<float> z(x.size());
  object.call(nullptr, {x.data(), b.data(), y.data(), z.data(), &n});
  for (std::size_t i = 0; i < expected.size(); ++i) {
    ASSERT_EQ(int{y[i]}, int{expected[i]}) << "of " << x[i];
  }
  for (std::size_t i = 0; i < codes.size(); ++i) ASSERT_EQ(z[i], decode(f, codes[i]));

  // What was written for the three last ones, read again.
  std::vector<std::uint8_t> special(y.end() - 3, y.end());
  std::int64_t three = 3;
  object.call(nullptr, {x.data(), special.data(), y.data(), z.data(), &three});
  if (std::isnan(f.over)) {
    EXPECT_TRUE(std::isnan(z[0]) && std::isnan(z[1]));
  } else {
    EXPECT_EQ(z[0], f.over);
    EXPECT_EQ(z[1], -f.over);
  }
  EXPECT_TRUE(std::isnan(z[2]) || f.dtype == DType::kFloat4E2M1);
}

INSTANTIATE_TEST_SUITE_P(Small, ElementTypeTest,
                         testing::Values(Format{DType::kFloat8E4M3Fn, 4, 3, 448, NAN},
                                         Format{DType::kFloat8E5M2, 5, 2, 57344, INFINITY},
                                         Format{DType::kFloat4E2M1, 2, 1, 6, 6}),
                         testing::PrintToStringParamName());

TEST_F(CompilerTest, BFloat16IsTheUpperHalfOfAFloat) {
  task::Signature s =
      signature_of({{.name = "x", .shape = {4}}},
                   {{.name = "y", .role = Role::kOutput, .dtype = DType::kBFloat16, .shape = {4}},
                    {.name = "h", .role = Role::kOutput, .dtype = DType::kFloat16, .shape = {4}}});
  BuildOutcome outcome =
      build(plan(candidate("void run(const float* x, kw_bfloat16* y, _Float16* h, int64_t n) {\n"
                           "  for (int64_t i = 0; i < n; ++i) { y[i] = x[i]; h[i] = "
                           "static_cast<_Float16>(float(y[i])); }\n}"),
                 s));
  ASSERT_EQ(outcome.status, BuildStatus::kBuilt) << outcome.diagnostics;
  // One, ties (to even: down, up), just over a tie, the largest that rounds to infinity, NaN.
  std::vector<std::uint32_t> x = {0x3F800000, 0x3F808000, 0x3F818000, 0x3F808001,
                                  0x7F7FFFFF, 0x7F800001, 0xBF818000};
  std::vector<std::uint16_t> y(x.size()), h(x.size());
  auto n = static_cast<std::int64_t>(x.size());
  Loaded(outcome.artifact).call(nullptr, {x.data(), y.data(), h.data(), &n});
  EXPECT_THAT(y, testing::ElementsAre(0x3F80, 0x3F80, 0x3F82, 0x3F81, 0x7F80, 0x7FC0, 0xBF82));
  EXPECT_EQ(h[0], 0x3C00);
}

TEST_F(CompilerTest, EveryElementTypeAndPrepareCompile) {
  task::Signature s;
  for (int i = 0; i <= static_cast<int>(DType::kBool); ++i) {
    auto dtype = static_cast<DType>(i);
    s.inputs.push_back({.name = fmt::format("in_{}", i), .dtype = dtype, .shape = {2, 3}});
    Json value = tensor::is_floating(dtype) ? Json(1.5) : Json(1);
    s.inputs.push_back({.name = fmt::format("scalar_{}", i),
                        .role = Role::kScalar,
                        .dtype = dtype,
                        .value = value});
    s.statics.push_back({.name = fmt::format("w_{}", i),
                         .role = Role::kStatic,
                         .dtype = dtype,
                         .shape = {},
                         .state_key = "a.b\\"});
  }
  s.outputs = {{.name = "template", .role = Role::kOutput, .shape = {}}};
  for (const char* name :
       {"gamma", "y1", "index", "time", "class", "int64_t", "run", "kw_x", "select"}) {
    s.constants.emplace_back(name, 1);
  }
  s.constants.emplace_back("kernel", Json::array({1, 2, 3}));
  std::string header = task::problem_header(s, true);
  // A definition of run that takes whatever the header declares.
  std::string run = header.substr(header.find("extern \"C\" void run("));
  run = run.substr(0, run.rfind(");")) + ") {}";
  std::string prepare = header.substr(header.find("extern \"C\" void* prepare("));
  prepare = prepare.substr(0, prepare.find(");")) + ") { return nullptr; }\n";
  task::Candidate c = candidate(
      "#include <math.h>\n#include <cmath>\n#include <cstring>\n#include <ctime>\n"
      "#include <vector>\n#include <unistd.h>\n#include <omp.h>\n" +
      prepare + run);
  CompilePlan all = plan(c, s);
  EXPECT_TRUE(all.has_prepare);
  BuildOutcome outcome = build(all);
  EXPECT_EQ(outcome.status, BuildStatus::kBuilt) << outcome.diagnostics << "\n" << header;
}

}  // namespace
}  // namespace kw::gym
