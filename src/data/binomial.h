// Bounds of a rate from counts.
#pragma once
#include <cstdint>

namespace kw::data {

// The Clopper-Pearson upper bound of a rate of which k of n were seen (Clopper, Pearson 1934), one
// sided: the rate at which k or fewer of n have the probability 1 - confidence. 1 for n = 0 and for
// k = n.
double clopper_pearson_upper(std::uint64_t k, std::uint64_t n, double confidence = 0.95);

}  // namespace kw::data
