// The kernels' sources, kernels/*.cu, as the build put them into this program.
#pragma once
#include <string_view>

namespace kw::gym::kernel_source {

extern const std::string_view tasks, random, elements, draw, ranges, compare;

}  // namespace kw::gym::kernel_source
