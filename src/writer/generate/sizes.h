// A plan's problem at other sizes.
#pragma once
#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "writer/generate/plan.h"

namespace kw::writer::generate {

// A size in place of n, for an axis that may have another: 1 stays, as what is 1 is broadcast.
// kOdd: about two thirds of it, odd above 8. kNear: a little less, or one more below 8.
enum class SizeSet { kOdd, kNear };
std::int64_t other_size(SizeSet set, std::int64_t n);

// With these sizes for axes; what follows from them as well. nullopt: a dimension would vanish.
std::optional<Plan> with_sizes(const Plan& plan, const std::map<std::string, std::int64_t>& sizes);

// With another size for each axis that no parameter and no operator fixes; nullopt: there is none
// such, or a dimension would vanish.
std::optional<Plan> resized(const Plan& plan, SizeSet set);

}  // namespace kw::writer::generate
