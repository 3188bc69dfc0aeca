// For tests: the parts that a judgement is made of, by themselves. A candidate has started beside
// the baseline of a workload, and nothing has been called.
#pragma once
#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include <gtest/gtest.h>

#include "gym/checker/judged_calls.h"
#include "gym/checker/testing/fake_workload.h"

namespace kw::gym::testing {

struct FakeJudgement {
  // The workload outlives it, and has a baseline.
  FakeJudgement(FakeWorkload& workload, ExecutorScript script)
      : context(workload.context()),
        candidate(workload.candidate(std::move(script))),
        calls(context, *candidate, fault) {
    StartTimes times;
    EXPECT_FALSE(candidate->start(times).value());
  }

  // Calls both sides on one set, whose snapshots stand afterwards; nothing is checked.
  void call(std::uint32_t set, std::optional<std::size_t> hard = {}) {
    const std::array sets = {set};
    ASSERT_TRUE(calls.fill(set, false, hard));
    for (Side* side : {candidate.get(), &context.baseline}) {
      ASSERT_TRUE(calls.launch(*side, sets));
      ASSERT_TRUE(calls.take_snapshot(*side, sets));
    }
  }
  // One call of both sides, checked.
  Status checked_call(std::uint32_t set = 0, bool is_audited = false, bool in_first_block = true) {
    return calls.checked_call(set, is_audited, std::nullopt, in_first_block);
  }
  task::Outcome outcome() const {
    return fault.found() ? fault.get()->outcome : task::Outcome::kPassed;
  }
  std::string message() const { return fault.found() ? fault.get()->message : ""; }
  std::string violation() const { return fault.found() ? fault.get()->violation : ""; }

  JudgingContext context;
  std::unique_ptr<Side> candidate;
  FirstFault fault;
  JudgedCalls calls;
};

}  // namespace kw::gym::testing
