// A plan's problem at other sizes.
#pragma once
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/random.h"
#include "writer/generate/operators.h"
#include "writer/generate/plan.h"

namespace kw::writer::generate {

using Sizes = std::map<std::string, std::int64_t>;  // by axis

// A size in place of n >= 2, which it never gives back. kOdd: odd, about two thirds of it. kNear: a
// little less or more, and never the odd one. The others are for plans in which a dimension would
// vanish: the next odd one, and one behind that.
enum class SizeSet { kOdd, kNear, kOddAbove, kAbove };
std::int64_t other_size(SizeSet set, std::int64_t n);

// Axes that no parameter and no operator fixes and that are not 1: what is 1 is broadcast.
std::set<std::string> free_axes(const Plan& plan);
// Those of them that a definition may leave open: not in sizes that no input has for a dimension,
// which its reference says as numbers.
std::set<std::string> variable_axes(const Plan& plan);

// With these sizes for axes; what follows from them as well. nullopt: a dimension would vanish.
std::optional<Plan> with_sizes(const Plan& plan, const Sizes& sizes);

// Two size sets in which each of these axes has another value than in the plan; the first has odd
// ones alone. Of an axis with a small size they are near that one. Fewer where there are no axes.
std::vector<Sizes> other_sizes(const Plan& plan, const std::set<std::string>& axes);

// Whether some axis has one.
bool has_small_sizes(const Plan& plan);

// The plan with larger sizes for some of its variable axes, so that its largest tensor has about
// log-uniformly many elements, up to the limit; what they were becomes their small size. Every
// operator still fits its tensor. The plan as it is where nothing may grow.
Plan stretched(const Plan& plan, Rng& rng, const Limits& limits);

}  // namespace kw::writer::generate
