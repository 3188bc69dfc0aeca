// Tests of decontamination, deduplication and splits.
#include <fstream>
#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/random.h"
#include "data/benchmark.h"
#include "data/dedup.h"
#include "data/graph_labels.h"
#include "data/near_duplicates.h"
#include "data/split.h"
#include "data/stats.h"
#include "data/tokens.h"
#include "os/file.h"
#include "task/kernelbench.h"

namespace kw::data {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

std::string digest(std::string_view source, Syntax syntax = Syntax::kPython) {
  return normalised_digest(normalised(source, syntax));
}

std::string module_source(const std::string& name, const std::string& body,
                          const std::string& extra = "") {
  return "import torch\nimport torch.nn as nn\n\nclass Model(nn.Module):\n    \"\"\"A " + name +
         ".\"\"\"\n    def __init__(self, size=64):\n        super().__init__()\n        self.size "
         "= "
         "size\n\n    def forward(self, x):\n        # computes it\n        return " +
         body + "\n\n" + extra +
         "def get_inputs():\n    return [torch.rand(16, 64)]\n\ndef get_init_inputs():\n    return "
         "[64]\n";
}

task::Problem problem_of(const std::string& name, const std::string& source) {
  return task::module_problem(name, *task::make_module(source, "Model", {}), "test");
}

Sample sample_of(const std::string& name, const std::string& source, const std::string& answer) {
  Sample out;
  out.kind = Kind::kConvert;
  out.language = "cpp";
  out.problem = sample_problem(problem_of(name, source)).value();
  out.messages = {{"user", "Rewrite it."}, {"assistant", "```cpp\n" + answer + "\n```"}};
  out.group = name;
  return out;
}

class CutTest : public testing::Test {
 protected:
  std::string path(const std::string& name) const { return (folder.path() / name).string(); }
  std::string write(const std::string& name, const std::vector<Sample>& samples) const {
    std::ofstream file(path(name));
    for (const Sample& sample : samples) file << to_line(sample) << "\n";
    return path(name);
  }
  std::vector<std::string> names_in(const std::string& name) const {
    std::vector<std::string> out;
    auto status = for_each_sample(path(name), [&](const Sample& sample, std::string_view) {
      out.push_back(sample.problem->name);
      return Status();
    });
    EXPECT_TRUE(status) << status.error().message();
    return out;
  }
  os::TempDir folder = std::move(*os::TempDir::make("kw_data_test"));
};

TEST(Tokens, NamesCommentsAndLayoutDoNotMatter) {
  EXPECT_EQ(digest("def f(a, b=2):\n    \"\"\"Adds.\"\"\"\n    c = a + b  # sum\n    return c\n"),
            digest("def g(x,\n      other=2):\n\n    total = x + other\n    return total\n"));
  EXPECT_EQ(
      digest("class A(nn.Module):\n    def __init__(self):\n        self.act = nn.ReLU()\n"
             "    def forward(self, x):\n        return self.act(x)\n"),
      digest("class Other(nn.Module):\n    def __init__(self):\n        self.relu = nn.ReLU()\n"
             "    def forward(self, inp):\n        'docs'\n        return self.relu(inp)\n"));
  // Another computation is another digest.
  EXPECT_NE(digest("def f(x):\n    return torch.relu(x)\n"),
            digest("def f(x):\n    return torch.tanh(x)\n"));
  EXPECT_NE(digest("def f(x, y):\n    return x - y\n"), digest("def f(x, y):\n    return y - x\n"));
  EXPECT_NE(digest("def f(x):\n    return x + 1\n"), digest("def f(x):\n    return x + 2\n"));
  EXPECT_NE(digest("def f(x):\n    return g(x, dim=1)\n"),
            digest("def f(x):\n    return g(x, keepdim=1)\n"));
  EXPECT_NE(digest("def f(x):\n    return x == 'a'\n"), digest("def f(x):\n    return x == 'b'\n"));

  const auto c = [](std::string_view source) { return digest(source, Syntax::kC); };
  EXPECT_EQ(
      c("void run(const float* x, int64_t n) { for (int64_t i = 0; i < n; ++i) y[i] = x[i]; }"),
      c("void run(const float* in, int64_t size) {\n  // copies\n  for (int64_t j = 0; j < size; "
        "++j)\n    /* here */ y[j] = in[j];\n}"));
  EXPECT_NE(c("float f(float x) { return std::exp(x); }"),
            c("float f(float x) { return std::log(x); }"));
  EXPECT_NE(c("float f(float x) { return expf(x); }"), c("float f(float x) { return logf(x); }"));
  EXPECT_EQ(tokens_of("s = R\"(a \" b)\";", Syntax::kC).size(), 4U);
  EXPECT_EQ(tokens_of("x = '''a\n#b'''  # c\n", Syntax::kPython).size(), 3U);
  for (std::string_view bad : {"'", "\"\"\"", "R\"(", "/*", "\\", "0x", "((("})
    tokens_of(bad, Syntax::kC), tokens_of(bad, Syntax::kPython);
}

TEST(NearDuplicates, EstimateIsTheSimilarityAndPairsAreFound) {
  const auto set_of = [](std::uint64_t from, std::uint64_t to) {
    std::vector<std::uint64_t> out;
    for (std::uint64_t i = from; i < to; ++i) out.push_back(Rng(i).next());
    return out;
  };
  int found = 0;
  double sum = 0;
  for (std::uint64_t pair = 0; pair < 200; ++pair) {
    NearDuplicates near(0.8);
    const std::uint64_t begin = pair << 20U;
    EXPECT_FALSE(near.find_or_keep(signature_of(set_of(begin, begin + 950))));
    // 900 of 1000 in both: Jaccard 0.9.
    auto match = near.find_or_keep(signature_of(set_of(begin + 50, begin + 1000)));
    if (!match) continue;
    ++found;
    sum += match->similarity;
  }
  EXPECT_GT(found, 195);
  EXPECT_NEAR(sum / found, 0.9, 0.02);
  NearDuplicates near(0.8);
  for (std::uint64_t i = 0; i < 3000; ++i)  // half of each in its neighbour: 1/3
    EXPECT_FALSE(near.find_or_keep(signature_of(set_of(i * 50, i * 50 + 100))));
  EXPECT_EQ(
      near.find_or_keep(signature_of(set_of(std::uint64_t{70} * 50, std::uint64_t{70} * 50 + 100)))
          ->index,
      70U);
}

TEST_F(CutTest, DedupKeepsTheFirstOfEqualAndOfNearSamples) {
  std::string loop = "void run(const float* x, float* y, int64_t n) {\n";
  for (int i = 0; i < 40; ++i)
    loop += fmt::format("  y[{}] = std::exp(x[{}]) * {}.5f + y[{}];\n", i, i + 1, i * 7, i / 2);
  const std::string relu = module_source("relu", "torch.relu(x)");
  const Sample first = sample_of("a", relu, loop + "}");
  const Sample renamed =
      sample_of("b", module_source("ReLU layer", "torch.relu(x)"), "// fast\n" + loop + "}");
  const Sample near = sample_of("c", relu, loop + "  y[1] = 0;\n}");
  const Sample other = sample_of("d", module_source("tanh", "torch.tanh(x)"), "int x = 1;");
  const std::string in = write("in.jsonl", {first, renamed, near, other, other});
  const auto run = [&](const DedupOptions& options) {
    auto out = OutputFile::create(path("out.jsonl"), true);
    auto removed = OutputFile::create(path("removed.jsonl"), true);
    auto counts = dedup(in, options, *out, &*removed);
    EXPECT_TRUE(counts) << counts.error().message();
    EXPECT_TRUE(out->close() && removed->close());
    return *counts;
  };
  DedupCounts counts = run({});
  EXPECT_THAT(names_in("out.jsonl"), ElementsAre("a", "d"));
  EXPECT_EQ(counts.rows, 5U);
  EXPECT_EQ(counts.same, 2U);
  EXPECT_EQ(counts.near, 1U);
  const std::string removed = *os::read_file(path("removed.jsonl"));
  EXPECT_THAT(removed, HasSubstr("\"id\":\"" + sample_id(near) +
                                 "\",\"reason\":\"near\",\"as\":\"" + sample_id(first)));
  run({.by = ComparedBy::kBoth, .threshold = 0});
  EXPECT_THAT(names_in("out.jsonl"), ElementsAre("a", "c", "d"));
  run({.by = ComparedBy::kProblem, .threshold = 0});
  EXPECT_THAT(names_in("out.jsonl"), ElementsAre("a", "d"));
  std::ofstream(in, std::ios::app) << "{}\n";
  auto out = OutputFile::create(path("out2.jsonl"), true);
  auto broken = dedup(in, {}, *out, nullptr);
  ASSERT_FALSE(broken);
  EXPECT_THAT(broken.error().message(), HasSubstr("in.jsonl:6: "));
}

TEST_F(CutTest, BenchmarkProblemsAreFoundInEveryDisguise) {
  Benchmark benchmark(0.5);
  for (int i = 0; i < 30; ++i)  // of one form, so that its boilerplate counts for nothing
    benchmark.add(problem_of(fmt::format("p{}", i),
                             module_source(fmt::format("form {}", i),
                                           fmt::format("torch.clamp(x, {}, {})", i, i + 40))),
                  nullptr);
  const std::string body =
      "torch.sqrt(torch.abs(x.cumsum(1) - x.flip(0)) + 1e-3).masked_fill(x > 0.25, 3.5)";
  benchmark.add(problem_of("odd", module_source("odd one", body)), nullptr);
  benchmark.finish();
  const auto match = [&](const Sample& sample) { return benchmark.match(sample); };
  auto found = match(sample_of("x", module_source("mine", "torch.clamp(x, 3, 43)"), "int y;"));
  ASSERT_TRUE(found);
  EXPECT_EQ(found->rule, Benchmark::Rule::kSource);
  EXPECT_EQ(found->problem, "p3");
  EXPECT_FALSE(match(sample_of("x", module_source("mine", "torch.clamp(x, 3, 44)"), "int y;")));
  EXPECT_FALSE(match(sample_of("x", module_source("mine", "torch.sigmoid(x)"), "int y;")));
  found = match(sample_of("x", module_source("mine", body + " + 1"), "int y;"));
  ASSERT_TRUE(found);
  EXPECT_EQ(found->rule, Benchmark::Rule::kShingles);
  EXPECT_EQ(found->problem, "odd");
  EXPECT_GT(found->overlap, 0.7);
  Sample chat;  // quoted in a conversation
  chat.messages = {{"user", "Is this right?\n```python\n" + module_source("q", body) + "```"},
                   {"assistant", "Yes."}};
  EXPECT_TRUE(match(chat));
  Benchmark graphs(0.5);
  writer::Graph graph;
  graph.inputs = {{"x", writer::InputRole::kInput, {tensor::DType::kFloat32, {8}}}};
  graph.outputs = {writer::ValueId::input(0)};
  graphs.add(problem_of("same", module_source("s", "x")), &graph);
  graphs.finish();
  Sample labelled = sample_of("x", module_source("mine", "torch.clone(x)"), "int y;");
  EXPECT_FALSE(graphs.match(labelled));
  labelled.labels.graph = graph_digest(graph);
  ASSERT_TRUE(graphs.match(labelled));
  EXPECT_EQ(graphs.match(labelled)->rule, Benchmark::Rule::kGraph);
}

TEST_F(CutTest, PartsShareNoGroupAndTrainShowsNoHeldOutAdjacency) {
  std::vector<Sample> samples;
  for (int i = 0; i < 600; ++i) {
    Sample sample = sample_of(fmt::format("s{}", i), module_source("m", fmt::format("x + {}", i)),
                              fmt::format("int y{};", i));
    sample.group = fmt::format("g{}", i / 2);
    sample.labels.operators = {fmt::format("a{}", i % 20), fmt::format("b{}", i % 13), "out"};
    if (i % 3 == 0) sample.labels.edges = std::vector<std::pair<int, int>>{{0, 2}, {1, 2}};
    sample.labels.depth = i % 10 == 0 ? 9 : 3;
    samples.push_back(std::move(sample));
  }
  const std::string in = write("in.jsonl", samples);
  SplitOptions options;
  options.validation = options.test = 0.1;
  options.adjacencies = 0.1;
  options.deeper_than = 8;
  std::filesystem::create_directory(path("split"));
  auto report = split_dataset(in, path("split"), options);
  ASSERT_TRUE(report) << report.error().message();
  ASSERT_FALSE(report->held_out.empty());
  const std::set<std::string> train = [&] {
    auto names = names_in("split/train.jsonl");
    return std::set<std::string>(names.begin(), names.end());
  }();
  std::map<std::string, std::set<Part>> parts;
  std::size_t all = 0;
  for (std::size_t i = 0; i < kParts; ++i) {
    const Part part = static_cast<Part>(i);
    if (part == Part::kUnlabelled) continue;
    EXPECT_GT(report->samples[i], 0U) << to_string(part);
    all += report->samples[i];
    EXPECT_TRUE(for_each_sample(path("split/" + std::string(to_string(part)) + ".jsonl"),
                                [&](const Sample& sample, std::string_view) {
                                  parts[sample.group].insert(part);
                                  for (const Adjacency& pair : adjacencies_of(sample.labels))
                                    EXPECT_FALSE(part == Part::kTrain &&
                                                 report->held_out.contains(pair));
                                  EXPECT_FALSE(part == Part::kTrain && *sample.labels.depth > 8);
                                  return Status();
                                }));
  }
  EXPECT_EQ(all, 600U);
  for (const auto& [group, in_parts] : parts) EXPECT_EQ(in_parts.size(), 1U) << group;
  EXPECT_THAT(adjacencies_of(samples[0].labels),
              ElementsAre(Adjacency("a0", "out"), Adjacency("b0", "out")));
  // A pair that is in too many samples is not chosen.
  for (const auto& [pair, count] : report->held_out) EXPECT_LE(count, 600 * 0.02);
  EXPECT_FALSE(std::filesystem::exists(path("split/unlabelled.jsonl")));
  // The same seed, other order: the same parts.
  std::reverse(samples.begin(), samples.end());
  std::filesystem::create_directory(path("again"));
  ASSERT_TRUE(split_dataset(write("reversed.jsonl", samples), path("again"), options));
  const auto reversed = names_in("again/train.jsonl");
  EXPECT_EQ(std::set<std::string>(reversed.begin(), reversed.end()), train);
}

TEST_F(CutTest, GroupsWithoutOperatorsAreSetAsideOrToldApart) {
  std::vector<Sample> samples;
  for (int i = 0; i < 90; ++i) {
    samples.push_back(sample_of(fmt::format("s{}", i), module_source("m", fmt::format("x + {}", i)),
                                fmt::format("int y{};", i)));
    if (i % 3 == 0) samples.back().labels.operators = {"add.Tensor"};
    if (i % 3 == 1) samples.back().group = fmt::format("s{}", i - 1);  // of a problem with labels
  }
  Sample chat;
  chat.messages = {{"user", "Hi"}, {"assistant", "Hello"}};
  samples.push_back(chat);
  const std::string in = write("in.jsonl", samples);
  const auto split = [&](const std::string& name, const SplitOptions& options) {
    std::filesystem::create_directory(path(name));
    return split_dataset(in, path(name), options);
  };
  SplitOptions options;
  options.validation = options.test = 0;
  const auto aside = split("aside", options);
  ASSERT_TRUE(aside) << aside.error().message();
  EXPECT_EQ(aside->unlabelled, 60U);
  EXPECT_EQ(aside->samples[static_cast<std::size_t>(Part::kUnlabelled)], 30U);
  for (const std::string& name : names_in("aside/unlabelled.jsonl"))
    EXPECT_EQ(std::stoi(name.substr(1)) % 3, 2);
  EXPECT_EQ(aside->samples[0], 61U) << "the chat has nothing to hold out";
  options.unlabelled = Unlabelled::kLikeOthers;
  EXPECT_EQ(split("like", options)->samples[0], 91U);
  options.unlabelled = Unlabelled::kRefused;
  const auto refused = split("refused", options);
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().message(), HasSubstr("30 of 61 groups name no operators"));
  EXPECT_THAT(refused.error().message(), HasSubstr("import --trace"));
  options.adjacencies = 0;
  EXPECT_EQ(split("none", options)->samples[0], 91U) << "nothing is held out";
  write("in.jsonl", {samples[2], samples[5]});
  SplitOptions usual;
  EXPECT_FALSE(split("alone", usual)) << "a train part without samples is no split";
}

