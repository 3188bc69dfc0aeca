// Says whether arithmetic or memory bounds the speed of a program.
#pragma once
#include <string_view>

#include "base/result.h"
#include "writer/loops/loops.h"

namespace kw::writer {

// Returns "arithmetic" where the loops do more than 10 scalar operations for each byte of the
// inputs and outputs at the traced sizes, else "memory". A multiply-add counts as two operations,
// comparisons and choices count as none.
Result<std::string_view> limit_of(const Program& program);

}  // namespace kw::writer
