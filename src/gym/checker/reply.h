// What an executor's page says, range-checked. The executor may change its page at any time:
// a field is read once, and what is none of ours counts as nothing said.
#pragma once
#include <cstdint>
#include <optional>

#include "gym/protocol.h"

namespace kw::gym {

// Where a go stands. done_seq may only ever be the number of the last go that was done.
enum class GoProgress { kRunning, kDone, kOutOfTurn };
constexpr GoProgress go_progress(std::uint64_t done_seq, std::uint64_t go_seq) {
  if (done_seq == go_seq) return GoProgress::kDone;
  return done_seq < go_seq ? GoProgress::kRunning : GoProgress::kOutOfTurn;
}

// nullopt: neither of the two styles.
std::optional<Style> style_of(const volatile ReplyPage& page);

// Why it says that it failed; kNone for an unknown number.
Failure failure_of(const volatile ReplyPage& page);

// A private copy of what it says about one result: for check_returned (correctness/returned.h).
OutputReport report_of(const volatile ReplyPage& page, std::uint32_t call, std::uint32_t output);

}  // namespace kw::gym
