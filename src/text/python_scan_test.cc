// Tests of the outline of Python source.
#include "text/python_scan.h"

#include <gtest/gtest.h>

#include "base/testing/values.h"

namespace kw::text {
namespace {

using testing::ElementsAre;

constexpr std::string_view kSource = R"py("""Module text.
def not_here(): pass
FAKE = 1
"""
import torch  # def also_not(): pass
N = 2048 * 2  # a comment
M: int = (
    N  # inside
    + 1
)
text = "a = b; # no"
A = B = 3
a, b = 1, 2
x = 1; y = [2,
3]
N += 1
if N == 2:
    HIDDEN = 4
else: HIDDEN = 5
class Model(torch.nn.Module):
    inner = 5
    def forward(self, x): return x
async def later(): pass
@decorated
def run(x,
        y=1):
    return x
CONT = 1 + \
  2
f = lambda v: v == 1
compare == 3
obj.attribute = 4
last = {"k": 1})py";

std::string value_of(const PythonAssignment& a) {
  return std::string(kSource.substr(a.value_begin, a.value_end - a.value_begin));
}

TEST(PythonScan, FindsTopLevelFunctionsClassesAndConstants) {
  PythonScan scan(kSource);
  EXPECT_THAT(scan.functions(), ElementsAre("later", "run"));
  EXPECT_THAT(scan.classes(), ElementsAre("Model"));
  std::vector<std::string> names, values;
  for (const auto& a : scan.assignments()) {
    names.push_back(a.name + (a.augmented ? "+" : ""));
    values.push_back(value_of(a));
  }
  EXPECT_THAT(names, ElementsAre("N", "M", "text", "x", "y", "N+", "CONT", "f", "last"));
  EXPECT_THAT(values,
              ElementsAre("2048 * 2", "(\n    N  # inside\n    + 1\n)", "\"a = b; # no\"", "1",
                          "[2,\n3]", "1", "1 + \\\n  2", "lambda v: v == 1", "{\"k\": 1}"));
  EXPECT_TRUE(scan.defines("Model"));
  EXPECT_FALSE(scan.defines("HIDDEN"));
}

TEST(PythonScan, SurvivesMalformedSource) {
  for (const char* source : {"", "\"\"\"open", "((((", "a = (", "'x\n'", "\\", "x = 'a\\", "#",
                             ";;;", "def", "class ", "a =", "))) = 1"}) {
    PythonScan scan(source);
    EXPECT_LE(scan.assignments().size(), 1U) << source;
  }
  EXPECT_THAT(PythonScan("x = '''a\n'''\ndef run(): pass\n").functions(), ElementsAre("run"));
  EXPECT_THAT(PythonScan("\xEF\xBB\xBF"
                         "def run(): pass")
                  .functions(),
              ElementsAre("run"));
  EXPECT_THAT(PythonScan("x = 1\r\ndef run():\r\n  pass\r\n").functions(), ElementsAre("run"));
}

TEST(PythonScan, ExpressionsAreOneBalancedLine) {
  EXPECT_EQ(expression_problem("len_indptr == batch_size + 1"), "");
  EXPECT_EQ(expression_problem("a[0].item() == ')'"), "");
  EXPECT_EQ(expression_problem(" "), "empty");
  EXPECT_EQ(expression_problem("(a"), "brackets do not match");
  EXPECT_EQ(expression_problem("(a]"), "brackets do not match");
  EXPECT_EQ(expression_problem("a\nb"), "more than one line");
}

}  // namespace
}  // namespace kw::text