TEST_F(CutTest, EmptyAndBrokenDataSetsAreNamed) {
  std::ofstream(path("empty.jsonl")) << "";
  std::ofstream(path("broken.jsonl"))
      << to_line(sample_of("a", module_source("m", "x"), "int y;")) << "\n{\"kind\": 1}\n";
  std::filesystem::create_directory(path("split"));
  const auto empty = split_dataset(path("empty.jsonl"), path("split"), {});
  ASSERT_FALSE(empty);
  EXPECT_THAT(empty.error().message(), HasSubstr("empty.jsonl: no samples"));
  const auto broken = split_dataset(path("broken.jsonl"), path("split"), {});
  ASSERT_FALSE(broken);
  EXPECT_THAT(broken.error().message(), HasSubstr("broken.jsonl:2: "));
  EXPECT_TRUE(std::filesystem::is_empty(path("split")));
}

TEST(Stats, CountsASampleOnceInEachOfItsOperators) {
  StatsCollector collector;
  Sample sample = sample_of("a", module_source("m", "x"), "int x;");
  sample.labels.operators = {"add.Tensor", "mul.Tensor", "add.Tensor"};
  sample.origin = {{"dataset", "book"}, {"licences", {"MIT", "Apache-2.0"}}};
  collector.add(sample);
  sample.messages.pop_back();
  sample.labels.tier = 3;
  collector.add(sample);
  const Json stats = to_json(collector.finish());
  EXPECT_EQ(stats["samples"], 2);
  EXPECT_EQ(stats["answered"], 1);
  EXPECT_EQ(stats["groups"], 1);
  EXPECT_EQ(stats["operators"]["add.Tensor"], 2);
  EXPECT_EQ(stats["licences"].dump(), R"({"Apache-2.0":2,"MIT":2})");
  EXPECT_EQ(stats["tiers"]["3"], 1);
  EXPECT_EQ(stats["question_bytes"]["total"], 2 * std::string("Rewrite it.").size());
  EXPECT_EQ(stats["answer_bytes"]["longest"], std::string("```cpp\nint x;\n```").size());
}

}  // namespace
}  // namespace kw::data
