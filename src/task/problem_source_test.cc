// Tests of the front door for problems: every form, selection, settings, bad input.
#include "task/problem_source.h"

#include <filesystem>

#include <gtest/gtest.h>

#include "task/testing/golden.h"
#include "task/workload_json.h"

namespace kw::task {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

std::vector<std::string> names(const Result<std::vector<Problem>>& problems) {
  EXPECT_TRUE(problems) << message_of(problems);
  std::vector<std::string> out;
  if (problems) {
    for (const Problem& problem : *problems) out.push_back(problem.name);
  }
  return out;
}

std::string row(int level, int id, const std::string& name) {
  return Json(
             {{"code", golden("19_ReLU.py")}, {"level", level}, {"name", name}, {"problem_id", id}})
             .dump() +
         "\n";
}

TEST(ProblemSource, NativeFolder) {
  TestFolder folder;
  folder.write("suite/softmax/definition.json", golden("definition.json"));
  folder.write("suite/softmax/workloads.jsonl", golden("workloads.jsonl"));
  folder.write("suite/softmax/policy.toml", golden("policy.toml"));
  folder.write("suite/other/19_ReLU.py", golden("19_ReLU.py"));
  Problem problem = load_problem((folder.path() / "suite/softmax").string(), {}).value();
  EXPECT_EQ(problem.name, "softmax_topk");
  EXPECT_EQ(problem.workloads.size(), 2U);
  EXPECT_EQ(problem.policy.family, "softmax");
  EXPECT_EQ(problem.root, folder.path() / "suite/softmax");
  EXPECT_EQ(problem.hash, problem_hash(problem));
  EXPECT_EQ(load_problem((folder.path() / "suite/softmax/definition.json").string(), {})->hash,
            problem.hash);
  folder.write("suite/.venv/site.py", "not a problem");  // hidden folders hold no problems
  EXPECT_THAT(names(load_problems((folder.path() / "suite").string(), {})),
              testing::ElementsAre("softmax_topk", "19_ReLU"));
  EXPECT_THAT(names(load_problems((folder.path() / "suite#19_ReLU").string(), {})),
              testing::ElementsAre("19_ReLU"));
  EXPECT_THAT(
      message_of(load_problem((folder.path() / "suite#19_Relu").string(), {})),
      HasSubstr(
          "no problem \"19_Relu\" (did you mean \"19_ReLU\"?); it has softmax_topk, 19_ReLU"));
  EXPECT_THAT(message_of(load_problem((folder.path() / "suite").string(), {})),
              HasSubstr("expected one problem, found 2; pick one"));
  folder.write("suite/softmax/policy.toml", "schema = 1\nstatic = ['z']\n");
  EXPECT_THAT(message_of(load_problem((folder.path() / "suite/softmax").string(), {})),
              HasSubstr("policy.toml: static: \"z\" is not"));
}

TEST(ProblemSource, DefinitionsWithWorkloadsBesideThem) {
  TestFolder folder;
  const auto file = folder.write("some/softmax.json", golden("definition.json"));
  folder.write("some/softmax.jsonl", golden("workloads.jsonl"));
  folder.write("some/solution.json", "{}");
  EXPECT_EQ(load_problem(file.string(), {}).value().workloads.size(), 2U);
  EXPECT_THAT(names(load_problems((folder.path() / "some").string(), {})),
              testing::ElementsAre("softmax_topk"));
}

// A KernelBench run's folder may hold both.
TEST(ProblemSource, SamplesOfARunAreNoProblems) {
  TestFolder folder;
  folder.write("7_Add.py", golden("19_ReLU.py"));
  folder.write("level_1_problem_7_sample_0_kernel.py", "class ModelNew: pass");
  EXPECT_THAT(names(load_problems(folder.path().string(), {})), testing::ElementsAre("7_Add"));
}

TEST(ProblemSource, FormsThatAreRefusedByName) {
  TestFolder folder;
  folder.write("tasks/scale/task.yml", "lang: py");
  const auto reference = folder.write("tasks/scale/reference.py", "def ref_kernel(data): pass");
  folder.write("tasks/scale/submission.py", "def custom_kernel(data): pass");
  folder.write("tasks/19_ReLU.py", golden("19_ReLU.py"));
  const fs::path task = reference.parent_path();
  for (const fs::path& path : {task, reference, task / "task.yml"})
    EXPECT_THAT(message_of(load_problem(path.string(), {})),
                HasSubstr("scale/task.yml: a task of GPU MODE"));
  const auto all = load_each_problem((folder.path() / "tasks").string(), {}).value();
  ASSERT_EQ(all.size(), 2U);
  EXPECT_EQ(all[0].name, "19_ReLU");
  EXPECT_EQ(all[1].name, "scale");
  EXPECT_EQ(all[1].problem.error().code(), ErrorCode::kUnsupported);
  const auto rows = folder.write("level_1.parquet", "PAR1");
  EXPECT_THAT(message_of(load_problem(rows.string(), {})),
              HasSubstr("level_1.jsonl', orient='records', lines=True)"));
  EXPECT_THAT(message_of(load_problem(rows.string() + "#1/19", {})), HasSubstr("Parquet"));
}

TEST(ProblemSource, DataSetAndBareDefinition) {
  TestFolder folder;
  auto with_op = folder.write("a/definitions/softmax/softmax_topk.json", golden("definition.json"));
  folder.write("a/workloads/softmax/softmax_topk.jsonl", golden("workloads.jsonl"));
  folder.write("a/solutions/x.json", "{}");
  auto without_op = folder.write("b/definitions/softmax_topk.json", golden("definition.json"));
  folder.write("b/workloads/softmax_topk.jsonl", golden("workloads.jsonl"));
  auto beside = folder.write("c/d.json", golden("definition.json"));
  folder.write("c/workloads/softmax/softmax_topk.jsonl", golden("workloads.jsonl"));
  folder.write("c/d.policy.toml", "schema = 1\nfamily = 'softmax'\n");
  EXPECT_THAT(names(load_problems((folder.path() / "a").string(), {})),
              testing::ElementsAre("softmax_topk"));
  EXPECT_THAT(names(load_problems((folder.path() / "a#softmax_topk").string(), {})),
              testing::ElementsAre("softmax_topk"));
  EXPECT_EQ(load_problem(with_op.string(), {})->root, folder.path() / "a");
  EXPECT_EQ(load_problem(without_op.string(), {})->root, folder.path() / "b");
  EXPECT_EQ(load_problem(beside.string(), {})->policy.family, "softmax");
  auto alone = folder.write("d/e/f/g/h/lonely.json", golden("definition.json"));
  EXPECT_THAT(message_of(load_problem(alone.string(), {})),
              HasSubstr("no workloads: looked for lonely.jsonl beside it, and for "
                        "workloads/softmax/softmax_topk.jsonl"));
}

TEST(ProblemSource, WorkloadsAreFoundByTheDefinitionThatTheyName) {
  TestFolder folder;
  auto file = folder.write("definitions/softmax/s.json", golden("definition.json"));
  const std::string other =
      R"({"definition": "other", "solution": null, "workload": {}, "evaluation": null})";
  folder.write("workloads/by_model/a.jsonl", other + "\n" + golden("workloads.jsonl"));
  folder.write("workloads/by_model/b.jsonl", other + "\n");
  auto problem = load_problem(file.string(), {});
  ASSERT_TRUE(problem) << message_of(problem);
  EXPECT_EQ(problem->workloads.size(), 2U);
  EXPECT_EQ(problem->root, folder.path());
}

TEST(ProblemSource, KernelBenchFilesAndFolders) {
  TestFolder folder;
  auto file = folder.write("level1/19_ReLU.py", golden("19_ReLU.py"));
  folder.write("level1/2_Other.py", golden("19_ReLU.py"));
  folder.write("level2/1_First.py", golden("19_ReLU.py"));
  Problem problem = load_problem(file.string(), {}).value();
  EXPECT_TRUE(problem.is_module());
  EXPECT_EQ(problem.name, "19_ReLU");
  EXPECT_EQ(problem.module().level, 1);
  EXPECT_EQ(problem.module().problem_id, 19);
  EXPECT_EQ(problem.workloads[0].uuid, "module");
  EXPECT_THAT(names(load_problems(folder.path().string(), {})),
              testing::ElementsAre("2_Other", "19_ReLU", "1_First"));
  EXPECT_EQ(load_problem(folder.path().string() + "#2/1", {})->name, "1_First");
  folder.write("level1/19_ReLU.policy.toml", "schema = 1\nstate = 'checked'\n");
  Problem checked = load_problem(file.string(), {}).value();
  EXPECT_TRUE(checked.policy.state_checked);
  EXPECT_NE(checked.hash, problem.hash);
  folder.write("level1/19_ReLU.policy.toml", "schema = 1\nstatic = ['w']\n");
  EXPECT_THAT(message_of(load_problem(file.string(), {})),
              HasSubstr("static: a module's statics are"));
}

// A folder has workload.jsonl, a reference and solutions beside the definition; a row has objects
// in strings.
TEST(ProblemSource, SolExecBenchsFoldersAndRows) {
  TestFolder folder;
  folder.write("set/softmax/definition.json", golden("definition.json"));
  folder.write("set/softmax/workload.jsonl", golden("workloads.jsonl"));
  folder.write("set/softmax/reference.py", "def run(x): pass\n");
  folder.write("set/softmax/solution_python.json", "{}");
  auto of_set = load_problems((folder.path() / "set").string(), {});
  EXPECT_THAT(names(of_set), testing::ElementsAre("softmax_topk"));
  const std::string alone = (folder.path() / "set/softmax/definition.json").string();
  EXPECT_EQ(load_problem(alone, {})->hash, (*of_set)[0].hash);

  Json row = json_of(golden("definition.json"));
  for (const char* key : {"axes", "inputs", "outputs"}) row[key] = row[key].dump();
  Json workloads = Json::array();
  for (const Workload& workload : (*of_set)[0].workloads) workloads.push_back(to_json(workload));
  row["workloads"] = workloads.dump();
  row["custom_inputs_entrypoint"] = nullptr;
  row["split"] = "L1";
  folder.write("rows.jsonl", row.dump() + "\n");
  const std::string rows = (folder.path() / "rows.jsonl").string();
  EXPECT_EQ(load_problem(rows + "#softmax_topk", {})->hash, (*of_set)[0].hash);
  row["axes"] = "{";
  folder.write("rows.jsonl", row.dump() + "\n");
  EXPECT_THAT(message_of(load_problem(rows, {})), HasSubstr("rows.jsonl:1: axes: "));
  row.erase("axes");
  folder.write("rows.jsonl", row.dump() + "\n");
  EXPECT_THAT(message_of(load_problem(rows, {})), HasSubstr("axes: missing"));
}

TEST(ProblemSource, RowsByNameAndNumber) {
  TestFolder folder;
  auto file = folder.write(
      "data.jsonl", row(1, 19, "19_ReLU") + row(1, 20, "20_LeakyReLU") + row(2, 19, "19_Fused"));
  EXPECT_THAT(names(load_problems(file.string(), {})),
              testing::ElementsAre("19_ReLU", "20_LeakyReLU", "19_Fused"));
  Problem picked = load_problem(file.string() + "#2/19", {}).value();
  EXPECT_EQ(picked.name, "19_Fused");
  EXPECT_EQ(picked.module().level, 2);
  EXPECT_EQ(load_problem(file.string() + "#20_LeakyReLU", {})->module().problem_id, 20);
  EXPECT_EQ(load_problem(file.string() + "#1/19", {})->hash, picked.hash)
      << "level and name are not part of what is judged";
  EXPECT_THAT(message_of(load_problem(file.string() + "#19_Relu", {})),
              HasSubstr("(did you mean \"19_ReLU\"?); it has 19_ReLU, 20_LeakyReLU"));
  std::string source = golden("19_ReLU.py");
  source.replace(source.find("class Model("), 12, "class Gate(");
  auto book = folder.write(
      "book.jsonl",
      Json({{"python_code", source}, {"entry_point", "Gate"}, {"uuid", 7}, {"triton_code", "x"}})
          .dump());
  Problem gate = load_problem(book.string() + "#Gate", {}).value();
  EXPECT_EQ(gate.name, "Gate_7");
  EXPECT_EQ(gate.module().entry_point, "Gate");
  EXPECT_EQ(load_problem(book.string() + "#Gate_7", {})->name, "Gate_7");
}

TEST(ProblemSource, RowsAreChecked) {
  TestFolder folder;
  Json good = json_of(row(1, 19, "19_ReLU"));
  auto problem = [&](const Json& line) {
    return message_of(load_problems(folder.write("x.jsonl", "\n" + line.dump()).string(), {}));
  };
  EXPECT_THAT(problem(with(good, "/code", nullptr)),
              HasSubstr("x.jsonl:2: expected a column \"code\" (KernelBench) or \"python_code\""));
  EXPECT_THAT(problem(with(good, "/code", 3)), HasSubstr("x.jsonl:2: code: expected a string"));
  EXPECT_THAT(problem(with(good, "/code", "class Model: pass")),
              HasSubstr("19_ReLU: the problem does not define get_inputs at top level"));
  EXPECT_THAT(problem(with(good, "/name", nullptr)), HasSubstr("name: missing"));
  EXPECT_THAT(problem(with(good, "/name", "../x")), HasSubstr("name: \"../x\" cannot be a name"));
  EXPECT_THAT(problem(with(good, "/level", "1")), HasSubstr("level: expected an integer"));
  EXPECT_THAT(problem(with(good, "/problem_id", -1)), HasSubstr("expected at least 0"));
  EXPECT_THAT(problem({{"python_code", golden("19_ReLU.py")}}), HasSubstr("entry_point: missing"));
  EXPECT_THAT(problem({{"python_code", "x"}, {"entry_point", "a b"}}),
              HasSubstr("is not a class name"));
  EXPECT_THAT(problem({{"python_code", golden("19_ReLU.py")}, {"entry_point", "Gate"}}),
              HasSubstr("does not define Gate"));
  EXPECT_THAT(problem(Json::array()), HasSubstr("x.jsonl:2: document: expected an object"));
}

std::vector<std::string> outcomes(const Result<std::vector<LoadedProblem>>& all) {
  EXPECT_TRUE(all) << message_of(all);
  std::vector<std::string> out;
  if (!all) return out;
  for (const LoadedProblem& one : *all)
    out.push_back(one.name + (one.problem ? "" : ": " + one.problem.error().message()));
  return out;
}

TEST(ProblemSource, AmongManyABrokenOneIsAnEntry) {
  TestFolder folder;
  folder.write("level1/19_ReLU.py", golden("19_ReLU.py"));
  folder.write("level1/20_Cut.py", "class Model: pass");
  folder.write("softmax/definition.json", "{");
  folder.write("softmax/workloads.jsonl", golden("workloads.jsonl"));
  std::string all = folder.path().string();
  EXPECT_THAT(
      outcomes(load_each_problem(all, {})),
      testing::ElementsAre(HasSubstr("softmax: " + all + "/softmax/definition.json: "), "19_ReLU",
                           "20_Cut: " + all +
                               "/level1/20_Cut.py: the problem does not define get_inputs "
                               "at top level"));
  EXPECT_THAT(message_of(load_problems(all, {})), HasSubstr("softmax/definition.json: "))
      << "the first of them fails the strict call";
  EXPECT_THAT(message_of(load_each_problem(all, {{"none", "1"}})),
              HasSubstr("--set none: none of"));
  EXPECT_THAT(message_of(load_each_problem(all + "/level1/20_Cut.py", {})),
              HasSubstr("20_Cut.py: the problem does not define"))
      << "one is not many";
  auto file = folder.write("rows.jsonl", row(1, 19, "19_ReLU") + "{\n\n" +
                                             Json({{"code", "x"}, {"name", "3_X"}}).dump() + "\n" +
                                             row(1, 20, "20_Other"));
  auto rows = load_each_problem(file.string(), {});
  EXPECT_THAT(outcomes(rows),
              testing::ElementsAre("19_ReLU", HasSubstr("line 2: " + file.string() + ":2: "),
                                   HasSubstr("3_X: " + file.string() + ":4: 3_X: the problem does"),
                                   "20_Other"));
  EXPECT_EQ((*rows)[3].origin, file.string() + ":5");
  EXPECT_THAT(message_of(load_problems(file.string(), {})), HasSubstr("rows.jsonl:2: "));
  EXPECT_THAT(message_of(load_each_problem(file.string() + "#20_Other", {})),
              HasSubstr("rows.jsonl:2: "))
      << "it may be the one that is meant";
}

TEST(ProblemSource, SettingsReachDerivedConstantsAndTheHash) {
  TestFolder folder;
  auto file = folder.write("19_ReLU.py", golden("19_ReLU.py"));
  Problem plain = load_problem(file.string(), {}).value();
  Problem small = load_problem(file.string(), {{"batch_size", "16"}}).value();
  EXPECT_NE(small.hash, plain.hash);
  EXPECT_THAT(small.module().source, HasSubstr("batch_size = 16\ndim = batch_size\n"));
  EXPECT_EQ(small.module().settings, (Settings{{"batch_size", "16"}}));
  EXPECT_THAT(message_of(load_problem(file.string(), {{"dims", "16"}})),
              HasSubstr("--set dims: the problem has no such constant; it has batch_size, dim"));
  std::string other = golden("19_ReLU.py");
  other.replace(other.find("dim = batch_size"), 16, "extra = 3        ");
  folder.write("20_Other.py", other);
  auto both = load_problems(folder.path().string(), {{"batch_size", "16"}, {"extra", "4"}});
  ASSERT_TRUE(both) << message_of(both);
  EXPECT_EQ((*both)[0].module().settings.size(), 1U);
  EXPECT_EQ((*both)[1].module().settings.size(), 2U);
  EXPECT_EQ(message_of(load_problems(folder.path().string(), {{"none", "1"}})),
            "--set none: none of the problems has such a constant");
  folder.write("p/definition.json", golden("definition.json"));
  folder.write("p/workloads.jsonl", golden("workloads.jsonl"));
  EXPECT_THAT(message_of(load_problem((folder.path() / "p").string(), {{"rows", "1"}})),
              HasSubstr("--set rows: a definition has no constants"));
}

TEST(ProblemSource, BadInputIsNamed) {
  TestFolder folder;
  auto problem = [&](const std::string& name, std::string_view content) {
    return message_of(load_problems(folder.write(name, content).string(), {}));
  };
  EXPECT_THAT(message_of(load_problems((folder.path() / "gone.json").string(), {})),
              HasSubstr("gone.json: no such file or folder"));
  EXPECT_THAT(message_of(load_problems("", {})), HasSubstr("no such file or folder"));
  EXPECT_THAT(message_of(load_problems(folder.path().string(), {})),
              HasSubstr("no problems in it"));
  EXPECT_THAT(problem("a.txt", "x"), HasSubstr("a.txt: not a problem; expected"));
  std::string bomb(200, '[');
  for (const char* name : {"e.json", "e.py", "e.jsonl"}) {
    EXPECT_THAT(problem(name, ""), HasSubstr(std::string(name) + ": the file is empty"));
    EXPECT_THAT(problem(name, " \n"), HasSubstr("nothing but white space"));
    EXPECT_THAT(problem(name, "\"\xff\""), HasSubstr("not UTF-8 text"));
  }
  for (const char* name : {"f.json", "f.jsonl"}) {
    EXPECT_THAT(problem(name, R"({"name": "x")"), HasSubstr("not valid JSON"));
    EXPECT_THAT(problem(name, bomb), HasSubstr("nested deeper than 64 levels"));
    EXPECT_THAT(problem(name, R"({"name": 1, "name": 2})"),
                HasSubstr("key \"name\" is given twice"));
  }
  EXPECT_THAT(problem("g.py", "def run(): pass"),
              HasSubstr("g.py: the problem does not define Model at top level"));
  EXPECT_THAT(problem("h.json", std::string((2U << 20U) + 1, ' ')),
              HasSubstr("more than the 2.0 MiB that are read"));
  Json fractional = with(json_of(golden("definition.json")), "/axes/columns/value", 2.5);
  EXPECT_THAT(problem("p/definition.json", fractional.dump()),
              HasSubstr("p/definition.json: axes.columns.value: expected an integer, found 2.5"));
}

}  // namespace
}  // namespace kw::task
