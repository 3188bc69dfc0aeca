// `data filter` of generated samples: an answer whose plan is not its kernel's goes.
#include <fstream>
#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "data/filter.h"
#include "data/generate.h"
#include "data/generator_origin.h"
#include "gym/testing/fake_judge.h"
#include "os/file.h"

namespace kw::data {
namespace {

using ::testing::HasSubstr;

Sample generated(task::Language language, std::uint64_t index) {
  GenerateOptions options;
  options.seed = 21;
  options.language = language;
  options.problems.max_elements = 4096;
  options.mix = *mix_from_text("convert=1,definition=1");
  auto sample = generate_sample(options, index);
  EXPECT_TRUE(sample) << sample.error().message();
  sample->problem->resized.clear();
  return *sample;
}

// The first line of the answer that begins so, with this behind it in place of what was.
Sample changed(Sample sample, const std::string& begin, const std::string& rest) {
  std::string& answer = sample.messages.back().content;
  const std::size_t at = answer.find(begin);
  EXPECT_NE(at, std::string::npos) << begin << "\n" << answer;
  const std::size_t from = at + begin.size();
  answer.replace(from, answer.find('\n', from) - from, rest);
  sample.id.clear();
  return sample;
}

class PlanFilter : public ::testing::Test {
 protected:
  std::filesystem::path path(const std::string& name) const { return folder_.path() / name; }
  std::string read(const std::string& name) const { return *os::read_file(path(name)); }
  void write(const std::vector<Sample>& samples) const {
    std::ofstream file(path("in.jsonl"));
    for (const Sample& sample : samples) file << to_line(sample) << "\n";
  }
  Result<FilterReport> filter(const std::string& log) {
    FilterSettings settings;
    settings.eval.timing = false;
    auto out = OutputFile::create(path("out.jsonl"), true);
    auto rejected = OutputFile::create(path("rejected.jsonl"), true);
    auto report =
        filter_dataset({path("in.jsonl"), path(log), *out, &*rejected}, settings, judge_, {}, {});
    if (report) {
      EXPECT_TRUE(out->close() && rejected->close());
    }
    return report;
  }

