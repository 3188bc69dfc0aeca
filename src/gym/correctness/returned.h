// Tensors that a candidate returned: where they lie is its own claim (OutputReport), so every field
// is checked before a byte is read.
#pragma once
#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "gym/protocol.h"
#include "task/signature.h"
#include "task/verdict.h"

namespace kw::gym {

// The verdict on one report. wrong_dtype and wrong_shape: an honest mistake. violation
// "forged_report": what the executor's leaf never writes (unknown dtype, rank over kMaxRank,
// negative stride or size, elements outside the arena, a misaligned offset).
struct ReturnedCheck {
  task::Outcome outcome = task::Outcome::kPassed;
  std::string message;  // for the candidate's author; "" when passed
};

// report: a private copy of the page's struct (the executor could change the page meanwhile).
// expected: dtype and shape as declared. Shapes must be equal, not just of as many elements. Two
// elements must not share memory: a row broadcast over a tensor (stride 0) is wrong_shape. Strides
// of sizes 0 and 1 do not matter.
ReturnedCheck check_returned(const OutputReport& report, const task::Argument& expected,
                             std::size_t arena_bytes);

// Whether the elements lie row-major without gaps. report has passed check_returned.
bool is_contiguous(const OutputReport& report);

// Copies the elements, row-major, to out (elements x size of the dtype). report has passed
// check_returned for this arena.
void gather_returned(const OutputReport& report, std::span<const std::byte> arena,
                     std::span<std::byte> out);

// The elements, row-major: in the arena where they lie so, otherwise gathered in copy. A tensor
// without elements may say any offset. report has passed check_returned for this arena and a tensor
// of this many bytes.
std::span<const std::byte> returned_bytes(const OutputReport& report,
                                          std::span<const std::byte> arena, std::size_t bytes,
                                          std::vector<std::byte>& copy);

}  // namespace kw::gym
