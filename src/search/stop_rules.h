// When the search of one problem ends, beside its method's own end.
#pragma once
#include <cstddef>
#include <optional>
#include <string>

#include "runlog/tree.h"
#include "search/settings.h"
#include "task/problem.h"

namespace kw::search {

// Looks at the first `visible` attempts alone, but for the seconds.
std::optional<runlog::End> stop_rule(const Settings& settings, const runlog::ProblemTree& tree,
                                     std::size_t visible, double seconds);

// Seconds that measuring one workload may take. Attempts in flight when a problem's seconds are
// over are finished, so with such a limit an attempt's timing is bounded by a part of it.
// workloads: the number of the problem's timed workloads.
double timing_seconds(const Settings& settings, double most, std::size_t workloads);

// How many of a problem's workloads are timed on a target.
std::size_t timed_workloads(const task::Problem& problem, const std::string& target);

}  // namespace kw::search
