#include "link/prompts_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "os/file.h"

namespace kw::link {
namespace {

Result<std::vector<FilePrompt>> read(const std::string& text, int default_tokens = 9) {
  auto folder = os::TempDir::make("kw-prompts-").value();
  const auto path = folder.path() / "prompts.jsonl";
  EXPECT_TRUE(os::write_file_atomic(path, text));
  GenerateRequest defaults;
  defaults.max_tokens = default_tokens;
  return read_prompts_file(path, defaults);
}

std::string error_of(const std::string& text) {
  auto prompts = read(text);
  return prompts ? "no error" : prompts.error().message();
}

TEST(PromptsFile, LinesOverrideDefaults) {
  auto prompts = read(
      "{\"id\": 7, \"prompt\": \"a\"}\n\n  \n"
      "{\"prompt\": \"b\", \"max_tokens\": 3}\n");
  ASSERT_TRUE(prompts) << prompts.error().message();
  ASSERT_EQ(prompts->size(), 2);
  EXPECT_EQ(prompts->at(0).id, 7);
  EXPECT_EQ(prompts->at(0).request.max_tokens, 9);
  EXPECT_TRUE(prompts->at(1).id.is_null());
  EXPECT_EQ(prompts->at(1).request.max_tokens, 3);
  EXPECT_EQ(std::get<std::string>(prompts->at(1).request.prompt), "b");
  EXPECT_THAT(prompts->at(1).where, testing::EndsWith("prompts.jsonl:4"));
}

TEST(PromptsFile, ErrorsNameFileAndLine) {
  EXPECT_THAT(error_of("{\"prompt\": \"a\"}\n{"), testing::HasSubstr("prompts.jsonl:2: not valid"));
  EXPECT_THAT(
      error_of("{\"prompt\": \"a\", \"max_token\": 1}"),
      testing::AllOf(testing::HasSubstr("prompts.jsonl:1"), testing::HasSubstr("max_tokens")));
  EXPECT_THAT(error_of("\n"), testing::EndsWith("prompts.jsonl: no prompts"));
  EXPECT_FALSE(read_prompts_file("/nonexistent/prompts.jsonl", {}));
}

}  // namespace
}  // namespace kw::link
