// Triton candidates recorded in real sandboxes as launch plans: no GPU is needed. Skipped where
// Triton is not installed.
#include <algorithm>
#include <cstdlib>
#include <memory>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "gym/cuda/plan_file.h"
#include "gym/supervisor/candidate_builder.h"
#include "gym/supervisor/testing/fake_session.h"
#include "task/candidate_source.h"
#include "task/resolved_plan.h"

namespace kw::gym {
namespace {

using ::testing::HasSubstr;

constexpr int kHopper = 90;
constexpr const char* kLine = R"(import torch
import triton
import triton.language as tl

@triton.jit
def line(x, y, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y + at, tl.load(x + at, mask=at < n) * 3 + 1, mask=at < n)

def run(x):
)";

// The session is opened over fakes; the recorder is real.
class TritonRecordTest : public ::testing::Test {
 protected:
  static void SetUpTestSuite() { shop_ = std::make_unique<Shop>(); }
  static void TearDownTestSuite() { shop_.reset(); }
  void SetUp() override {
    session_ = sessions_.open().value();
    const std::vector<std::string> languages = shop_->builder.languages();
    if (std::ranges::find(languages, "triton") != languages.end()) return;
    ASSERT_EQ(std::getenv("KW_REQUIRE_TRITON"), nullptr) << "triton is not installed";
    GTEST_SKIP() << "triton is not installed";
  }
  // body: the lines of run(x).
  HostBuild record(const std::string& body) { return record_source(kLine + body, {}); }
  HostBuild record_source(const std::string& source, const std::vector<std::int64_t>& choices) {
    auto candidate = task::candidate_from_source("k.py", source).value();
    EXPECT_EQ(candidate.language, task::Language::kTriton);
    auto built = shop_->builder.record(candidate, *session_, kHopper, choices);
    if (built) return std::move(*built);
    ADD_FAILURE() << built.error().message();
    return {};
  }

