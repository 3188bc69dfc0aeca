// The other commands over a fixture folder and fakes.
#include "kernelwright/testing/fakes.h"

namespace kw::front {
namespace {

using Commands = FrontTest;

TEST_F(Commands, ProblemsList) {
  EXPECT_EQ(kernelwright({"problems", "list", "--folder", path("problems")}), 0)
      << console.err_text;
  EXPECT_EQ(console.out_text,
            "NAME      KIND        WORKLOADS    TARGETS  DTYPES   CPU   CUDA  LIBRARY\n"
            "elementwise (1)\n"
            "  double  definition  1 (1 timed)  cpu      float32  64 B  -     libraries_allowed\n"
            "no family (1)\n"
            "  halve   definition  1 (1 timed)  cpu      float32  64 B  -     libraries_allowed\n");
  console.out_text.clear();
  EXPECT_EQ(kernelwright({"problems", "list", "--folder", path("problems"), "--json"}), 0);
  auto first = parse_json(console.out_text.substr(0, console.out_text.find('\n')));
  ASSERT_TRUE(first);
  EXPECT_EQ((*first)["name"], "double");
  EXPECT_EQ((*first)["hash"].get<std::string>().size(), 64U);
}

TEST_F(Commands, ProblemsListSaysWhatEachNeeds) {
  write("problems/halve/workloads.jsonl",
        "{\"definition\": \"halve\", \"solution\": null, \"workload\": {\"uuid\": \"w-small\", "
        "\"axes\": {\"N\": 1024}, \"inputs\": {\"x\": {\"type\": \"random\"}}}, \"evaluation\": "
        "null}\n"
        "{\"definition\": \"halve\", \"solution\": null, \"workload\": {\"uuid\": \"w-other\", "
        "\"axes\": {\"N\": 512}, \"inputs\": {\"x\": {\"type\": \"random\"}}}, \"evaluation\": "
        "null}\n"
        "{\"definition\": \"halve\", \"solution\": null, \"workload\": {\"uuid\": \"w-large\", "
        "\"axes\": {\"N\": 1048576}, \"inputs\": {\"x\": {\"type\": \"random\"}}}, \"evaluation\": "
        "null}\n");
  write("problems/halve/policy.toml",
        "schema = 1\nfamily = \"activation\"\nlibrary = "
        "\"kernel_only\"\n[workloads.w-large]\ntargets "
        "= [\"cuda\"]\n[workloads.w-other]\ntargets = [\"cpu\", \"interpret\"]\n");
  EXPECT_EQ(kernelwright({"problems", "list", "--folder", path("problems")}), 0)
      << console.err_text;
  EXPECT_EQ(console.out_text.substr(console.out_text.find('\n') + 1),
            "activation (1)\n"
            "  halve   definition  3 (3 timed)  cpu,interpret,cuda  float32  8.0 KiB  8.0 MiB  "
            "kernel_only\n"
            "elementwise (1)\n"
            "  double  definition  1 (1 timed)  cpu                 float32  64 B     -        "
            "libraries_allowed\n");
  console.out_text.clear();
  EXPECT_EQ(kernelwright({"problems", "list", "--folder", path("problems"), "--family",
                          "activation", "--json"}),
            0);
  auto one = parse_json(console.out_text);
  ASSERT_TRUE(one) << "one line: " << console.out_text;
  EXPECT_EQ((*one)["targets"], (Json{"cpu", "interpret", "cuda"}));
  EXPECT_EQ((*one)["dtypes"], Json{"float32"});
  EXPECT_EQ((*one)["memory_bytes"], (Json{{"cpu", 8192}, {"cuda", 8U << 20U}}));
  EXPECT_EQ((*one)["library"], "kernel_only");
}

TEST_F(Commands, ProblemsListOfAnUnknownFamily) {
  EXPECT_EQ(kernelwright({"problems", "list", "--family", "elementwize"}), 2);
  EXPECT_EQ(console.err_text,
            "error: --family: no problem in problems is of family \"elementwize\" (did you mean "
            "\"elementwise\"?)\n");
  console.err_text.clear();
  EXPECT_EQ(kernelwright({"problems", "list", "--family", "q"}), 2);
  EXPECT_EQ(console.err_text,
            "error: --family: no problem in problems is of family \"q\"; there are elementwise\n");
}

TEST_F(Commands, ProblemsShow) {
  EXPECT_EQ(kernelwright({"problems", "show", path("problems/double")}), 0) << console.err_text;
  EXPECT_NE(console.out_text.find("  inputs     x: float32 [N]\n"), std::string::npos);
  EXPECT_NE(console.out_text.find("  workloads  w-double  N=8 timed\n"), std::string::npos);
  EXPECT_NE(console.out_text.find("return 2 * x"), std::string::npos);
  console.out_text.clear();
  EXPECT_EQ(kernelwright({"problems", "show", path("problems/double"), "--signature"}), 0);
  EXPECT_NE(console.out_text.find("extern \"C\" void run("), std::string::npos);
  EXPECT_TRUE(gym.started.empty()) << "a definition's interface needs no gym";
  console.out_text.clear();
  EXPECT_EQ(kernelwright({"problems", "show", path("problems/double"), "--signature", "--json"}),
            0);
  auto json = parse_json(console.out_text);
  ASSERT_TRUE(json);
  EXPECT_TRUE(json->contains("definition"));
  EXPECT_TRUE(json->contains("signature"));
}

TEST_F(Commands, ProblemsTrace) {
  EXPECT_EQ(kernelwright({"problems", "trace", path("problems/double"), "--workload", "w-double",
                          "--isolation-at-least", "basic"}),
            0)
      << console.err_text;
  EXPECT_EQ(console.out_text, "sizes N=8\ninput x: float32[N]\nreturn x\n");
  ASSERT_EQ(gym.traced.size(), 1U);
  EXPECT_EQ(gym.traced[0].workload, "w-double");
  EXPECT_EQ(gym.started.at(0).isolation_at_least, sandbox::Level::kBasic);
  console.out_text.clear();
  EXPECT_EQ(kernelwright({"problems", "trace", path("problems/double"), "--json"}), 0);
  auto graph = writer::graph_from_json(console.out_text, "out");
  ASSERT_TRUE(graph) << graph.error().message();
  gym.errors["double"] = ErrorCode::kUnsupported;
  EXPECT_EQ(kernelwright({"problems", "trace", path("problems/double")}), 2);
  EXPECT_EQ(console.err_text, "error: the fake fails\n");
}

TEST_F(Commands, Prompt) {
  EXPECT_EQ(kernelwright({"prompt", path("problems/double")}), 0) << console.err_text;
  EXPECT_NE(console.out_text.find("C++20 implementation of `double`"), std::string::npos);
  EXPECT_NE(console.out_text.find("built with `g++ -O3`"), std::string::npos);
  console.out_text.clear();
  std::string module =
      write("level1/7_Mod.py",
            "import torch\n\nclass Model(torch.nn.Module):\n    pass\n\ndef get_inputs():\n    "
            "return []\n\ndef get_init_inputs():\n    return []\n");
  EXPECT_EQ(kernelwright({"prompt", module, "--language", "python"}), 0) << console.err_text;
  EXPECT_NE(console.out_text.find("ModelNew"), std::string::npos);
  EXPECT_EQ(gym.started.size(), 1U) << "a module's interface comes from running its reference";
  EXPECT_EQ(kernelwright({"prompt", module, "--language", "basic"}), 2);
  console.out_text.clear();
  EXPECT_EQ(kernelwright({"prompt", path("problems/double"), "--template", "full", "--json"}), 0)
      << console.err_text;
  auto json = parse_json(console.out_text);
  ASSERT_TRUE(json);
  EXPECT_EQ((*json)["template"], "full-3");
  EXPECT_EQ((*json)["messages"][0]["role"], "user");
  EXPECT_NE(console.out_text.find("Test CPU"), std::string::npos);
  EXPECT_EQ(kernelwright({"prompt", path("problems/double"), "--template", "fulll"}), 2);
  EXPECT_EQ(kernelwright(
                {"prompt", path("problems/double"), "--template", "full", "--language", "triton"}),
            2);
}

TEST_F(Commands, Rejudge) {
  EXPECT_EQ(kernelwright({"rejudge", "stored.json"}), 1);
  EXPECT_NE(console.out_text.find("stored  wrong_value"), std::string::npos);
  EXPECT_EQ(kernelwright({"rejudge", "other.json"}), 2);
  EXPECT_EQ(kernelwright({"rejudge"}), 2);
  EXPECT_EQ(kernelwright({"rejudge", ""}), 2);
}

TEST_F(Commands, CacheSizeAndClean) {
  write("cache/builds/ab/one", std::string(1000, 'x'));
  write("cache/two", std::string(24, 'x'));
  write("data/evidence/e.json", "12345");
  write("outside", "kept");
  std::filesystem::create_symlink(path("outside"), path("cache/link"));
  EXPECT_EQ(kernelwright({"cache", "size", "--json"}), 0);
  auto size = parse_json(console.out_text);
  ASSERT_TRUE(size);
  EXPECT_EQ((*size)["cache"]["bytes"], 1024);
  EXPECT_EQ((*size)["cache"]["files"], 2);
  EXPECT_EQ((*size)["evidence"]["bytes"], 5);
  console.out_text.clear();
  EXPECT_EQ(kernelwright({"cache", "size"}), 0);
  EXPECT_NE(console.out_text.find("  2 files  "), std::string::npos);
  EXPECT_NE(console.out_text.find("  1 file  "), std::string::npos);
  EXPECT_EQ(kernelwright({"cache", "clean"}), 0);
  EXPECT_TRUE(std::filesystem::is_empty(path("cache")));
  EXPECT_EQ(read("outside"), "kept");
  EXPECT_EQ(read("data/evidence/e.json"), "12345") << "evidence goes only when asked for";
  EXPECT_EQ(kernelwright({"cache", "clean", "--evidence"}), 0);
  EXPECT_EQ(read("data/evidence/e.json"), "");
  std::filesystem::remove_all(path("cache"));
  EXPECT_EQ(kernelwright({"cache", "clean"}), 0) << "nothing there is fine";
}

TEST_F(Commands, Doctor) {
  EXPECT_EQ(kernelwright({"doctor"}), 0);
  for (const char* line :
       {"  warn    isolation level    namespaces\n", "needs root\n",
        "  ok      g++                12.2.0\n", "  missing triton             not found\n",
        "\nGPUs\n  missing GPU                no NVIDIA driver\n", "judges cpp, python\n",
        "without freezing between calls\n",
        "  missing target cuda        target \"cuda\" is not available in this build\n"}) {
    EXPECT_NE(console.out_text.find(line), std::string::npos) << line << console.out_text;
  }
  console.out_text.clear();
  tools.outputs["python3"] = "3.11.2\n2.9.1\n\n";
  start_error = Error(ErrorCode::kNotFound, "kernelwright-launcher is not built");
  EXPECT_EQ(kernelwright({"doctor", "--json"}), 0);
  auto json = parse_json(console.out_text);
  ASSERT_TRUE(json);
  EXPECT_EQ((*json)["targets"]["cpu"]["why_not"], "kernelwright-launcher is not built");
  EXPECT_EQ((*json)["tools"]["torch"], "2.9.1");
  console.out_text.clear();
  EXPECT_EQ(kernelwright({"doctor"}), 0);
  EXPECT_NE(console.out_text.find("  warn    torch              2.9.1\n"), std::string::npos);
}

TEST_F(Commands, Version) {
  EXPECT_EQ(kernelwright({"--version"}), 0);
  EXPECT_NE(console.out_text.find("g++ 12.2.0, python 3.11.2, torch 2.13.0, triton missing"),
            std::string::npos)
      << console.out_text;
}

TEST_F(Commands, UsageErrorsSpeakTheCallersLanguage) {
  EXPECT_EQ(kernelwright({"evla"}), 2);
  EXPECT_EQ(console.err_text,
            "error: unknown command \"evla\" (did you mean eval?); see kernelwright --help\n");
  EXPECT_EQ(console.out_text, "");
  EXPECT_EQ(kernelwright({"evla", "--json"}), 2);
  EXPECT_NE(console.out_text.find("{\"error\":{\"code\":\"invalid_argument\""), std::string::npos);
  EXPECT_EQ(kernelwright({}), 2);
}

TEST_F(Commands, ProgramOfOneGroupBecomesTheProgramOfAnother) {
  static constexpr CommandGroup kJudging[] = {&run_eval_command};
  groups = kJudging;
  EXPECT_EQ(kernelwright({"data", "stats", "x.jsonl", "--json"}), 2);
  EXPECT_EQ(became, (std::vector<std::string>{path("bin/kernelwright-data"), "data", "stats",
                                              "x.jsonl", "--json"}));
  EXPECT_EQ(kernelwright({"solve", "double"}), 2);
  EXPECT_EQ(became.at(0), path("bin/kernelwright-solve"));
  EXPECT_EQ(kernelwright({"report", "x"}), 2);
  EXPECT_EQ(became.at(0), path("bin/kernelwright-report"));
  EXPECT_EQ(kernelwright({"generate", "--model", "m", "--chat", "x"}), 2);
  EXPECT_EQ(became.at(0), path("bin/kernelwright-model"));
  EXPECT_EQ(kernelwright({"serve", "--data", "x"}), 2);
  EXPECT_EQ(became.at(0), path("bin/kernelwright-service"));
  became.clear();
  EXPECT_EQ(kernelwright({"eval", "p", "c", "--judge", "http://127.0.0.1:1"}), 2);
  EXPECT_EQ(became.at(0), path("bin/kernelwright-service"));
  became.clear();
  EXPECT_EQ(kernelwright({"problems", "list", "--folder", path("problems")}), 0);
  EXPECT_TRUE(became.empty());
}

TEST_F(Commands, ProgramThatIsNotBuiltIsNamed) {
  static constexpr CommandGroup kJudging[] = {&run_eval_command};
  groups = kJudging;
  become_error = Error(ErrorCode::kNotFound, "no such file");
  EXPECT_EQ(kernelwright({"solve", "double"}), 2);
  EXPECT_EQ(console.err_text,
            "error: kernelwright-solve is not built: ./kernelwright solve in the checkout builds "
            "it\n");
}

}  // namespace
}  // namespace kw::front
