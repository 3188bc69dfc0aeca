// Tests of the front door for candidates: every form and bad input.
#include "task/candidate_source.h"

#include <gtest/gtest.h>

#include "task/testing/golden.h"
#include "text/text_file.h"

namespace kw::task {
namespace {

using testing::HasSubstr;

std::vector<std::string> names(const Result<std::vector<Candidate>>& candidates) {
  EXPECT_TRUE(candidates) << message_of(candidates);
  std::vector<std::string> out;
  if (candidates) {
    for (const Candidate& candidate : *candidates) out.push_back(candidate.name);
  }
  return out;
}

std::string compact(const std::string& golden_name) {
  return json_of(golden(golden_name)).dump() + "\n";
}

TEST(CandidateSource, LanguageByExtension) {
  TestFolder folder;
  const std::vector<std::tuple<const char*, const char*, Language>> kFiles = {
      {"a.cpp", "int x;", Language::kCpp},
      {"a.cc", "int x;", Language::kCpp},
      {"a.cu", "__global__ void k() {}", Language::kCuda},
      {"a.ptx", ".version 8.0", Language::kPtx},
      {"a.cubin",
       "\x7f"
       "ELF\xff",
       Language::kCubin},
      {"a.py", "import torch", Language::kPython},
      {"b.py", "@triton.jit\ndef k(): pass", Language::kTriton}};
  for (const auto& [name, content, language] : kFiles) {
    auto candidate = load_candidate(folder.write(name, content));
    ASSERT_TRUE(candidate) << message_of(candidate);
    EXPECT_EQ(candidate->language, language) << name;
    EXPECT_EQ(candidate->entry_file, name);
    EXPECT_EQ(candidate->entry_source()->content, content);
    EXPECT_FALSE(candidate->destination_passing_given);
    EXPECT_EQ(candidate->hash, candidate_hash(*candidate));
    EXPECT_EQ(language_from_string(to_string(language)), language);
  }
  EXPECT_EQ(load_candidate(folder.write("copy.py", "import torch"))->hash,
            load_candidate(folder.path() / "a.py")->hash);
  EXPECT_NE(load_candidate(folder.path() / "a.cc")->hash,
            load_candidate(folder.path() / "a.py")->hash);
}

TEST(CandidateSource, CommentsSayFlagsAndLaunches) {
  TestFolder folder;
  Candidate cpp = load_candidate(folder.write("a.cpp", "// flags: -ffast-math\nint x;")).value();
  EXPECT_THAT(cpp.flags, testing::ElementsAre("-ffast-math"));
  EXPECT_THAT(message_of(load_candidate(folder.write("b.cpp", "int x;\n// flags: -fno-such\n"))),
              HasSubstr("b.cpp: line 2: flags: \"-fno-such\" is not allowed"));
  std::string launch =
      R"j(// launch: {"kernel": "k", "grid": ["ceil_div(n, 256)"], "block": [256], "arguments": ["x"]})j";
  Candidate cuda = load_candidate(folder.write("a.cu", launch + "\n" + launch + "\n")).value();
  EXPECT_EQ(cuda.launches.size(), 2U);
  EXPECT_NE(cuda.hash, load_candidate(folder.write("b.cu", launch + "\n"))->hash);
  EXPECT_THAT(message_of(load_candidate(folder.write("c.cu", "\n// launch: {\"kernel\": 1}"))),
              HasSubstr("c.cu: line 2, column 13: launch.kernel: expected a string"));
  EXPECT_THAT(message_of(load_candidate(folder.write("d.ptx", "// launch: {"))),
              HasSubstr("d.ptx: not valid JSON: parse error at line 1, column 13"));
}

TEST(CandidateSource, SolutionsAndFolders) {
  TestFolder folder;
  auto json = folder.write("solutions/b/relu.json", golden("solution_triton.json"));
  auto lines = folder.write("solutions/c.jsonl",
                            compact("solution.json") + "\n" + compact("solution_ptx.json"));
  folder.write("solutions/a10.py", "x = 1");
  folder.write("solutions/a9.py", "x = 1");
  folder.write("solutions/.hidden/x.py", "x = 1");
  folder.write("solutions/__pycache__/y.py", "x = 1");
  folder.write("solutions/notes.txt", "not one");
  EXPECT_EQ(load_candidate(json)->name, "relu_triton");
  EXPECT_THAT(names(load_candidates(lines)), testing::ElementsAre("softmax_topk_cpp", "relu_ptx"));
  EXPECT_THAT(names(load_candidates(folder.path() / "solutions")),
              testing::ElementsAre("a9", "a10", "relu_triton", "softmax_topk_cpp", "relu_ptx"));
  EXPECT_THAT(message_of(load_candidate(lines)), HasSubstr("expected one candidate, found 2"));
}

TEST(CandidateSource, KernelBenchRuns) {
  TestFolder folder;
  folder.write("runs/mine/level_1_problem_19_sample_10_kernel.py", "class ModelNew: pass");
  folder.write("runs/mine/level_1_problem_19_sample_2_kernel.py", "class ModelNew: pass");
  folder.write("runs/mine/eval_results.json", "{}");
  auto candidates = load_candidates(folder.path() / "runs/mine");
  ASSERT_TRUE(candidates) << message_of(candidates);
  ASSERT_EQ(candidates->size(), 2U);
  EXPECT_EQ((*candidates)[0].sample->sample_id, 2);
  EXPECT_EQ((*candidates)[1].sample->sample_id, 10);
  EXPECT_EQ((*candidates)[1].sample->level, 1);
  EXPECT_EQ((*candidates)[1].sample->problem_id, 19);
  EXPECT_EQ((*candidates)[0].hash, (*candidates)[1].hash);
  for (const char* other :
       {"level_1_problem_19_kernel.py", "level_x_problem_1_sample_0_kernel.py",
        "level_1_problem_2_sample_0_kernel.pyc", "level_1_problem_-2_sample_0_kernel.py",
        "xlevel_1_problem_2_sample_0_kernel.py", "",
        "level_99999999999999999999_problem_2_sample_0_kernel.py"}) {
    EXPECT_FALSE(kernelbench_sample(other)) << other;
  }
}

TEST(CandidateSource, BadInputIsNamed) {
  TestFolder folder;
  auto problem = [&](const std::string& name, std::string_view content) {
    return message_of(load_candidate(folder.write(name, content)));
  };
  EXPECT_THAT(message_of(load_candidate(folder.path() / "gone.cpp")),
              HasSubstr("gone.cpp: no such file or folder"));
  EXPECT_THAT(message_of(load_candidates(folder.path())), HasSubstr("no candidates in it"));
  EXPECT_THAT(problem("a.txt", "x"), HasSubstr("a.txt: not a candidate; expected .cpp"));
  EXPECT_THAT(problem("a.cpp", ""), HasSubstr("a.cpp: the file is empty"));
  EXPECT_THAT(problem("a.cubin", ""), HasSubstr("a.cubin: the file is empty"));
  EXPECT_THAT(problem("b.cpp", "\n \n"), HasSubstr("nothing but white space"));
  EXPECT_THAT(problem("c.cpp", "int x; // \xff"), HasSubstr("c.cpp: not UTF-8 text"));
  EXPECT_THAT(problem("d.py", std::string_view("x = 1\0", 6)), HasSubstr("d.py: has NUL bytes"));
  EXPECT_THAT(problem("e.cpp", std::string((2U << 20U) + 1, 'x')),
              HasSubstr("e.cpp: more than the 2.0 MiB that are read"));
  EXPECT_TRUE(load_candidate(folder.write("f.cpp", std::string(2U << 20U, 'x'))));
  EXPECT_THAT(problem("g.json", "{"), HasSubstr("g.json: not valid JSON"));
  EXPECT_THAT(problem("h.json", "{}"), HasSubstr("h.json: name: missing"));
  EXPECT_THAT(problem("i.jsonl", compact("solution.json") + "{}"),
              HasSubstr("i.jsonl:2: name: missing"));
  EXPECT_THAT(problem("j\xff.cpp", "int x;"), HasSubstr("cannot be a name"));
  std::filesystem::create_directory(folder.path() / "k.cpp");
  EXPECT_THAT(message_of(load_candidate(folder.path() / "k.cpp")),
              HasSubstr("no candidates in it"));
}

TEST(TextFile, SizesAndOrder) {
  TestFolder folder;
  auto path = folder.write("x", "12345");
  EXPECT_EQ(text::read_text(path, 5).value(), "12345");
  EXPECT_FALSE(text::read_text(path, 4));
  EXPECT_FALSE(text::read_bytes("/dev/zero", 10));
  EXPECT_FALSE(text::read_bytes(folder.path(), 10));
  EXPECT_TRUE(text::natural_less("level1/2_b", "level1/10_a"));
  EXPECT_FALSE(text::natural_less("level1/10_a", "level1/2_b"));
  EXPECT_TRUE(text::natural_less("a", "a1"));
  EXPECT_TRUE(text::natural_less("a01", "a2"));
  EXPECT_FALSE(text::natural_less("a", "a"));
}

}  // namespace
}  // namespace kw::task
