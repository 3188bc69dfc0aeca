// Answers as models write them, and the code that must (or must not) come out.
#include "prompt/extract.h"

#include <gtest/gtest.h>

#include "prompt/file_name.h"
#include "task/language.h"

namespace kw::prompt {
namespace {

using task::Language;

std::string code(std::string_view answer, Language language = Language::kCpp,
                 const ExtractOptions& options = {}) {
  Extraction found = extract_code(answer, language, options);
  EXPECT_EQ(found.code().empty(), !found.why_not.empty());
  return found.code();
}

std::string why_not(std::string_view answer, Language language = Language::kCpp) {
  return extract_code(answer, language).why_not;
}

TEST(Extract, LastBlockOfTheLanguageWins) {
  std::string answer =
      "First:\n```cpp\nint a;\n```\nthen\n```cpp\nint b;\n```\nRun it:\n```bash\nmake\n```\n";
  EXPECT_EQ(code(answer), "int b;\n");
  EXPECT_EQ(code("```C++\nint a;\n```"), "int a;\n");
  EXPECT_EQ(code("```python\nx = 1\n```", Language::kTriton), "x = 1\n");
  EXPECT_EQ(code("```cpp title=\"k.cc\"\nint a;\n```"), "int a;\n");
}

TEST(Extract, UntaggedBlockOnlyWhenNoneIsTagged) {
  EXPECT_EQ(code("```\nint a;\n```\n"), "int a;\n");
  EXPECT_EQ(code("```cpp\nint a;\n```\n```\nnot code\n```\n"), "int a;\n");
  EXPECT_NE(why_not("```python\nx = 1\n```").find("tagged cpp (found: python)"), std::string::npos);
}

TEST(Extract, ReasoningIsNeverTaken) {
  EXPECT_EQ(code("<think>\n```cpp\nint draft;\n```\n</think>\n```cpp\nint a;\n```\n"), "int a;\n");
  EXPECT_EQ(code("<think>\n```cpp\nint draft;\n```\n</think>\nI give up."), "");
  EXPECT_EQ(code("<THINKING>```cpp\nint draft;\n```"), "")
      << "an unclosed section reaches to the end";
  EXPECT_EQ(code("draft\n```cpp\nint draft;\n```\n</think>\n```cpp\nint a;\n```"), "int a;\n")
      << "opened by the chat template";
  EXPECT_EQ(code("```cpp\nint draft;\n```\n</think>\nno"), "");
  EXPECT_EQ(code("<think>a</think>\n```cpp\nint draft;\n```\n</think>\nno"), "")
      << "a second closing tag";
  EXPECT_EQ(code("<reasoning>x <think> y </reasoning>\n```cpp\nint a;\n```"), "int a;\n");
}

TEST(Extract, TagsInsideCodeAreCode) {
  std::string answer = "<think>plan</think>\n```cpp\n// see <think>\nint a;\n```\n";
  EXPECT_EQ(code(answer), "// see <think>\nint a;\n");
}

TEST(Extract, FencesAsModelsWriteThem) {
  EXPECT_EQ(code("<answer>```cpp\nint a;\n```</answer>"), "int a;\n");
  EXPECT_EQ(code("1. List\n   ```cpp\n   int a;\n     int b;\n   ```\n"), "int a;\n  int b;\n");
  EXPECT_EQ(code("~~~~cpp\n~~~\nint a;\n~~~~\n"), "~~~\nint a;\n");
  EXPECT_EQ(code("```cpp\r\nint a;\r\n```\r\n"), "int a;\n");
  EXPECT_EQ(code("Use ```cpp``` blocks.\n```cpp\nint a;\n```"), "int a;\n");
  EXPECT_EQ(code("````cpp\n```\nint a;\n````\n"), "```\nint a;\n");
}

TEST(Extract, CutOffAnswersSaySo) {
  EXPECT_NE(why_not("```cpp\nint a;\n").find("not closed"), std::string::npos);
  EXPECT_NE(why_not("```cpp\nint a;\n```\nbetter:\n```cpp\nint b").find("not closed"),
            std::string::npos);
  EXPECT_EQ(code("```cpp\nint a;", Language::kCpp, {"", text::Finish::kStop, {}}), "int a;\n");
  EXPECT_NE(why_not("no code").find("no code block"), std::string::npos);
  EXPECT_NE(why_not("").find("no code block"), std::string::npos);
  EXPECT_NE(why_not("```cpp\n\n```").find("empty"), std::string::npos);
}

TEST(Extract, EntryWinsOverLaterExamples) {
  std::string answer =
      "```python\ndef run(x):\n  return x\n```\nTest:\n```python\nrunner = 1\n```\n";
  EXPECT_EQ(code(answer, Language::kPython, {"run", text::Finish::kStop, {}}),
            "def run(x):\n  return x\n");
  EXPECT_EQ(code(answer, Language::kPython), "runner = 1\n");
}

TEST(Extract, HostileTextTakesLinearTime) {
  std::string many(400000, '<');
  EXPECT_EQ(code(many), "");
  std::string tags;
  for (int i = 0; i < 50000; ++i) tags += "<think></think>";
  EXPECT_EQ(code(tags + "\n```cpp\nint a;\n```"), "int a;\n");
  std::string fences;
  for (int i = 0; i < 50000; ++i) fences += "```\n";
  EXPECT_EQ(code_blocks(fences).size(), 25000U);
  std::string files;
  for (int i = 0; i < 20000; ++i)
    files += fmt::format("```cpp a{}.cpp\n#include \"a{}.cpp\"\n```\n", i, i + 1);
  files += "```cpp\n#include \"a0.cpp\"\nvoid run() {}\n```\n";
  Extraction all = extract_code(files, Language::kCpp, {"run", text::Finish::kStop, {}});
  EXPECT_EQ(all.files.size(), 20001U);
  std::string nested;
  for (int i = 0; i < 50000; ++i) nested += "```markdown\n";
  EXPECT_LE(code_blocks(nested).size(), 1U);
}

TEST(Extract, EveryLanguageOfTextHasAFileName) {
  for (const task::LanguageFacts& facts : task::all_languages()) {
    Extraction found = extract_code("```\nsome code\n```\n", facts.language);
    if (facts.syntax == task::Syntax::kBinary) {
      EXPECT_EQ(found.outcome, Extracted::kNoBlock) << facts.name;
      EXPECT_EQ(found.why_not, "a cubin is not text, so no answer can contain one");
      continue;
    }
    ASSERT_EQ(found.files.size(), 1U) << facts.name;
    EXPECT_TRUE(is_file_name(found.files[0].path)) << found.files[0].path;
  }
}

TEST(Extract, NamesAFewTagsOnly) {
  std::string answer;
  for (int i = 0; i < 100; ++i) answer += fmt::format("```tag{}\nx\n```\n", i);
  EXPECT_NE(why_not(answer).find("tag9)"), std::string::npos) << why_not(answer);
}

}  // namespace
}  // namespace kw::prompt
