// Invisible characters around fences, and the same characters where they belong to the code.
#include "prompt/plain_fences.h"

#include <gtest/gtest.h>

#include "prompt/extract.h"

namespace kw::prompt {
namespace {

TEST(PlainFences, LoseWhatCannotBeSeen) {
  EXPECT_EQ(plain_fences("\uFEFF```python\n"), "```python\n");
  EXPECT_EQ(plain_fences("a\n\u200B\u2060```\u200B\nb"), "a\n```\nb");
  EXPECT_EQ(plain_fences("\u00A0\u202F~~~ cpp\u00A0\n"), "  ~~~ cpp \n");
  EXPECT_EQ(plain_fences(">\u00A0```\n"), "> ```\n");
}

TEST(PlainFences, LeaveOtherLinesAlone) {
  for (std::string_view text :
       {"", "\n", "x = '\u00A0\u200B'\n", "prose \u00A0``` inline\n", "```"})
    EXPECT_EQ(plain_fences(text), text);
  EXPECT_EQ(plain_fences("x\n\uFEFFimport torch"), "x\nimport torch");
}

TEST(PlainFences, LetTheCodeBeFound) {
  const std::string code = "def run(a):\n    return a  # \u00A0\n";
  for (std::string_view before : {"\uFEFF", "\u200B", "\u00A0", "\u2060\u00A0"}) {
    std::string mark(before);
    Extraction found =
        extract_code(mark + "```python\n" + code + mark + "```" + mark + "\nIt runs.",
                     task::Language::kPython, {.entry = "run", .finish = {}});
    EXPECT_EQ(found.outcome, Extracted::kCode) << found.why_not;
    EXPECT_EQ(found.code(), code);
    EXPECT_FALSE(found.repaired);
  }
}

}  // namespace
}  // namespace kw::prompt
