// What bounds the speed of a program.
#pragma once
#include <string_view>

#include "base/result.h"
#include "writer/loops/loops.h"

namespace kw::writer {

// "arithmetic" where the loops do more than 10 scalar operations (a multiply-add is two,
// comparisons and choices are none) for each byte of the inputs and outputs at the traced sizes;
// else "memory".
Result<std::string_view> limit_of(const Program& program);

}  // namespace kw::writer
