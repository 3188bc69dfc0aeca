// Tests of problem.h, the code behind it, and of the search for prepare(). That both compile and
// compute is tested with the compiler.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "task/signature.h"
#include "text/cpp_scan.h"

namespace kw::task {
namespace {

using testing::HasSubstr;
using testing::Not;

Signature rms_norm() {
  Signature s;
  s.inputs = {
      {.name = "x", .shape = {3, 64}},
      {.name = "eps", .role = Role::kScalar, .value = 1e-6},
      {.name = "causal", .role = Role::kScalar, .dtype = tensor::DType::kBool, .value = true}};
  s.statics = {
      {.name = "weight", .role = Role::kStatic, .dtype = tensor::DType::kFloat16, .shape = {64}}};
  s.outputs = {{.name = "y", .role = Role::kOutput, .shape = {3, 64}}};
  s.axes = {{"batch", 3}};
  s.constants = {{"hidden", 64}};
  s.input_axes = {{"batch", "hidden"}, {}, {}};
  s.static_axes = {{"hidden"}};
  s.output_axes = {{"batch", "hidden"}};
  return s;
}

TEST(ProblemHeader, OfADefinition) {
  EXPECT_EQ(problem_header(rms_norm(), false),
            R"(// problem.h: generated, and included before every source file.
#pragma once
#include <stddef.h>
#include <stdint.h>

constexpr int64_t hidden = 64;

// Tensors are contiguous, in row-major order, and 64-byte aligned; inputs have 64 readable bytes past their end.
extern "C" void run(
    const float* x,          // [batch, hidden] float32
    float eps,               // scalar float32
    bool causal,             // scalar bool
    const _Float16* weight,  // [hidden] float16
    float* y,                // [batch, hidden] float32
    int64_t batch);
)");
}

TEST(ProblemHeader, WithPrepare) {
  std::string header = problem_header(rms_norm(), true);
  EXPECT_THAT(header, HasSubstr(R"(extern "C" void* prepare(
    const _Float16* weight,  // [hidden] float16
    int64_t batch);
extern "C" void run(
    void* state,             // what prepare returned
    const float* x,          // [batch, hidden] float32
)"));
}

TEST(ProblemHeader, DoesNotDependOnVariableAxesOrScalars) {
  Signature other = rms_norm();
  other.axes[0].second = 77;
  other.inputs[0].shape = {77, 64};
  other.inputs[1].value = 0.5;
  other.outputs[0].shape = {77, 64};
  EXPECT_EQ(problem_header(other, true), problem_header(rms_norm(), true));
  EXPECT_EQ(call_shim(other, true), call_shim(rms_norm(), true));
}

TEST(ProblemHeader, OfAModule) {
  Signature s;
  s.inputs = {{.name = "x", .shape = {16, 3}}};
  s.statics = {
      {.name = "conv_weight", .role = Role::kStatic, .shape = {8, 3}, .state_key = "conv.weight"}};
  s.outputs = {
      {.name = "out", .role = Role::kOutput, .dtype = tensor::DType::kInt64, .shape = {16}}};
  s.constants = {{"channels", 3},
                 {"eps", 1e-5},
                 {"scale", 2.0},
                 {"bias", true},
                 {"kernel_size", Json::array({3, 5})},
                 {"mixed", Json::array({1, 0.5})},
                 {"empty", Json::array()},
                 {"mode", "same"},
                 {"int", 1},
                 {"gamma", 0.5}};
  std::string header = problem_header(s, false);
  EXPECT_THAT(header, HasSubstr(R"(
constexpr int64_t channels = 3;
constexpr double eps = 1e-05;
constexpr double scale = 2.0;
constexpr bool bias = true;
constexpr int64_t kernel_size[2] = {3, 5};
constexpr double mixed[2] = {1, 0.5};
// empty is []
// mode is "same"
constexpr int64_t int_ = 1;
constexpr double gamma_ = 0.5;
constexpr int64_t x_0 = 16;
constexpr int64_t x_1 = 3;
constexpr int64_t conv_weight_0 = 8;
constexpr int64_t conv_weight_1 = 3;
constexpr int64_t out_0 = 16;
)"));
  EXPECT_THAT(
      header,
      HasSubstr("const float* conv_weight,  // [8, 3] float32, state_dict key conv.weight"));
  EXPECT_THAT(header, HasSubstr("int64_t* out);"));
}

TEST(ProblemHeader, GivesEveryNameASpellingOfItsOwn) {
  Signature s = rms_norm();
  s.inputs[0].name = "class";
  s.inputs[1].name = "out";
  s.inputs[2].name = "x.y";
  s.statics[0].name = "state";
  s.outputs[0].name = "out";
  s.axes[0].first = "x_y";
  s.constants[0].first = "kw_bfloat16";
  std::string header = problem_header(s, true);
  EXPECT_THAT(header, HasSubstr("const float* class_,"));
  EXPECT_THAT(header, HasSubstr("float out,"));
  EXPECT_THAT(header, HasSubstr("bool x_y,"));
  EXPECT_THAT(header, HasSubstr("const _Float16* state_,"));
  EXPECT_THAT(header, HasSubstr("float* out_,"));
  EXPECT_THAT(header, HasSubstr("int64_t x_y_);"));
  EXPECT_THAT(header, HasSubstr("constexpr int64_t x_kw_bfloat16 = 64;"));
}

TEST(ProblemHeader, TextOfOthersCannotLeaveItsComment) {
  Signature s = rms_norm();
  s.input_axes.clear();
  s.static_axes.clear();
  s.output_axes.clear();
  s.statics[0].state_key = "a\n#include \"/etc/passwd\"";
  s.statics.push_back({.name = "bias", .role = Role::kStatic, .state_key = "b\\"});
  s.constants = {{"mode", "x\ny"}};
  std::string header = problem_header(s, false);
  EXPECT_THAT(header, Not(HasSubstr("\n#include \"/etc")));
  EXPECT_THAT(header, HasSubstr("// mode is \"x?ny\"\n"));
  EXPECT_THAT(header, HasSubstr("state_dict key b?\n"));
}

TEST(CallShim, UnpacksInOrder) {
  EXPECT_EQ(call_shim(rms_norm(), true),
            R"(// Entry points of the executor: arguments unpacked in the order of problem.h.
extern "C" void kw_call([[maybe_unused]] void* state, [[maybe_unused]] void* const* a) {
  run(state,
      static_cast<const float*>(a[0]),
      static_cast<float>(*static_cast<const double*>(a[1])),
      static_cast<bool>(*static_cast<const int64_t*>(a[2])),
      static_cast<const _Float16*>(a[3]),
      static_cast<float*>(a[4]),
      *static_cast<const int64_t*>(a[5]));
}
extern "C" void* kw_prepare([[maybe_unused]] void* const* a) {
  return prepare(static_cast<const _Float16*>(a[0]),
      *static_cast<const int64_t*>(a[1]));
}
)");
}

TEST(DefinesPrepare, FindsDefinitions) {
  for (const char* source : {
           "void* prepare(const float* w) { return 0; }",
           "extern \"C\" void* prepare(const float* w, int64_t n)\n{\n}",
           "extern \"C\" {\nint helper() { return 1; }\nvoid *prepare(int64_t n) noexcept {\n}\n}",
           "struct A { int x; };\nauto prepare(int (*f)(int)) -> void* { }",
           "#define X \\\n {\nvoid* prepare() {}",
           "int a = 1'000; void* prepare() {}",
           "char c = '\"'; void* prepare() {}",
       }) {
    EXPECT_TRUE(text::defines_prepare(source)) << source;
  }
}

TEST(DefinesPrepare, IgnoresEverythingElse) {
  for (const char* source : {
           "void* prepare(const float* w);",
           "// void* prepare() {}\n",
           "/* void* prepare() {} */",
           "const char* s = \"void* prepare() {}\";",
           "const char* s = R\"x(\n void* prepare() {} )\" )x\";",
           "struct A { void* prepare() { return 0; } };",
           "namespace mine { void* prepare() { return 0; } }",
           "void run() { if (prepare(1)) { } }",
           "void* A::prepare() { return 0; }",
           "#define P void* prepare() {}\n",
           "void* prepare_all() {}",
           "/* never closed void* prepare() {}",
           "\"",
           "R\"",
           "",
       }) {
    EXPECT_FALSE(text::defines_prepare(source)) << source;
  }
}

// Brackets that are never closed: looking for each one's end by itself would take minutes.
TEST(DefinesPrepare, TakesTimeLinearInTheSource) {
  std::string source;
  for (int i = 0; i < 150'000; ++i) source += "int prepare(";
  EXPECT_FALSE(text::defines_prepare(source));
}

}  // namespace
}  // namespace kw::task
