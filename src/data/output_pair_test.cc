// Files and folders that are there together, whole, or not at all.
#include "data/output_pair.h"

#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "os/file.h"

namespace kw::data {
namespace {

using testing::HasSubstr;
using Existing = OutputPair::Existing;

class OutputPairTest : public testing::Test {
 protected:
  std::string path(const std::string& name) const { return (folder.path() / name).string(); }
  void write(const std::string& name, const std::string& text) const {
    std::ofstream(path(name)) << text;
  }
  std::string read(const std::string& name) const {
    auto text = os::read_file(path(name));
    return text ? *text : "";
  }
  Result<OutputPair> create(Existing existing) const {
    return OutputPair::create(path("out"), path("beside"), existing);
  }
  Status run(Existing existing) const {
    KW_TRY(OutputPair pair, create(existing));
    KW_TRY_STATUS(pair.out().append("new"));
    KW_TRY_STATUS(pair.beside()->append("new beside"));
    return pair.close();
  }
  os::TempDir folder = std::move(*os::TempDir::make("kw_output_pair"));
};

TEST_F(OutputPairTest, AKillBetweenTheTwoNamesIsGoneOnFrom) {
  ASSERT_TRUE(run(Existing::kRefused));
  EXPECT_EQ(read("out") + read("beside"), "newnew beside");
  EXPECT_FALSE(run(Existing::kRefused)) << "both are there";
  EXPECT_FALSE(run(Existing::kGoneOnWith)) << "the result is there";
  // As a kill between the two leaves it.
  std::filesystem::rename(path("out"), path("out.partial"));
  ASSERT_TRUE(run(Existing::kRefused));
  // As a failure to give the second name leaves it.
  std::filesystem::remove(path("out"));
  ASSERT_TRUE(run(Existing::kGoneOnWith));
  EXPECT_EQ(read("out"), "new");
}

TEST_F(OutputPairTest, AFileOfSomebodyElseStays) {
  write("beside", "mine");
  const auto refused = create(Existing::kRefused);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code(), ErrorCode::kAlreadyExists);
  EXPECT_THAT(refused.error().message(), HasSubstr("beside"));
  EXPECT_EQ(read("beside"), "mine");
  ASSERT_TRUE(run(Existing::kReplaced));
  EXPECT_EQ(read("beside"), "new beside");
}

TEST_F(OutputPairTest, AFolderIsThereWholeOrNotAtAll) {
  {
    auto made = OutputFolder::create(path("made"));
    ASSERT_TRUE(made) << made.error().message();
    write("made.partial/a", "1");
    EXPECT_FALSE(OutputFolder::create(path("made"))) << "another run";
  }
  EXPECT_FALSE(std::filesystem::exists(path("made.partial")));
  EXPECT_FALSE(std::filesystem::exists(path("made")));
  std::filesystem::create_directory(path("made.partial"));  // of a run that was killed
  write("made.partial/old", "1");
  std::filesystem::create_directory(path("made"));
  auto made = OutputFolder::create(path("made/"));
  ASSERT_TRUE(made) << made.error().message();
  EXPECT_TRUE(std::filesystem::is_empty(made->partial()));
  write("made.partial/a", "2");
  ASSERT_TRUE(made->close());
  EXPECT_EQ(read("made/a"), "2");
  EXPECT_FALSE(std::filesystem::exists(path("made.partial")));
  const auto again = OutputFolder::create(path("made"));
  ASSERT_FALSE(again);
  EXPECT_EQ(again.error().code(), ErrorCode::kAlreadyExists);
  write("file", "");
  EXPECT_FALSE(OutputFolder::create(path("file")));
}

}  // namespace
}  // namespace kw::data
