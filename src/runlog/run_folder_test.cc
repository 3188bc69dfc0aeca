// A run's folder: blobs, resuming after any cut, a full disk.
#include "runlog/run_folder.h"

#include <csignal>
#include <filesystem>
#include <fstream>

#include <gtest/gtest.h>
#include <sys/resource.h>

#include "os/file.h"

namespace kw::runlog {
namespace {

namespace fs = std::filesystem;

class RunFolderTest : public testing::Test {
 protected:
  os::TempDir temporary = os::TempDir::make("kw_run_folder").value();
  fs::path folder = temporary.path() / "run";
  Event first{0, RunStarted{"0.1", 3, "now", "solve", Json::object(), {{"p", "p", "h"}}}};
};

TEST_F(RunFolderTest, SettingsAndBlobs) {
  Json settings = {{"method", "metr"}, {"alpha", 1.5}, {"set", {"a=\"1\"", "b"}}, {"json", false}};
  RunFolder run = RunFolder::create(folder, settings).value();
  Json back = RunFolder::read_settings(folder).value();
  EXPECT_EQ(canonical_json(back), canonical_json(settings));
  std::string hash = run.put("text").value();
  EXPECT_EQ(run.put("text").value(), hash);
  EXPECT_EQ(run.get(hash).value(), "text");
  EXPECT_EQ(run.get("../../../etc/passwd").error().code(), ErrorCode::kInvalidArgument);
  std::ofstream(folder / "blobs" / hash.substr(0, 2) / hash) << "another";
  EXPECT_EQ(run.get(hash).error().code(), ErrorCode::kDataLoss);
}

TEST_F(RunFolderTest, OneWriter) {
  RunFolder run = RunFolder::create(folder, Json::object()).value();
  ASSERT_TRUE(run.append(first));
  runlog::Run read;
  EXPECT_EQ(RunFolder::resume(folder, read).error().code(), ErrorCode::kAlreadyExists);
  EXPECT_EQ(RunFolder::create(folder, Json::object()).error().code(), ErrorCode::kAlreadyExists);
  EXPECT_EQ(RunFolder::read(folder).value().problems.size(), 1U);
}

TEST_F(RunFolderTest, NoRun) {
  runlog::Run run;
  EXPECT_EQ(RunFolder::resume(folder, run).error().code(), ErrorCode::kNotFound);
  EXPECT_EQ(RunFolder::read(folder).error().code(), ErrorCode::kNotFound);
}

TEST_F(RunFolderTest, ABrokenLineIsNamed) {
  {
    ASSERT_TRUE(RunFolder::create(folder, Json::object()).value().append(first));
  }
  std::ofstream(folder / "events.jsonl", std::ios::app) << "{\"at_ms\": 1}\n";
  runlog::Run run;
  auto error = RunFolder::resume(folder, run).error();
  EXPECT_NE(error.message().find("events.jsonl:2: type: missing"), std::string::npos)
      << error.message();
}

TEST_F(RunFolderTest, AfterAFullDiskTheLogIsWhole) {
  RunFolder run = RunFolder::create(folder, Json::object()).value();
  ASSERT_TRUE(run.append(first));
  const auto whole = fs::file_size(folder / "events.jsonl");
  rlimit before{};
  ::getrlimit(RLIMIT_FSIZE, &before);
  auto handler = std::signal(SIGXFSZ, SIG_IGN);
  rlimit small = before;
  small.rlim_cur = whole + 10;
  ::setrlimit(RLIMIT_FSIZE, &small);
  auto failed = run.append({1, ProblemStarted{"p"}});
  auto blob = run.put(std::string(4096, 'x'));
  ::setrlimit(RLIMIT_FSIZE, &before);
  std::signal(SIGXFSZ, handler);
  ASSERT_FALSE(failed);
  EXPECT_NE(failed.error().message().find("events.jsonl"), std::string::npos);
  EXPECT_FALSE(blob);
  EXPECT_EQ(fs::file_size(folder / "events.jsonl"), whole);
  EXPECT_FALSE(run.append({1, ProblemStarted{"p"}}));  // what is lost stays lost
  EXPECT_EQ(fs::file_size(folder / "events.jsonl"), whole);
  EXPECT_TRUE(RunFolder::read(folder));
}

}  // namespace
}  // namespace kw::runlog
