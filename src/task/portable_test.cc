// Problems and candidates there and back.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "task/candidate_source.h"
#include "task/definition_json.h"
#include "task/kernelbench.h"
#include "task/portable_candidate.h"
#include "task/portable_problem.h"
#include "task/settings.h"
#include "task/solution_json.h"
#include "task/workload_json.h"

namespace kw::task {
namespace {

using testing::HasSubstr;

constexpr const char* kModule =
    "import torch\n\nN = 4\n\nclass Net(torch.nn.Module):\n    def forward(self, x):\n"
    "        return x\n\ndef get_inputs():\n    return [torch.rand(N)]\n\n"
    "def get_init_inputs():\n    return []\n";

Problem definition_problem(const std::string& input) {
  Problem out;
  out.name = "double";
  out.body = *definition_from_json(
      *parse_json(R"({"name": "double", "op_type": "elementwise", "axes": {"N": {"type": "var"}},
        "inputs": {"x": {"shape": ["N"], "dtype": "float32"}},
        "outputs": {"y": {"shape": ["N"], "dtype": "float32"}},
        "reference": "def run(x):\n    return 2 * x\n"})"),
      "");
  out.workloads = {*workload_from_json(
      *parse_json(R"({"uuid": "w", "axes": {"N": 8}, "inputs": {"x": )" + input + "}}"), "")};
  out.policy.any_shape = true;
  out.hash = problem_hash(out);
  return out;
}

Result<Problem> there_and_back(const Problem& problem) {
  KW_TRY(const PortableProblem portable, portable_problem(problem));
  KW_TRY(const PortableProblem again,
         portable_problem_from_json(*parse_json(to_json(portable).dump()), "p"));
  return problem_of(again, "test");
}

TEST(PortableProblem, ADefinitionComesBack) {
  const Problem problem = definition_problem(R"({"type": "random"})");
  const auto again = there_and_back(problem);
  ASSERT_TRUE(again) << again.error().message();
  EXPECT_EQ(again->hash, problem.hash);
  EXPECT_TRUE(again->policy.any_shape);
}

TEST(PortableProblem, AModuleComesBackWithItsClassAndConstants) {
  const Settings settings = *parse_settings({"N=7"});
  const Problem problem = module_problem("net", *make_module(kModule, "Net", settings), "test");
  const auto again = there_and_back(problem);
  ASSERT_TRUE(again) << again.error().message();
  EXPECT_EQ(again->hash, problem.hash);
  EXPECT_EQ(again->module().settings, settings);
  EXPECT_THAT(again->module().source, HasSubstr("N = 7"));
}

TEST(PortableProblem, InputsInFilesAreRefused) {
  const auto portable = portable_problem(
      definition_problem(R"({"type": "safetensors", "path": "a.safetensors", "tensor_key": "x"})"));
  ASSERT_FALSE(portable);
  EXPECT_EQ(portable.error().code(), ErrorCode::kUnsupported);
  EXPECT_THAT(portable.error().message(), HasSubstr("a.safetensors"));
}

TEST(PortableProblem, AnotherSourceUnderTheHashIsRefused) {
  auto portable = portable_problem(definition_problem(R"({"type": "random"})"));
  portable->source.replace(portable->source.find("2 * x"), 1, "3");
  const auto again = problem_of(*portable, "test");
  ASSERT_FALSE(again);
  EXPECT_EQ(again.error().code(), ErrorCode::kDataLoss);
}

TEST(PortableProblem, TheHashMayBeLeftOut) {
  const Problem problem = definition_problem(R"({"type": "random"})");
  Json json = to_json(*portable_problem(problem));
  json.erase("hash");
  const auto portable = portable_problem_from_json(json, "p");
  ASSERT_TRUE(portable) << portable.error().message();
  const auto again = problem_of(*portable, "test");
  ASSERT_TRUE(again) << again.error().message();
  EXPECT_EQ(again->hash, problem.hash);
}

TEST(PortableProblem, ErrorsNameTheKey) {
  const auto read = [](const char* text) {
    return portable_problem_from_json(*parse_json(text), "p").error().message();
  };
  EXPECT_THAT(read(R"({"name": "a", "hash": "b", "form": "x", "source": ""})"),
              HasSubstr("p.form"));
  EXPECT_THAT(read(R"({"name": "a", "hash": "b", "form": "module", "source": "", "polcy": {}})"),
              HasSubstr("policy"));
  EXPECT_THAT(
      read(R"({"name": "a", "hash": "b", "form": "module", "source": "", "settings": {"N": 1}})"),
      HasSubstr("p.settings.N"));
}

Result<Candidate> there_and_back(const Candidate& candidate) {
  return portable_candidate_from_json(*parse_json(portable_candidate_to_json(candidate).dump()),
                                      "c");
}

TEST(PortableCandidate, BareFilesComeBackAsTheyWere) {
  for (const auto& [file, source] : std::vector<std::pair<std::string, std::string>>{
           {"a.py", "def run(x):\n    return x\n"},
           {"b.cpp",
            "// flags: -ffast-math\nextern \"C\" void run(const float* x, float* y) {}\n"}}) {
    const auto candidate = candidate_from_source(file, source);
    ASSERT_TRUE(candidate) << file << ": " << candidate.error().message();
    const auto again = there_and_back(*candidate);
    ASSERT_TRUE(again) << file << ": " << again.error().message();
    EXPECT_EQ(again->hash, candidate->hash) << file;
    EXPECT_EQ(again->name, candidate->name);
    EXPECT_EQ(again->entry_function, candidate->entry_function);
    EXPECT_EQ(again->destination_passing_given, candidate->destination_passing_given);
    EXPECT_EQ(again->author + again->definition, "");
    EXPECT_TRUE(again->target_hardware.empty());
  }
}

TEST(PortableCandidate, OtherContentUnderTheHashIsRefused) {
  Json json =
      portable_candidate_to_json(*candidate_from_source("a.py", "def run(x):\n  return x\n"));
  json["solution"]["sources"][0]["content"] = "def run(x):\n  return 2 * x\n";
  auto again = portable_candidate_from_json(json, "c");
  ASSERT_FALSE(again);
  EXPECT_EQ(again.error().code(), ErrorCode::kDataLoss);
  EXPECT_THAT(again.error().message(), HasSubstr("c.hash"));
  json["filled_in"].push_back("name");
  EXPECT_THAT(portable_candidate_from_json(json, "c").error().message(), HasSubstr("filled_in"));
}

TEST(PortableCandidate, ASourceFileIsReadAsLoadCandidateReadsIt) {
  const std::string source =
      "// flags: -ffast-math\nextern \"C\" void run(const float* x, float* y) {}\n";
  const auto read = portable_candidate_from_json({{"file", "b.cpp"}, {"content", source}}, "c");
  ASSERT_TRUE(read) << read.error().message();
  EXPECT_EQ(read->hash, candidate_from_source("b.cpp", source)->hash);
  EXPECT_EQ(read->flags, std::vector<std::string>{"-ffast-math"});

  const auto named = portable_candidate_from_json(
      {{"file", "answer"}, {"content", "def run(x):\n  return x\n"}, {"language", "triton"}}, "c");
  ASSERT_TRUE(named) << named.error().message();
  EXPECT_EQ(named->language, Language::kTriton);
}

TEST(PortableCandidate, WrongSourceFilesAreNamed) {
  const auto message = [](const Json& value) {
    const auto read = portable_candidate_from_json(value, "c");
    return read ? "no error" : read.error().message();
  };
  EXPECT_THAT(message({{"file", "a.xyz"}, {"content", "x"}}), HasSubstr("c.file"));
  EXPECT_THAT(message({{"file", "a.cpp"}, {"content", ""}}), HasSubstr("a.cpp: empty"));
  EXPECT_THAT(message({{"file", "a.cpp"}}), HasSubstr("c.content"));
  EXPECT_THAT(message({{"file", "a.cpp"}, {"content", "x"}, {"language", "c++"}}),
              HasSubstr("c.language"));
  EXPECT_THAT(message({{"file", "a.cubin"}, {"content", "x"}}), HasSubstr("solution"));
  EXPECT_THAT(message({{"file", "a.cpp"}, {"content", "x"}, {"solution", Json::object()}}),
              HasSubstr("solution"));
  EXPECT_THAT(message({{"file", "a.cpp"}, {"content", "x"}, {"hash", "0"}}), HasSubstr("c.hash"));
}

}  // namespace
}  // namespace kw::task
