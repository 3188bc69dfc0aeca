// When the search of one problem ends, beside its method's own end.
#pragma once
#include <optional>

#include "runlog/tree.h"
#include "search/settings.h"

namespace kw::search {

// Looks at the first `visible` attempts alone, but for the seconds.
std::optional<runlog::End> stop_rule(const Settings& settings, const runlog::ProblemTree& tree,
                                     std::size_t visible, double seconds);

// Seconds that measuring one workload may take: what is in flight when a problem's seconds are over
// is finished, so with such a limit an attempt's timing is bounded by a part of it.
double timing_seconds(const Settings& settings, double most, std::size_t workloads);

}  // namespace kw::search
