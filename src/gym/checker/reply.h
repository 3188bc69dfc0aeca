// The content of an executor's page, range-checked. The executor may change its page at any time,
// so each field is read once, and a value that is not one of ours counts as no reply.
#pragma once
#include <cstdint>
#include <optional>

#include "gym/checker/executor.h"
#include "gym/protocol.h"

namespace kw::gym {

// The state of a launch. done_seq may only ever be the number of the last launch that was done.
enum class LaunchProgress { kRunning, kDone, kOutOfTurn };
constexpr LaunchProgress launch_progress(std::uint64_t done_seq, std::uint64_t launch_seq) {
  if (done_seq == launch_seq) return LaunchProgress::kDone;
  return done_seq < launch_seq ? LaunchProgress::kRunning : LaunchProgress::kOutOfTurn;
}

// nullopt: neither of the two styles.
std::optional<Style> style_of(const volatile ReplyPage& page);

// Why it says that it failed; kNone for an unknown number.
Failure failure_of(const volatile ReplyPage& page);

// A private copy of the page's report about one result, for check_returned
// (correctness/returned.h).
OutputReport report_of(const volatile ReplyPage& page, std::uint32_t call, std::uint32_t output);

// A private copy of what it says of a plan's call. Numbers that no call has are cut.
PlanCall plan_call_of(const volatile ReplyPage& page);

}  // namespace kw::gym
