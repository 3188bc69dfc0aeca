// Tensors that an executor says it returned: range checks of the report and copying out of the
// arena. Nothing of a report is believed.
#pragma once
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "gym/protocol.h"
#include "task/signature.h"
#include "task/verdict.h"

namespace kw::gym {

// One report, copied out of the page.
struct ReportedOutput {
  std::uint64_t offset;
  std::uint32_t dtype, rank;
  std::int64_t shape[kMaxRank], stride[kMaxRank];
};

struct ReportCheck {
  task::Outcome outcome = task::Outcome::kPassed;  // wrong_dtype, wrong_shape, or violation for a
                                                   // place outside the arena
  std::string message;
};

// out: declared.bytes() contiguous bytes; written only when the report is as declared and every
// element lies in the arena.
ReportCheck gather_report(const ReportedOutput& report, const task::Argument& declared,
                          std::span<const std::byte> arena, std::span<std::byte> out);

}  // namespace kw::gym
