// What is counted of a run, without intervals. Private to this folder.
#pragma once
#include <optional>
#include <vector>

#include "report/metrics.h"

namespace kw::report {

// Problems, attempts, what they cost, and how they ended.
void count(const Run& run, Metrics& out);
std::vector<BestSoFar> follow_best(const Run& run, std::int64_t most_attempts);
// None where no attempt was made from another.
std::optional<Refinement> refinement_of(const Run& run);
std::optional<Quartiles> quartiles_of(std::vector<double> values);

}  // namespace kw::report
