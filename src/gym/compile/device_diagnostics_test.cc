// Tests of the logs of NVRTC 13.0, nvcc 13.0 and ptxas 13.0, as they were printed.
#include "gym/compile/device_diagnostics.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/text.h"

namespace kw::gym {
namespace {

using testing::HasSubstr;
using testing::Not;

const std::vector<task::SourceFile> kFiles = {
    {"problem.h", "#pragma once\n"},
    {"main.cu",
     "__global__ void k(float* x) {\n  int y = zz + 1;\n  x[0] = \"a\";\n  int unused = 5;\n"
     "  asm volatile(\"foo.bar;\");\n}\n"}};

constexpr std::string_view kNvrtc = R"(main.cu(2): error: identifier "zz" is undefined
    int y = zz + 1;
            ^

main.cu(3): error: a value of type "const char *" cannot be assigned to an entity of type "float"
    x[0] = "a";
         ^

main.cu(4): warning #177-D: variable "unused" was declared but never referenced
    int unused = 5;
        ^

Remark: The warnings can be suppressed with "-diag-suppress <warning-number>"

main.cu(6): catastrophic error: cannot open source file "cuda_fp16.h"
  #include <cuda_fp16.h>
                        ^

 and 1 catastrophic error detected in the compilation of "main.cu".
Compilation terminated.
)";

TEST(DeviceDiagnostics, TheFrontEndsLinesAndColumns) {
  const auto found = read_device_log(kNvrtc, kFiles);
  ASSERT_EQ(found.size(), 4U);
  EXPECT_EQ(found[0].file, "main.cu");
  EXPECT_EQ(found[0].line, 2);
  EXPECT_EQ(found[0].column, 11);
  EXPECT_EQ(found[0].message, "identifier \"zz\" is undefined");
  EXPECT_EQ(found[0].source, "  int y = zz + 1;");
  EXPECT_EQ(found[1].column, 8);
  EXPECT_EQ(found[2].kind, DiagnosticKind::kWarning);
  EXPECT_EQ(found[3].line, 6);
  EXPECT_EQ(found[3].column, 0);  // the file has something else there
  EXPECT_EQ(found[3].message, "cannot open source file \"cuda_fp16.h\"");
}

TEST(DeviceDiagnostics, FeedbackHasErrorsWithSourceLines) {
  const std::string text = device_diagnostics(kNvrtc, kFiles);
  EXPECT_EQ(text.substr(0, text.find("main.cu:3")),
            "main.cu:2:11: error: identifier \"zz\" is undefined\n"
            "    int y = zz + 1;\n"
            "            ^\n");
  EXPECT_THAT(text, HasSubstr("main.cu:6: error: cannot open source file"));
  EXPECT_THAT(text, Not(HasSubstr("unused")));
  EXPECT_THAT(text, Not(HasSubstr("Compilation terminated")));
}

TEST(DeviceDiagnostics, DetailsBelongToTheirMessage) {
  const auto found = read_device_log(
      "main.cu(2): error: no instance of overloaded function \"f\" matches the argument list\n"
      "            argument types are: (float)\n"
      "    int y = zz + 1;\n"
      "            ^\n"
      "/usr/include/y.h(7): note: here\n",
      kFiles);
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].message,
            "no instance of overloaded function \"f\" matches the argument list\n"
            "argument types are: (float)");
  EXPECT_EQ(found[0].column, 11);
}

TEST(DeviceDiagnostics, TheAssemblersLinesOfPtx) {
  const std::vector<task::SourceFile> ptx = {{"main.ptx", ".version 8.0\n  foo.bar %f1;\n"}};
  const std::string_view log =
      "ptxas main.ptx, line 2; error   : Unknown modifier '.bar'\n"
      "ptxas main.ptx, line 2; error   : Not a name of any known instruction: 'foo'\n"
      "ptxas fatal   : Ptx assembly aborted due to errors\n";
  const auto found = read_device_log(log, ptx);
  ASSERT_EQ(found.size(), 2U);
  EXPECT_EQ(found[0].line, 2);
  EXPECT_EQ(found[0].source, "  foo.bar %f1;");
  EXPECT_THAT(
      device_diagnostics(log, ptx),
      testing::StartsWith("main.ptx:2: error: Unknown modifier '.bar'\n    foo.bar %f1;\n"));
  EXPECT_EQ(device_diagnostics("ptxas fatal   : Unresolved extern function '_Z1ff'\n", ptx),
            "error: Unresolved extern function '_Z1ff'\n");
}

TEST(DeviceDiagnostics, InlineAssemblyIsFoundInTheSource) {
  const auto found = read_device_log(
      "ptxas application ptx input, line 45; error   : Not a name of any known instruction: 'foo'\n"
      "ptxas application ptx input, line 9; error   : Unknown symbol 'nowhere'\n"
      "ptxas fatal   : Ptx assembly aborted due to errors\n",
      kFiles);
  ASSERT_EQ(found.size(), 2U);
  EXPECT_EQ(found[0].file, "main.cu");
  EXPECT_EQ(found[0].line, 5);
  EXPECT_EQ(found[1].line, 0);
  EXPECT_EQ(found[1].file, "");
}

TEST(DeviceDiagnostics, FeedbackIsBounded) {
  std::string log;
  for (int i = 0; i < 500; ++i)
    log += fmt::format("main.cu(1): error: number {} {}\n\n", i, std::string(300, 'x'));
  const std::string text = device_diagnostics(log, kFiles);
  EXPECT_LT(text.size(), 4200U);
  EXPECT_THAT(text, HasSubstr("more errors)"));
  EXPECT_LE(device_diagnostics(std::string(100000, 'z'), kFiles).size(), 1001U);
  EXPECT_EQ(device_diagnostics("Segmentation fault\n", kFiles), "Segmentation fault");
  EXPECT_TRUE(is_valid_utf8(device_diagnostics("main.cu(1): error: \xff\xfe\n", kFiles)));
}

}  // namespace
}  // namespace kw::gym
