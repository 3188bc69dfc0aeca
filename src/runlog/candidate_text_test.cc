// Candidates come back as they went.
#include "runlog/candidate_text.h"

#include <gtest/gtest.h>

#include "base/json.h"
#include "task/candidate_source.h"

namespace kw::runlog {
namespace {

TEST(CandidateText, ComesBackWithTheSameHash) {
  task::Candidate candidate =
      task::candidate_from_files(
          task::Language::kCpp,
          {{"kernel.cpp", "// flags: -fno-trapping-math\nint x;\n"}, {"part.h", "int y;\n"}})
          .value();
  candidate.name = "attempt_3";
  candidate.author = "m";
  candidate.description = "tiled";
  candidate.definition = "relu";
  auto back = candidate_from_text(candidate_text(candidate));
  ASSERT_TRUE(back) << back.error().message();
  EXPECT_EQ(back->hash, candidate.hash);
  EXPECT_EQ(back->flags, candidate.flags);
  EXPECT_EQ(back->name, "attempt_3");
  EXPECT_EQ(back->author, "m");
  EXPECT_EQ(back->description, "tiled");
  EXPECT_EQ(back->definition, "relu");
  ASSERT_EQ(back->sources.size(), 2U);
  EXPECT_EQ(back->sources[1].path, "part.h");
  EXPECT_EQ(back->sources[1].content, "int y;\n");
  EXPECT_EQ(back->entry_file, "kernel.cpp");
}

TEST(CandidateText, WhatIsNoCandidateIsNamed) {
  task::Candidate candidate =
      task::candidate_from_files(task::Language::kCpp, {{"kernel.cpp", "int x;\n"}}).value();
  const Json whole = parse_json(candidate_text(candidate)).value();
  for (const auto& [key, value] : whole.items()) {
    Json less = whole;
    less.erase(key);
    auto read = candidate_from_text(less.dump());
    ASSERT_FALSE(read) << key;
    EXPECT_NE(read.error().message().find(key), std::string::npos) << read.error().message();
  }
  for (const char* files : {"[]", "{}", R"([{"path": "k.cpp"}])"}) {
    Json other = whole;
    other["files"] = parse_json(files).value();
    EXPECT_FALSE(candidate_from_text(other.dump())) << files;
  }
}

}  // namespace
}  // namespace kw::runlog
