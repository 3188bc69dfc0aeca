// Answers in the shapes that models give them (testdata/answers), each with what must come out
// (expected.json).
#include <filesystem>
#include <fstream>
#include <sstream>

#include <gtest/gtest.h>

#include "base/json.h"
#include "prompt/extract.h"

namespace kw::prompt {
namespace {

const std::filesystem::path kFolder =
    std::filesystem::path(KW_SOURCE_DIR) / "src/prompt/testdata/answers";

std::string file(const std::string& name) {
  std::ostringstream text;
  text << std::ifstream(kFolder / name, std::ios::binary).rdbuf();
  return text.str();
}

Json expectations() {
  auto json = parse_json(file("expected.json"));
  return json ? *json : Json::array();
}

std::optional<text::Finish> finish_of(const Json& expected) {
  std::string name = expected["finish"];
  return text::finish_from_string(name);  // nullopt for "unknown"
}

Extraction extracted(const Json& expected) {
  ExtractOptions options{expected["entry"], finish_of(expected), {}};
  if (expected.contains("shown")) options.shown = expected["shown"];
  auto language = task::language_from_string(expected["language"].get<std::string>());
  return extract_code(file(expected["name"].get<std::string>() + ".md"), *language, options);
}

class Answers : public testing::TestWithParam<Json> {};

TEST_P(Answers, GiveWhatTheyHold) {
  const Json& expected = GetParam();
  Extraction found = extracted(expected);
  EXPECT_EQ(to_string(found.outcome), expected["outcome"].get<std::string>()) << found.why_not;
  EXPECT_EQ(found.outcome == Extracted::kCode, found.why_not.empty());
  Json files = Json::object();
  for (const task::SourceFile& source : found.files) files[source.path] = source.content;
  // Objects keep their order: the file with the entry comes first.
  EXPECT_EQ(files.dump(1), expected.value("files", Json::object()).dump(1));
  EXPECT_EQ(found.echo, expected.value("echo", false));
  EXPECT_EQ(found.repaired, expected.value("repaired", false));
  EXPECT_NE(found.why_not.find(expected.value("why_not", "")), std::string::npos) << found.why_not;
}

INSTANTIATE_TEST_SUITE_P(Recorded, Answers, testing::ValuesIn(expectations()),
                         [](const auto& test) {
                           return test.param["name"].template get<std::string>();
                         });

TEST(RecordedAnswers, AllAreLookedAt) {
  std::size_t files = 0;
  for (const auto& entry : std::filesystem::directory_iterator(kFolder))
    files += entry.path().extension() == ".md" ? 1 : 0;
  EXPECT_GE(files, 60U);
  EXPECT_EQ(files, expectations().size());
}

}  // namespace
}  // namespace kw::prompt
