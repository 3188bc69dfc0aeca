// When the search of one problem ends, beside its method's own end.
#pragma once
#include <cstddef>
#include <optional>
#include <string>

#include "runlog/tree.h"
#include "search/settings.h"
#include "task/problem.h"
#include "task/target.h"

namespace kw::search {

// Looks at the first `visible` attempts alone, but for the seconds.
std::optional<runlog::End> stop_rule(const Settings& settings, const runlog::ProblemTree& tree,
                                     std::size_t visible, double seconds);

// Whether what is still in flight is stopped: the problem has searched, or the run has taken, a
// quarter longer than its limit.
bool is_overtime(const Settings& settings, double problem_seconds, double run_seconds);

// Seconds that measuring one workload may take: with a limit of seconds a part of it, and no more
// than is left. workloads: the number of the problem's timed workloads. seconds: those in which the
// problem was searched so far.
double timing_seconds(const Settings& settings, double most, std::size_t workloads, double seconds);

// How many of a problem's workloads are timed on a target.
std::size_t timed_workloads(const task::Problem& problem, task::Target target);

}  // namespace kw::search
