// Tests whose fault a build is that does not come to an end.
#include "gym/supervisor/candidate_builder.h"

#include <string>
#include <utility>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "gym/supervisor/testing/fake_session.h"

namespace kw::gym {
namespace {

using ::testing::Contains;
using ::testing::Not;

class CandidateBuilderTest : public ::testing::Test {
 protected:
  void SetUp() override {
    auto opened = sessions_.open();
    ASSERT_TRUE(opened) << opened.error().message();
    session_ = std::move(*opened);
  }
  static task::Candidate candidate(task::Language language, const std::string& file) {
    task::Candidate out;
    out.language = language;
    out.sources = {{file, "text"}};
    out.entry_file = file;
    return out;
  }
  std::size_t compilers() const {
    std::size_t count = 0;
    for (const auto& launch : sessions_.roles.launches.launches)
      count += launch->spec.role == "compiler" ? 1U : 0U;
    return count;
  }

  testing::FakeSessions sessions_;
  std::unique_ptr<ProblemSession> session_;
  CandidateBuilder builder_{sessions_.roles.programs, *sessions_.roles.roles, sessions_.lease,
                            sessions_.roles.folder.path() / "builds"};
};

TEST_F(CandidateBuilderTest, PythonNeedsNoCompiler) {
  auto build = builder_.build(candidate(task::Language::kPython, "main.py"), *session_);
  ASSERT_TRUE(build) << build.error().message();
  ASSERT_TRUE(build->executable);
  EXPECT_TRUE(build->executable->python);
  EXPECT_EQ(build->executable->entry, "run");
  EXPECT_FALSE(build->cached);
  EXPECT_EQ(compilers(), 0U);
}

TEST_F(CandidateBuilderTest, ACompilerThatDoesNotStartIsOurs) {
  sessions_.roles.launches.launch_error = Error(ErrorCode::kResourceExhausted, "no uid is free");
  auto build = builder_.build(candidate(task::Language::kCpp, "main.cc"), *session_);
  ASSERT_FALSE(build);
  EXPECT_EQ(build.error().code(), ErrorCode::kResourceExhausted);
}

TEST_F(CandidateBuilderTest, FilesThatAreNotAllowedAreRefusedWithoutACompiler) {
  auto build = builder_.build(candidate(task::Language::kCpp, "../main.cc"), *session_);
  ASSERT_TRUE(build) << build.error().message();
  EXPECT_FALSE(build->executable);
  EXPECT_NE(build->mistake, "");
  EXPECT_EQ(compilers(), 0U);
}

TEST_F(CandidateBuilderTest, TritonWithoutAToolChainIsUnsupported) {
  sessions_.roles.programs.python.clear();
  EXPECT_THAT(builder_.languages(), Not(Contains("triton")));
  EXPECT_THAT(builder_.languages(), Contains("cpp"));
  auto build = builder_.build(candidate(task::Language::kTriton, "main.py"), *session_);
  ASSERT_FALSE(build);
  EXPECT_EQ(build.error().code(), ErrorCode::kUnsupported);
}

}  // namespace
}  // namespace kw::gym
