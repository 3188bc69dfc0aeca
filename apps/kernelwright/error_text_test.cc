// Messages of several lines become one.
#include "kernelwright/error_text.h"

#include <gtest/gtest.h>

namespace kw::front {
namespace {

TEST(ErrorText, OneLineStaysAsItIs) {
  EXPECT_EQ(one_line("a.cpp: no such file"), "a.cpp: no such file");
  EXPECT_EQ(one_line("evil\x1b[31m\n"), "evil?[31m");
  EXPECT_EQ(one_line(""), "");
}

TEST(ErrorText, LinesAreJoined) {
  EXPECT_EQ(one_line("first\n\n  second\n"), "first; second");
}

TEST(ErrorText, TracebackToPlaceAndException) {
  EXPECT_EQ(one_line("7_Scale: Traceback (most recent call last):\n"
                     "  File \"/x/torch/module.py\", line 1778, in _call_impl\n"
                     "    return forward_call(*args)\n"
                     "           ^^^^^^^^^^^^\n"
                     "  File \"/work/source-_g89/problem.py\", line 19, in get_inputs\n"
                     "    return [torch.rand(rows)]\n"
                     "  File \"/x/torch/random.py\", line 2, in rand\n"
                     "RuntimeError: negative dimension -4\n"
                     " * (tuple of ints size)\n"
                     "more of the message\n\n"),
            "7_Scale: problem.py, line 19, in get_inputs: RuntimeError: negative dimension -4");
}

TEST(ErrorText, TheLastExceptionCounts) {
  EXPECT_EQ(one_line("m: Traceback (most recent call last):\n"
                     "  File \"/work/source-1/problem.py\", line 1, in a\n"
                     "KeyError: 1\n\n"
                     "During handling of the above exception, another exception occurred:\n\n"
                     "Traceback (most recent call last):\n"
                     "  File \"/work/source-1/problem.py\", line 3, in b\n"
                     "ValueError: boom\n"),
            "m: problem.py, line 3, in b: ValueError: boom");
}

TEST(ErrorText, SyntaxErrorsHaveAPlaceWithoutAFunction) {
  EXPECT_EQ(one_line("m: Traceback (most recent call last):\n"
                     "  File \"/x/ast.py\", line 50, in parse\n"
                     "  File \"/work/source-1/problem.py\", line 1\n"
                     "    def run(x:\n"
                     "           ^\n"
                     "SyntaxError: '(' was never closed\n"),
            "m: problem.py, line 1: SyntaxError: '(' was never closed");
}

}  // namespace
}  // namespace kw::front