  os::TempDir folder_ = std::move(*os::TempDir::make("kw_plan_filter_test"));
  gym::FakeJudge judge_;
};

TEST_F(PlanFilter, RejectsPlantedDefectsAndGoesOnWhereItWasKilled) {
  std::vector<Sample> samples;
  for (const task::Language language : {task::Language::kCpp, task::Language::kTriton}) {
    const Sample good = generated(language, 1);
    samples.push_back(good);
    samples.push_back(changed(good, "operators: ", "relu(0.5)"));
    samples.push_back(changed(good, "limit: ", "latency"));
    samples.push_back(changed(good, "strategy: ", "none of them: words"));
    samples.push_back(changed(good, "tiling: ", "lanes=3"));
    samples.push_back(
        changed(good, language == task::Language::kCpp ? "void run(" : "def run(", "another line"));
  }
  write(samples);
  const auto report = filter("log.jsonl");
  ASSERT_TRUE(report) << report.error().message();
  EXPECT_EQ(Json(report->outcomes).dump(), R"({"passed":2,"wrong_plan":10})");
  EXPECT_EQ(judge_.judged, 2);
  const std::string rejected = read("rejected.jsonl"), out = read("out.jsonl");
  for (const char* reason :
       {"operators: entry 1 is", "limit: \\\"latency\\\", not", "is none of blocked, ",
        "is none of tiled, ", "tiling: lanes=3: there are", "\"reason\":\"line "})
    EXPECT_THAT(rejected, HasSubstr(reason));

  const std::string whole = read("log.jsonl");
  for (std::size_t end = whole.find('\n'); end != std::string::npos;
       end = whole.find('\n', end + 1)) {
    std::ofstream(path("cut.jsonl"), std::ios::trunc) << whole.substr(0, end + 1);
    ASSERT_TRUE(filter("cut.jsonl"));
    EXPECT_EQ(read("out.jsonl"), out);
    EXPECT_EQ(read("rejected.jsonl"), rejected);
  }
}

TEST_F(PlanFilter, LeavesTheAnswersOfOthersAlone) {
  Sample taught = changed(generated(task::Language::kCpp, 2), "operators: ", "mine");
  taught.origin["teacher"] = "a model";
  Sample other = changed(generated(task::Language::kCpp, 3), "operators: ", "mine");
  other.origin["generator"] = "kernelwright-1";
  write({taught, other});
  const auto report = filter("log.jsonl");
  ASSERT_TRUE(report) << report.error().message();
  EXPECT_EQ(Json(report->outcomes).dump(), R"({"passed":2})");
}

// Says that the problems of some sources are quarantined, and notes what it judges.
class Quarantines : public gym::FakeJudge {
 public:
  Result<task::Verdict> judge(gym::EvalRequest request, std::stop_token stop) override {
    KW_TRY(task::Verdict out, gym::FakeJudge::judge(request, std::move(stop)));
    const std::string source =
        request.problem.is_module() ? request.problem.module().source : std::string();
    sources.push_back(source);
    if (quarantined.contains(source)) out.outcome = task::Outcome::kQuarantined;
    out.workloads.resize(request.problem.workloads.size());
    return out;
  }
  std::set<std::string> quarantined;
  std::vector<std::string> sources;
};

Sample of_language(task::Language language, const char* mix) {
  GenerateOptions options;
  options.seed = 22;
  options.language = language;
  options.problems.max_elements = 1 << 20;
  options.problems.max_work = 1 << 25;
  options.problems.interpreted_elements = language == task::Language::kTriton ? 1 << 14 : 0;
  options.mix = *mix_from_text(mix);
  for (std::uint64_t index = 0;; ++index) {
    auto sample = generate_sample(options, index);
    EXPECT_TRUE(sample) << sample.error().message();
    if (language != task::Language::kTriton || !sample->problem->policy.is_null()) return *sample;
  }
}

SampleVerdict judged(const Sample& sample, Quarantines& judge) {
  gym::EvalOptions options;
  options.timing = false;
  const auto finding = judge_sample(sample, options, {}, judge, {});
  EXPECT_TRUE(finding) << finding.error().message();
  return *finding;
}

TEST(SizeSets, TheFindingSaysHowManyWereVerified) {
  const Sample module = of_language(task::Language::kCpp, "convert=1");
  ASSERT_EQ(module.problem->resized.size(), 2U);
  Quarantines judge;
  EXPECT_EQ(judged(module, judge).size_sets, 3);
  judge.quarantined = {module.problem->resized[1]};
  const SampleVerdict less = judged(module, judge);
  EXPECT_TRUE(less.passed);
  EXPECT_EQ(less.size_sets, 2);
  EXPECT_EQ(judged(of_language(task::Language::kCpp, "definition=1"), judge).size_sets, 3);
}

TEST(SizeSets, ALargeModuleIsInterpretedAtItsSmallOnes) {
  const Sample module = of_language(task::Language::kTriton, "convert=1");
  Quarantines judge;
  EXPECT_EQ(judged(module, judge).size_sets, 2);
  EXPECT_EQ(judge.sources, module.problem->resized);
}

TEST(SizeSets, AQuestionTellsAllOfADefinition) {
  const Sample sample = of_language(task::Language::kTriton, "definition=1,implement=1");
  ASSERT_EQ(sample.problem->workloads.size(), 3U);
  for (const Json& workload : sample.problem->workloads) {
    for (const auto& [axis, n] : workload["axes"].items())
      EXPECT_THAT(sample.messages[0].content, HasSubstr(fmt::format("{} = {}", axis, n.dump())));
  }
}

TEST(GeneratorOrigin, GivesTheProblemBack) {
  for (std::uint64_t i = 0; i < 20; ++i) {
    const auto language = i % 2 == 0 ? task::Language::kCpp : task::Language::kTriton;
    const auto sample = sample_from_json(*parse_json(to_line(generated(language, i))));
    ASSERT_TRUE(sample) << sample.error().message();
    const auto form = generated_form(*sample);
    ASSERT_TRUE(form) << form.error().message();
    ASSERT_TRUE(*form);
    EXPECT_EQ((*form)->problem.hash, sample->problem->hash);
    EXPECT_EQ(*misfit_of_plan(*sample), "");
  }
}

TEST(GeneratorOrigin, AnotherProblemIsNoFindingAboutTheSample) {
  const Sample good = generated(task::Language::kCpp, 1);
  const auto refusal = [&](const char* key, const Json& value) {
    Sample sample = good;
    sample.origin[key] = value;
    const auto form = generated_form(sample);
    EXPECT_FALSE(form);
    return form ? "" : form.error().message();
  };
  EXPECT_THAT(refusal("problem", 2), HasSubstr("another version of the generator made"));
  EXPECT_THAT(refusal("seed", -1), HasSubstr("origin.seed: expected a whole number"));
  EXPECT_THAT(refusal("bounds", Json::object()), HasSubstr("origin.bounds.min_depth: missing"));
  EXPECT_THAT(refusal("bounds", {{"min_depth", 0}}), HasSubstr("expected 1 to 8"));
}

}  // namespace
}  // namespace kw::data
