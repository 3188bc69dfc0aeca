// Tests of compile plans, keys, flags, the toolchain's parser and diagnostics; no compiler runs.
#include "gym/compile/plan.h"

#include <algorithm>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "task/flags.h"

namespace kw::gym {
namespace {

using testing::HasSubstr;
using testing::Not;

Toolchain toolchain() {
  return {.compiler = "/usr/bin/g++",
          .version = "gcc version 12",
          .arch = "znver3",
          .arch_flags = {"-march=znver3", "-mavx2"},
          .identity = "abc"};
}

task::Signature signature(std::int64_t n = 8) {
  task::Signature s;
  s.inputs = {{.name = "x", .shape = {n}}};
  s.outputs = {{.name = "y", .role = task::Role::kOutput, .shape = {n}}};
  s.axes = {{"n", n}};
  s.input_axes = {{"n"}};
  s.output_axes = {{"n"}};
  return s;
}

task::Candidate candidate() {
  task::Candidate c;
  c.entry_file = "main.cpp";
  c.sources = {{"main.cpp", "void run(const float* x, float* y, int64_t n) {}"}};
  return c;
}

std::string error_of(const task::Candidate& c) {
  auto plan = plan_cpp(c, signature(), toolchain());
  if (plan) return "";
  EXPECT_EQ(plan.error().code(), ErrorCode::kInvalidArgument);
  return plan.error().message();
}

std::string key_of(const task::Candidate& c) {
  return plan_cpp(c, signature(), toolchain()).value().key;
}

TEST(Plan, OneSourceIsOneCommand) {
  task::Candidate c = candidate();
  c.flags = {"-ffast-math"};
  CompilePlan plan = plan_cpp(c, signature(), toolchain()).value();
  ASSERT_EQ(plan.commands.size(), 1U);
  const auto& words = plan.commands[0];
  EXPECT_EQ(words[0], "/usr/bin/g++");
  EXPECT_EQ(words.back(), "main.cpp");
  for (const char* word :
       {"-std=c++20", "-O3", "-fno-math-errno", "-fopenmp", "-march=znver3", "-mavx2", "-fPIC",
        "-shared", "-Wl,-z,now", "-Wl,-z,defs", "problem.h", "kw_call.h"}) {
    EXPECT_THAT(words, testing::Contains(word));
  }
  // The candidate's flags may override ours for speed, never the fixed ones.
  auto at = [&](const char* word) { return std::find(words.begin(), words.end(), word); };
  EXPECT_LT(at("-O3"), at("-ffast-math"));
  EXPECT_LT(at("-ffast-math"), at("-fPIC"));
  ASSERT_EQ(plan.files.size(), 3U);
  EXPECT_EQ(plan.files[0].path, "problem.h");
  EXPECT_THAT(plan.files[0].content, HasSubstr("extern \"C\" void run("));
  EXPECT_FALSE(plan.has_prepare);
}

TEST(Plan, SeveralSourcesAreCompiledApart) {
  task::Candidate c = candidate();
  c.sources.insert(c.sources.begin(), {"lib/helper.cc", "int helper() { return 1; }"});
  c.sources.push_back({"lib/helper.h", "int helper();"});
  CompilePlan plan = plan_cpp(c, signature(), toolchain()).value();
  ASSERT_EQ(plan.commands.size(), 3U);
  EXPECT_EQ(plan.commands[0].back(), "main.cpp");
  EXPECT_THAT(plan.commands[0], testing::Contains("kw_call.h"));
  EXPECT_EQ(plan.commands[1].back(), "lib/helper.cc");
  EXPECT_THAT(plan.commands[1], Not(testing::Contains("kw_call.h")));
  EXPECT_THAT(plan.commands[2], testing::Contains(plan.artifact));
  EXPECT_EQ(plan.files.size(), 5U);
}

TEST(Plan, PrepareIsFoundInAnyCppFile) {
  task::Candidate prose = candidate();
  prose.sources.push_back({"README.md", "void* prepare(int64_t n) { return 0; }"});
  EXPECT_FALSE(plan_cpp(prose, signature(), toolchain()).value().has_prepare);
  task::Candidate header = candidate();
  header.sources.push_back({"p.hpp", "inline void* prepare(int64_t n) { return 0; }"});
  EXPECT_TRUE(plan_cpp(header, signature(), toolchain()).value().has_prepare);
  task::Candidate c = candidate();
  c.sources.push_back({"p.cc", "void* prepare(int64_t n) { return 0; }"});
  CompilePlan plan = plan_cpp(c, signature(), toolchain()).value();
  EXPECT_TRUE(plan.has_prepare);
  EXPECT_THAT(plan.files[0].content, HasSubstr("void* prepare("));
  EXPECT_THAT(plan.files[1].content, HasSubstr("kw_prepare"));
}

TEST(Plan, OurHeadersReplaceTheCandidates) {
  task::Candidate c = candidate();
  c.sources.push_back({"problem.h", "#error not this one"});
  CompilePlan plan = plan_cpp(c, signature(), toolchain()).value();
  EXPECT_EQ(plan.files.size(), 3U);
  EXPECT_THAT(plan.files[0].content, Not(HasSubstr("#error")));
}

TEST(Plan, TheKeyIsEverythingThatDecidesTheBuild) {
  std::string key = key_of(candidate());
  EXPECT_EQ(key.size(), 64U);
  EXPECT_EQ(plan_cpp(candidate(), signature(99), toolchain()).value().key, key)
      << "a variable axis' value is no part of a build";
  task::Candidate named = candidate();
  named.name = "another name";
  EXPECT_EQ(key_of(named), key);

  task::Candidate changed = candidate();
  changed.sources[0].content += " ";
  EXPECT_NE(key_of(changed), key);
  changed = candidate();
  changed.flags = {"-ffast-math"};
  EXPECT_NE(key_of(changed), key);
  changed = candidate();
  changed.sources.push_back({"extra.h", ""});
  EXPECT_NE(key_of(changed), key);
  Toolchain other = toolchain();
  other.identity = "abd";
  EXPECT_NE(plan_cpp(candidate(), signature(), other).value().key, key);
  other = toolchain();
  other.arch_flags = {"-march=znver3"};
  EXPECT_NE(plan_cpp(candidate(), signature(), other).value().key, key);
  task::Signature constant = signature();
  constant.constants = {{"k", 3}};
  EXPECT_NE(plan_cpp(candidate(), constant, toolchain()).value().key, key);
  // Invalid UTF-8 differs from what JSON would replace it with.
  task::Candidate a = candidate(), b = candidate();
  a.sources[0].content += "//\xff";
  b.sources[0].content += "//\xfe";
  EXPECT_NE(key_of(a), key_of(b));
}

TEST(Plan, RefusesFilesAndFlagsThatAreNotAllowed) {
  for (const char* path : {"/etc/passwd.cpp", "../x.cpp", "a/../x.cpp", "./x.cpp", "-x.cpp",
                           "a//b.cpp", "a b.cpp", "a\n.cpp", ""}) {
    task::Candidate c = candidate();
    c.sources.push_back({path, ""});
    EXPECT_THAT(error_of(c), HasSubstr("is not allowed")) << path;
  }
  task::Candidate c = candidate();
  c.flags = {"-fplugin=./evil.so"};
  EXPECT_THAT(error_of(c), HasSubstr("-fplugin=./evil.so"));
  c = candidate();
  c.sources.push_back(c.sources[0]);
  EXPECT_THAT(error_of(c), HasSubstr("two source files"));
  c = candidate();
  c.sources[0].path = "main.txt";
  EXPECT_THAT(error_of(c), HasSubstr("no source file ends in"));
  c = candidate();
  c.entry_file = "other.cpp";
  EXPECT_THAT(error_of(c), HasSubstr("entry file other.cpp"));
  c = candidate();
  c.sources[0].content.resize(5 << 20);
  EXPECT_THAT(error_of(c), HasSubstr("of source text"));
  c = candidate();
  for (int i = 0; i < 70; ++i) c.sources.push_back({fmt::format("{}.h", i), ""});
  EXPECT_THAT(error_of(c), HasSubstr("71 source files"));
}

TEST(Plan, EveryAllowedFlagIsAPlainSwitch) {
  for (const std::string& flag : task::allowed_flags()) {
    EXPECT_TRUE(flag.starts_with("-f") || flag.starts_with("-m") || flag.starts_with("-O")) << flag;
    EXPECT_EQ(flag.find_first_of("/ @\n"), std::string::npos) << flag;
    // Resolved unseen by the key; loads a program; reads or writes files.
    for (const char* refused :
         {"=native", "-fplugin", "-fprofile", "-fdump", "-fuse-ld", "-flto"}) {
      EXPECT_EQ(flag.find(refused), std::string::npos) << flag;
    }
  }
}

TEST(Toolchain, ReadsTheDriversCommandLine) {
  Toolchain t =
      parse_driver_output(
          "Using built-in specs.\nTarget: x86_64-linux-gnu\n"
          "gcc version 12.2.0 (Debian 12.2.0-14+deb12u1) \n"
          " /usr/lib/gcc/x86_64-linux-gnu/12/cc1plus -quiet -v -imultiarch x86_64-linux-gnu "
          "-D_GNU_SOURCE /dev/null \"-march=znver3\" -mavx2 -mno-avx512f --param "
          "\"l1-cache-size=32\" \"-mtune=znver3\" -quiet -o /tmp/x.s\n")
          .value();
  EXPECT_EQ(t.version, "gcc version 12.2.0 (Debian 12.2.0-14+deb12u1)");
  EXPECT_EQ(t.arch, "znver3");
  EXPECT_THAT(t.arch_flags, testing::ElementsAre("-march=znver3", "-mavx2", "-mno-avx512f",
                                                 "--param=l1-cache-size=32", "-mtune=znver3"));
  EXPECT_EQ(t.identity.size(), 64U);
  EXPECT_FALSE(parse_driver_output("clang version 19\n"));
  EXPECT_FALSE(parse_driver_output(""));
}

TEST(Toolchain, SaysWhatIsMissing) {
  auto none = resolve_toolchain("/nonexistent/g++");
  ASSERT_FALSE(none);
  EXPECT_THAT(none.error().message(), HasSubstr("/nonexistent/g++"));
}

TEST(Diagnostics, KeepsErrorsWithTheirLines) {
  std::string text = compiler_diagnostics(
      "In file included from /usr/include/c++/12/cmath:45,\n"
      "                 from main.cpp:1:\n"
      "/usr/include/math.h:300:5: warning: something of no interest\n"
      "  300 |   x\n"
      "main.cpp: In function 'void run(const float*, float*)':\n"
      "main.cpp:3:14: error: 'foo' was not declared in this scope\n"
      "    3 |   y[0] = foo(x[0] / 2);\n"
      "      |          ^~~\n"
      "/usr/include/c++/12/vector:12:3: note: one\n"
      "main.cpp:4:1: note: two\n"
      "main.cpp:5:1: note: three\n"
      "compilation terminated.\n");
  EXPECT_THAT(text, HasSubstr("In function 'void run(const float*, float*)'"));
  EXPECT_THAT(text, HasSubstr("main.cpp:3:14: error: 'foo' was not declared in this scope\n"));
  EXPECT_THAT(text, HasSubstr("y[0] = foo(x[0] / 2);"));
  EXPECT_THAT(text, HasSubstr("vector:12:3: note: one"));
  EXPECT_THAT(text, HasSubstr("note: two"));
  EXPECT_THAT(text, Not(HasSubstr("note: three")));
  EXPECT_THAT(text, Not(HasSubstr("no interest")));
  EXPECT_THAT(text, Not(HasSubstr("/usr")));
}

TEST(Diagnostics, OfTheLinker) {
  std::string text = compiler_diagnostics(
      "/usr/bin/ld: /tmp/ccx.o: in function `kw_call':\n"
      "main.cpp:(.text+0x1): undefined reference to `run'\n"
      "collect2: error: ld returned 1 exit status\n");
  EXPECT_THAT(text, HasSubstr("undefined reference to `run'"));
  EXPECT_THAT(text, HasSubstr("hint: run (and prepare) must be declared exactly as in problem.h"));
}

TEST(Diagnostics, StayShortAndPrintable) {
  std::string log;
  for (int i = 0; i < 200; ++i) {
    log += fmt::format("main.cpp:{}:1: error: \x1b[31m{}\n    {} | code\n", i,
                       std::string(200, 'e'), i);
  }
  std::string text = compiler_diagnostics(log);
  EXPECT_LT(text.size(), 4400U);
  EXPECT_THAT(text, HasSubstr("main.cpp:0:1: error"));
  EXPECT_THAT(text, HasSubstr("more errors)"));
  EXPECT_THAT(text, Not(HasSubstr("\x1b")));
  std::string one = compiler_diagnostics("a.cpp:1:1: error: x\n" + log.substr(0, 0) +
                                         std::string(100'000, ' ') + "y\n");
  EXPECT_LT(one.size(), 4400U);
  EXPECT_THAT(compiler_diagnostics("cc1plus: out of memory allocating 1 bytes\n"),
              HasSubstr("out of memory"));
  EXPECT_EQ(compiler_diagnostics(""), "");
}

}  // namespace
}  // namespace kw::gym