  // One for all tests: a zygote takes seconds to start.
  struct Shop {
    static GymOptions options() {
      GymOptions out;
      out.programs_folder = KW_BINARY_DIR "/bin";
      return out;
    }
    os::TempDir folder = os::TempDir::make("kw-record-").value();
    Programs programs = find_programs(options()).value();
    std::unique_ptr<Launchers> launchers =
        Launchers::start(programs, sandbox::Level::kNone).value();
    Roles roles{*launchers, programs};
    HostLease lease{TimingLock::open().value(), *launchers, nullptr};
    CandidateBuilder builder{programs, roles, lease, folder.path() / "builds"};
  };
  static std::unique_ptr<Shop> shop_;
  testing::FakeSessions sessions_;
  std::unique_ptr<ProblemSession> session_;
};

std::unique_ptr<TritonRecordTest::Shop> TritonRecordTest::shop_;

TEST_F(TritonRecordTest, ACallBecomesAPlanThatResolves) {
  constexpr const char* kBody =
      "    y = torch.empty_like(x)\n"
      "    n = x.numel()\n"
      "    line[(triton.cdiv(n, 128),)](x, y, n, BLOCK=128)\n"
      "    return y\n";
  HostBuild built = record(kBody);
  ASSERT_TRUE(built.executable) << built.mistake << built.unsupported;
  EXPECT_NE(built.triton_version, "");
  const std::string file = os::read_to_end(built.executable->plan.get(), 1U << 20U).value();
  const auto contents = read_plan_file(file);
  ASSERT_TRUE(contents) << contents.error().message();
  EXPECT_EQ(contents->plan.triton, built.triton_version);
  const auto plan = task::resolve(contents->plan, session_->signature());
  ASSERT_TRUE(plan) << plan.error().message();
  ASSERT_EQ(plan->steps.size(), 1U);
  const auto& launch = std::get<task::ResolvedLaunch>(plan->steps[0]);
  EXPECT_EQ(launch.grid[0], 2U);
  ASSERT_EQ(launch.arguments.size(), 5U);  // x, y, n and two pointers to scratch
  EXPECT_EQ(std::get<task::ResolvedMemory>(launch.arguments[1]).kind, task::MemoryKind::kOutput);
  EXPECT_TRUE(record(kBody).cached.value_or(false));
}

// Every part of a plan that a recorder writes is one that the reader knows.
TEST_F(TritonRecordTest, ScratchConstantsFillsAndCopiesResolve) {
  HostBuild built = record(
      "    global TABLE, KEPT\n"
      "    if KEPT is None: KEPT = torch.zeros(256, device='cuda')\n"
      "    a, b, y = x.clone(), torch.full((256,), 2.0, device='cuda'), torch.empty_like(x)\n"
      "    line[(2,)](a, b, 256, BLOCK=128)\n"
      "    line[(2,)](TABLE, KEPT, 256, BLOCK=128)\n"
      "    line[(2,)](b.view(16, 16).t().contiguous(), y, 256, BLOCK=128)\n"
      "    return y\n"
      "TABLE, KEPT = torch.ones(256, device='cuda'), None\n");
  ASSERT_TRUE(built.executable) << built.mistake << built.unsupported;
  const std::string file = os::read_to_end(built.executable->plan.get(), 1U << 20U).value();
  const auto contents = read_plan_file(file);
  ASSERT_TRUE(contents) << contents.error().message();
  EXPECT_EQ(contents->constants.size(), 1U);
  const auto plan = task::resolve(contents->plan, session_->signature());
  ASSERT_TRUE(plan) << plan.error().message();
  EXPECT_EQ(plan->scratch.size(), 4U);
  // Memory that an earlier call made as zeros is filled first.
  ASSERT_EQ(plan->steps.size(), 7U);
  EXPECT_TRUE(std::holds_alternative<task::ResolvedFill>(plan->steps[0]));
  EXPECT_TRUE(std::holds_alternative<task::ResolvedCopy>(plan->steps[1]));
  EXPECT_TRUE(std::holds_alternative<task::ResolvedFill>(plan->steps[2]));
  EXPECT_EQ(std::get<task::ResolvedLaunch>(plan->steps[5]).function, "kw_copy");
}

TEST_F(TritonRecordTest, WhatCannotBeReplayedIsNobodysFault) {
  HostBuild built = record("    return x.sum()\n");
  EXPECT_FALSE(built.executable);
  EXPECT_EQ(built.mistake, "");
  EXPECT_THAT(built.unsupported, HasSubstr("aten.sum computes outside of kernels (k.py:11)"));
  built = record("    import ctypes\n    return ctypes.string_at(x.data_ptr(), 1)\n");
  EXPECT_FALSE(built.executable);
  EXPECT_THAT(built.unsupported, ::testing::StartsWith("host code looks into a tensor's memory"));
}

TEST_F(TritonRecordTest, EachConfigurationOfAnAutotunerCanBeRecorded) {
  const std::string source = std::string(kLine) +
                             "    y = torch.empty_like(x)\n"
                             "    tuned[lambda meta: (256 // meta['BLOCK'],)](x, y, x.numel())\n"
                             "    return y\n"
                             "tuned = triton.autotune([triton.Config({'BLOCK': b}) for b in (32, "
                             "64, 100)], key=['n'])(line)\n";
  auto choices = [&](const std::vector<std::int64_t>& asked) {
    const HostBuild built = record_source(source, asked);
    EXPECT_TRUE(built.executable) << built.mistake << built.unsupported;
    const std::string file = os::read_to_end(built.executable->plan.get(), 1U << 20U).value();
    return read_plan_file(file).value().plan.choices;
  };
  const task::PlanChoice by_rule = choices({}).at(0);
  EXPECT_EQ(by_rule.kernel, "line");
  EXPECT_EQ(by_rule.configurations, 3);
  EXPECT_EQ(by_rule.chosen, 0);
  const task::PlanChoice second = choices({1}).at(0);
  EXPECT_EQ(second.chosen, 1);
  EXPECT_THAT(second.text, HasSubstr("BLOCK: 64"));
  // Which cannot be compiled: the rule would take another one.
  EXPECT_FALSE(record_source(source, {2}).executable);
}

TEST_F(TritonRecordTest, AMistakeIsTheCandidates) {
  HostBuild built = record("    y = torch.empty_like(x)\n    line[(2,)](x, y, 256, BLOCK=100)\n");
  EXPECT_FALSE(built.executable);
  EXPECT_EQ(built.unsupported, "");
  EXPECT_THAT(built.mistake, HasSubstr("power of 2"));
}

}  // namespace
}  // namespace kw::gym
