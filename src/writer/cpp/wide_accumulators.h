// The accumulators of a C++ kernel that are double where its numbers are float.
#pragma once
#include <set>
#include <string>

#include "writer/nest/nest.h"

namespace kw::writer {

// The accumulators of float sums over several loops with many elements at the sizes that were
// traced. Their innermost loop may be short, so that it has no lanes to add in: a sum in float
// would be off by more than torch's, which adds in pairs. And those of running sums, products and
// sums of exponentials, which torch keeps in double too.
std::set<std::string> wide_accumulators(const Nest& nest);

std::string accumulator_of(const Scan& scan);  // its name

}  // namespace kw::writer
