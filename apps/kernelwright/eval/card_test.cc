// Cards as people read them.
#include "kernelwright/eval/card.h"

#include "kernelwright/testing/fakes.h"

namespace kw::front {
namespace {

task::Verdict verdict(task::Outcome outcome) {
  gym::EvalRequest request;
  request.problem.name = "relu";
  request.candidate.name = "fast_relu";
  request.problem.workloads.resize(1);
  request.problem.workloads[0].uuid = "0123456789abcdef";
  task::Verdict out = fake_verdict(request, outcome);
  out.cost = {412, 20, 0, 180, 2100, 2712};
  return out;
}

TEST(Card, Passed) {
  task::Verdict v = verdict(task::Outcome::kPassed);
  v.workloads[0].errors = {{"y", 1e-6, 2e-6, 0.25, 10}};
  EXPECT_EQ(card(v, false), R"(fast_relu  passed  2x (1.9 to 2.1)  relu, cpp, cpu
  time       1.5 ms, torch 3 ms (2 pairs)
  error      y: 0.25 of the budget, max abs 1e-06, max rel 2e-06
  compat     KernelBench correct 1.5 ms, FlashInfer-Bench PASSED
  cost       compile 412 ms, load 20 ms, check 180 ms, time 2.1 s, total 2.71 s

)");
}

TEST(Card, ABorderlinePassSaysSo) {
  task::Verdict v = verdict(task::Outcome::kPassed);
  v.workloads[0].borderline = task::Borderline{1.03, {0.97, 1.02}};
  v.workloads[0].diagnostics = {{"borderline", "two further draws decided"}, {"log", "noise"}};
  const std::string text = card(v, false);
  EXPECT_NE(text.find("fast_relu  passed, borderline: paid as wrong  "), std::string::npos) << text;
  EXPECT_NE(text.find("  borderline two further draws decided\n"), std::string::npos) << text;
  EXPECT_EQ(text.find("noise"), std::string::npos) << text;
}

TEST(Card, AGpusFactsAreRows) {
  task::Verdict v = verdict(task::Outcome::kPassed);
  task::GpuFacts facts;
  facts.call = task::GpuCall{{{"relu_kernel", task::KernelOrigin::kOwn, 1, 1.2, 24, 0, 0, 256, 1},
                              {"kw_fill", task::KernelOrigin::kMover, 1, 0.3, 8, 0, 0, 256, 1}},
                             0,
                             0};
  facts.candidate_bytes = 1 << 20;
  facts.baseline_bytes = 2 << 20;
  facts.roofline = task::GpuRoofline{3'000'000'000, 0, 4e12, 0, ""};
  v.workloads[0].gpu = facts;
  v.workloads[0].times = task::Times{1.5, 3, {}, {}};
  v.coverage = task::Coverage{0.8, 0.5};
  const std::string text = card(v, false);
  EXPECT_NE(text.find(R"(  gpu        a context of its own
  kernels    relu_kernel (1.2 ms, 24 registers, occupancy 100 %)
             kw_fill (300 us, 8 registers, occupancy 100 %)
  roofline   50 % of what the memory allows (750 us)
  memory     1.0 MiB, the baseline 2.0 MiB
  coverage   its own kernels take 80 % of the time
)"),
            std::string::npos)
      << text;
}

TEST(Card, NamesAClockThatIsNotTheWalls) {
  task::Verdict v = verdict(task::Outcome::kPassed);
  v.clock = task::Clock::kWall;
  EXPECT_EQ(card(v, false).find("processor"), std::string::npos);
  v.clock = task::Clock::kProcessor;
  EXPECT_NE(card(v, false).find("(2 pairs, processor time, as other programs use the machine)\n"),
            std::string::npos);
}

TEST(Card, FailureShowsTheLinesThatMatter) {
  task::Verdict v = verdict(task::Outcome::kCompileError);
  std::string log;
  for (int i = 0; i < 40; ++i) log += fmt::format("main.cpp:{}: error: x\n", i);
  v.diagnostics = {{"compiler", log}, {"hint", "\x1b[2Jfix it"}};
  std::string text = card(v, false);
  EXPECT_NE(text.find("fast_relu  compile_error  relu, cpp, cpu\n"), std::string::npos);
  EXPECT_NE(text.find("  compiler   main.cpp:0: error: x\n             main.cpp:1: error: x\n"),
            std::string::npos);
  EXPECT_NE(text.find("... 28 more lines"), std::string::npos);
  EXPECT_EQ(text.find("main.cpp:12:"), std::string::npos);
  EXPECT_EQ(text.find('\x1b'), std::string::npos) << "untrusted text cannot drive the terminal";
}

TEST(Card, ViolationAndWorstWorkload) {
  task::Verdict v = verdict(task::Outcome::kViolation);
  v.violation = "input_write";
  v.workloads.push_back(v.workloads[0]);
  v.workloads[1].uuid = "ffffffffffff";
  v.workloads[1].violation = "input_write";
  v.workloads[0].errors = {{"y", 1, 1, 3, 1}};
  v.workloads[1].errors = {{"y", 1, 1, std::nan(""), 1}};
  v.workloads[1].diagnostics = {{"hint", "use an out-of-place operator"}};
  std::string text = card(v, false);
  EXPECT_NE(text.find("violation: input_write"), std::string::npos);
  EXPECT_NE(text.find("infinitely over the budget"), std::string::npos);
  EXPECT_NE(text.find("workload ffffffff\n"), std::string::npos);
  EXPECT_NE(text.find("use an out-of-place operator"), std::string::npos);
}

TEST(Card, RisksOfAllWorkloadsStandOnce) {
  task::Verdict v = verdict(task::Outcome::kPassed);
  v.workloads.push_back(v.workloads[0]);
  v.workloads[0].diagnostics = {{"risk", "of both"}, {"log", "no risk"}};
  v.workloads[1].diagnostics = {{"risk", "of both"}, {"risk", "of one"}};
  const std::string text = card(v, false);
  EXPECT_NE(text.find("of one"), std::string::npos);
  EXPECT_EQ(text.find("no risk"), std::string::npos);
  const std::size_t first = text.find("of both");
  ASSERT_NE(first, std::string::npos);
  EXPECT_EQ(text.find("of both", first + 1), std::string::npos) << text;
}

TEST(Card, NoErrorOfOutputsThatWereNeverCompared) {
  task::Verdict v = verdict(task::Outcome::kRuntimeError);
  v.workloads[0].errors = {{"y", 0, 0, 0, 0}};
  EXPECT_EQ(card(v, false).find("budget"), std::string::npos) << card(v, false);
}

TEST(Card, ColourOnlyWhereAskedFor) {
  EXPECT_NE(card(verdict(task::Outcome::kPassed), true).find("\x1b[1;32mpassed"),
            std::string::npos);
  EXPECT_NE(card(verdict(task::Outcome::kNoisy), true).find("\x1b[1;33mnoisy"), std::string::npos);
  EXPECT_NE(card(verdict(task::Outcome::kTimeout), true).find("\x1b[1;31mtimeout"),
            std::string::npos);
  EXPECT_EQ(card(verdict(task::Outcome::kPassed), false).find('\x1b'), std::string::npos);
}

}  // namespace
}  // namespace kw::front
