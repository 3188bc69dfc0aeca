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

using Sizes = std::map<std::string, std::int64_t>;  // the key is the axis's name

// A size in place of n >= 2, which it never gives back. kOdd: odd, about two thirds of it. kNear: a
// little less or more, and never the odd one. The others are for plans in which a dimension would
// vanish: the next odd one, and one behind that.
enum class SizeSet { kOdd, kNear, kOddAbove, kAbove };
std::int64_t other_size(SizeSet set, std::int64_t n);

// Axes that neither a parameter nor an operator fixes and whose size is not 1: an axis of size 1 is
// broadcast.
std::set<std::string> free_axes(const Plan& plan);
// The free axes that a definition may leave open. An axis in a size that is no input's dimension is
// not among them, because the reference writes such sizes as numbers.
std::set<std::string> variable_axes(const Plan& plan);

// With these sizes for axes; what follows from them as well. nullopt: a dimension would vanish.
std::optional<Plan> with_sizes(const Plan& plan, const Sizes& sizes);

// Two size sets in which each of these axes has another value than in the plan; the first has only
// odd values. An axis with a small size gets values near that size. There are fewer sets where
// there are no axes.
std::vector<Sizes> other_sizes(const Plan& plan, const std::set<std::string>& axes);

// Whether some axis has one.
bool has_small_sizes(const Plan& plan);

// The plan with larger sizes for some of its variable axes, so that its largest tensor has about
// log-uniformly many elements, up to the limit; what they were becomes their small size. Every
// operator still fits its tensor. The plan as it is where nothing may grow.
Plan stretched(const Plan& plan, Rng& rng, const Limits& limits);

}  // namespace kw::writer::generate
