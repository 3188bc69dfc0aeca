// Files of a run: whole after crashes, never written twice, never overwritten.
#include "kernelwright/eval/result_files.h"

#include "kernelwright/testing/fakes.h"

namespace kw::front {
namespace {

class ResultFilesTest : public FrontTest {
 protected:
  std::string out = path("runs/out.jsonl");

  task::Verdict verdict(const std::string& name) {
    gym::EvalRequest request;
    request.candidate.name = name;
    return fake_verdict(request, task::Outcome::kPassed);
  }
  std::vector<task::Trace> traces(const std::string& name) {
    task::Trace trace;
    trace.definition = "d";
    trace.workload.uuid = "w";
    trace.solution = name;
    return {trace};
  }
  Result<ResultFiles> open(bool resume) {
    stored.clear();
    return ResultFiles::open({out, resume, judged_with}, [this](const task::Verdict& v) -> Status {
      stored.push_back(v.candidate_name);
      return {};
    });
  }
  void fill(const std::vector<std::string>& names) {
    auto files = open(false);
    ASSERT_TRUE(files) << files.error().message();
    for (const std::string& name : names) ASSERT_TRUE(files->append(verdict(name), traces(name)));
  }
  void append_raw(const std::string& name, const std::string& text) {
    std::ofstream(path(name), std::ios::app) << text;
  }

  std::vector<std::string> stored;
  Json judged_with = {{"timing", true}};
};

TEST_F(ResultFilesTest, VerdictsOfOtherOptionsDoNotStandForThese) {
  judged_with["timing"] = false;
  fill({"a"});
  judged_with["timing"] = true;
  {
    auto files = open(true);
    ASSERT_TRUE(files) << files.error().message();
    EXPECT_TRUE(stored.empty());
    ASSERT_TRUE(files->append(verdict("b"), traces("b")));
  }
  ASSERT_TRUE(open(true));
  EXPECT_EQ(stored, std::vector<std::string>{"b"});
}

TEST_F(ResultFilesTest, AppendsAndReadsBack) {
  fill({"a", "b"});
  auto again = open(true);
  ASSERT_TRUE(again) << again.error().message();
  EXPECT_EQ(stored, (std::vector<std::string>{"a", "b"}));
  std::string traces_text = read("runs/out.jsonl");
  EXPECT_EQ(std::count(traces_text.begin(), traces_text.end(), '\n'), 2);
  ASSERT_TRUE(again->append(verdict("c"), {}));
  EXPECT_EQ(read("runs/out.jsonl"), traces_text);
}

TEST_F(ResultFilesTest, NeedsResumeForWhatIsThere) {
  fill({"a"});
  EXPECT_EQ(open(false).error().code(), ErrorCode::kAlreadyExists);
}

TEST_F(ResultFilesTest, OneRunAtATime) {
  auto first = open(false);
  ASSERT_TRUE(first);
  EXPECT_EQ(open(true).error().code(), ErrorCode::kAlreadyExists);
}

TEST_F(ResultFilesTest, CutLastLineIsDropped) {
  fill({"a", "b"});
  std::string traces_text = read("runs/out.jsonl");
  append_raw("runs/out.jsonl.verdicts.jsonl", R"({"schema":1,"gym_ver)");
  ASSERT_TRUE(open(true));
  EXPECT_EQ(stored, (std::vector<std::string>{"a", "b"}));
  EXPECT_EQ(read("runs/out.jsonl.verdicts.jsonl").back(), '\n');
  EXPECT_EQ(read("runs/out.jsonl"), traces_text);
}

TEST_F(ResultFilesTest, TracesWithoutTheirVerdictAreCutOff) {
  fill({"a"});
  std::string committed = read("runs/out.jsonl");
  append_raw("runs/out.jsonl", "{\"definition\":\"d\"}\n{\"defin");
  auto files = open(true);
  ASSERT_TRUE(files);
  EXPECT_EQ(read("runs/out.jsonl"), committed);
  ASSERT_TRUE(files->append(verdict("b"), traces("b")));
  EXPECT_EQ(read("runs/out.jsonl").substr(0, committed.size()), committed);
}

TEST_F(ResultFilesTest, LossIsReported) {
  fill({"a"});
  std::filesystem::resize_file(out, 3);
  EXPECT_EQ(open(true).error().code(), ErrorCode::kDataLoss);
}

TEST_F(ResultFilesTest, BrokenLineInTheMiddleNamesItsNumber) {
  fill({"a"});
  append_raw("runs/out.jsonl.verdicts.jsonl", "nonsense\n");
  auto files = open(true);
  ASSERT_FALSE(files);
  EXPECT_NE(files.error().message().find("verdicts.jsonl:2: not valid JSON"), std::string::npos)
      << files.error().message();
}

TEST_F(ResultFilesTest, OtherGymVersionsAreNotReused) {
  fill({"a"});
  std::string log = read("runs/out.jsonl.verdicts.jsonl");
  auto at = log.find("\"gym_version\":");
  log.insert(at + std::string("\"gym_version\":").size(), "9");
  write("runs/out.jsonl.verdicts.jsonl", log);
  ASSERT_TRUE(open(true));
  EXPECT_TRUE(stored.empty());
}

}  // namespace
}  // namespace kw::front
