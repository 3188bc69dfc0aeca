// Tests of the Solution codec and of candidates' identity.
#include "task/solution_json.h"

#include <gtest/gtest.h>

#include "task/flags.h"
#include "task/testing/golden.h"

namespace kw::task {
namespace {

TEST(Solution, GoldenFilesRoundTrip) {
  for (const char* name : {"solution.json", "solution_ptx.json", "solution_triton.json"}) {
    std::string text = golden(name);
    auto candidate = solution_from_json(json_of(text), "");
    ASSERT_TRUE(candidate) << name << ": " << message_of(candidate);
    EXPECT_EQ(solution_to_json(*candidate, "unused").dump(2) + "\n", text) << name;
  }
  Candidate cpp = solution_from_json(json_of(golden("solution.json")), "").value();
  EXPECT_EQ(cpp.entry_file, "src/main.cpp");
  EXPECT_EQ(cpp.entry_function, "run");
  EXPECT_EQ(cpp.entry_source()->path, "src/main.cpp");
  Candidate ptx = solution_from_json(json_of(golden("solution_ptx.json")), "").value();
  EXPECT_EQ(ptx.language, Language::kPtx);
  EXPECT_EQ(ptx.launches.size(), 1U);
  Json defaults =
      with(json_of(golden("solution_triton.json")), "/spec/destination_passing_style", nullptr);
  EXPECT_TRUE(solution_from_json(defaults, "")->destination_passing);
}

struct Defect {
  const char* pointer;
  const char* value;
  const char* message;
};

constexpr Defect kDefects[] = {
    {"/name", "null", "name: missing"},
    {"/name", "\"a/b\"", "name: \"a/b\" cannot be a name"},
    {"/definition", "null", "definition: missing"},
    {"/definition", "\"\"", "definition: empty"},
    {"/author", "null", "author: missing"},
    {"/description", "1", "description: expected a string"},
    {"/spec", "null", "spec: missing"},
    {"/spec/language", "\"c++\"",
     "spec.language: \"c++\" is not one of python, triton, cpp, cuda, tilelang (did you mean "
     "\"cpp\"?)"},
    {"/spec/language", "\"ptx\"", "spec.language: \"ptx\" is not one of"},
    {"/spec/target_hardware", "[]", "spec.target_hardware: at least one name is needed"},
    {"/spec/target_hardware", "[\"\"]", "spec.target_hardware: at least one name is needed"},
    {"/spec/target_hardware", "\"cpu\"", "spec.target_hardware: expected a list of strings"},
    {"/spec/entry_point", "null", "spec.entry_point: missing"},
    {"/spec/entry_point", "\"src/main.cpp:run\"", "spec.entry_point: expected \"file::function\""},
    {"/spec/entry_point", "\"a::b::c\"", "spec.entry_point: expected \"file::function\""},
    {"/spec/entry_point", "\"src/main.cpp::\"", "spec.entry_point: \"\" is not a function's name"},
    {"/spec/entry_point", "\"main.cpp::run\"",
     "spec.entry_point: \"main.cpp\" is not among the sources"},
    {"/spec/dependencies", "[1]", "spec.dependencies: expected a list of strings"},
    {"/spec/destination_passing_style", "1",
     "spec.destination_passing_style: expected true or false"},
    {"/spec/binding", "\"tvm\"", "spec.binding: \"tvm\" is not one of tvm-ffi, torch, null"},
    {"/spec/langauge", "1", "spec.langauge: unknown key (did you mean \"language\"?)"},
    {"/sources", "null", "sources: missing"},
    {"/sources", "[]", "sources: expected a list of 1 to 256 files"},
    {"/sources/0/path", "\"/etc/x\"", "sources[0].path: \"/etc/x\" must be a relative path"},
    {"/sources/0/path", "\"../x\"", "sources[0].path: \"../x\" must be a relative path"},
    {"/sources/0/content", "null", "sources[0].content: missing"},
    {"/sources/0/content", "\" \\n\"", "sources: \"src/main.cpp\" is empty"},
    {"/sources/0/mode", "1", "sources[0].mode: unknown key"},
    {"/sources/1/path", "\"src/main.cpp\"", "sources: \"src/main.cpp\" is given twice"},
    {"/sources/1/path", "\"src\"", "sources: \"src\" is a file and a folder"},
    {"/kernelwright/flags", "[\"-fast-math\"]",
     "kernelwright: flags: \"-fast-math\" is not allowed (did you mean \"-ffast-math\"?)"},
    {"/kernelwright/flags", "[\"-include\"]", "kernelwright: flags: \"-include\" is not allowed"},
    {"/kernelwright/language", "\"ptx\"",
     "kernelwright.language: only ptx or cubin, with spec.language cuda"},
    {"/kernelwright/launches", "[{}]", "kernelwright.launches: only for cuda, ptx and cubin"},
    {"/kernelwright/falgs", "[]", "kernelwright.falgs: unknown key (did you mean \"flags\"?)"},
    {"/specs", "1", "specs: unknown key (did you mean \"spec\"?)"},
};

TEST(Solution, EveryRuleIsChecked) {
  Json good = json_of(golden("solution.json"));
  for (const Defect& defect : kDefects) {
    auto bad = solution_from_json(with(good, defect.pointer, json_of(defect.value)), "");
    EXPECT_THAT(message_of(bad), testing::StartsWith(defect.message))
        << defect.pointer << " = " << defect.value;
  }
  Json flags_on_python =
      with(json_of(golden("solution_triton.json")), "/kernelwright", {{"flags", {"-O3"}}});
  EXPECT_EQ(message_of(solution_from_json(flags_on_python, "")),
            "kernelwright.flags: only for cpp");
  Json large = with(good, "/sources/0/content", std::string((2U << 20U) + 1, 'x'));
  EXPECT_EQ(message_of(solution_from_json(large, "")), "sources[0].content: over 2.0 MiB");
  Json together = good;
  for (int i = 0; i < 5; ++i)
    together["sources"].push_back(
        {{"path", fmt::format("{}.h", i)}, {"content", std::string(2U << 20U, 'x')}});
  EXPECT_EQ(message_of(solution_from_json(together, "")), "sources: over 8.0 MiB together");
  Json bad_launch =
      with(json_of(golden("solution_ptx.json")), "/kernelwright/launches/0/grid/0", "n +");
  EXPECT_THAT(message_of(solution_from_json(bad_launch, "")),
              testing::StartsWith("kernelwright.launches[0].grid[0]: column 4"));
}

TEST(Solution, CubinsStandAsBase64) {
  Candidate cubin;
  cubin.name = "relu";
  cubin.language = Language::kCubin;
  cubin.entry_file = "relu.cubin";
  cubin.sources = {{"relu.cubin", std::string("\x7f"
                                              "ELF\0\xff",
                                              6)}};
  Json written = solution_to_json(cubin, "relu_problem");
  EXPECT_EQ(written["spec"]["language"], "cuda");
  EXPECT_EQ(written["spec"]["target_hardware"], Json({"cuda"}));
  EXPECT_EQ(written["definition"], "relu_problem");
  auto read = solution_from_json(written, "");
  ASSERT_TRUE(read) << message_of(read);
  EXPECT_EQ(read->sources[0].content, cubin.sources[0].content);
  EXPECT_EQ(read->language, Language::kCubin);
  EXPECT_EQ(message_of(solution_from_json(with(written, "/sources/0/content", "!"), "")),
            "sources: relu.cubin: not base64");
}

TEST(Candidate, HashCoversWhatIsJudgedAndNotTheName) {
  const Candidate base = solution_from_json(json_of(golden("solution.json")), "").value();
  EXPECT_EQ(base.hash.size(), 64U);
  auto changed = [&](auto change) {
    Candidate copy = base;
    change(copy);
    return candidate_hash(copy) != base.hash;
  };
  EXPECT_FALSE(changed([](Candidate& c) { c.name = "other"; }));
  EXPECT_FALSE(changed([](Candidate& c) { c.author = c.description = "other"; }));
  EXPECT_FALSE(changed([](Candidate& c) { std::swap(c.sources[0], c.sources[1]); }));
  EXPECT_TRUE(changed([](Candidate& c) { c.sources[1].content += " "; }));
  EXPECT_TRUE(changed([](Candidate& c) { c.sources[1].path = "src/other.h"; }));
  EXPECT_TRUE(changed([](Candidate& c) { c.language = Language::kCuda; }));
  EXPECT_TRUE(changed([](Candidate& c) { c.entry_function = "go"; }));
  EXPECT_TRUE(changed([](Candidate& c) { c.flags.pop_back(); }));
  EXPECT_TRUE(changed([](Candidate& c) { c.binding = "torch"; }));
  EXPECT_TRUE(changed([](Candidate& c) { c.destination_passing = false; }));
  EXPECT_TRUE(changed([](Candidate& c) { c.launches.push_back({"k", {}, {}, {}, {}}); }));
}

TEST(Flags, CommentsAreReadAndChecked) {
  auto flags = flags_in_comments(
      "// flags: -O3 -ffast-math\nint x;\n  //flags:\t-ffast-math -mavx2\n// flagsx: -bad\nconst "
      "char* s = \"// flags: -bad\";\n");
  ASSERT_TRUE(flags) << message_of(flags);
  EXPECT_THAT(*flags, testing::ElementsAre("-O3", "-ffast-math", "-mavx2"));
  EXPECT_EQ(message_of(flags_in_comments("\n// flags: -O3 -march=native\n")).substr(0, 46),
            "line 2: flags: \"-march=native\" is not allowed;");
  for (const char* hostile : {"-include", "-I/", "-o", "-wrapper", "@file", "-fplugin=x.so",
                              "-Wl,-rpath", "-specs=x", "-B/tmp", "-DX", "-xc"}) {
    EXPECT_FALSE(check_flags({hostile})) << hostile;
  }
  for (const std::string& flag : allowed_flags()) EXPECT_TRUE(check_flags({flag}));
}

}  // namespace
}  // namespace kw::task
