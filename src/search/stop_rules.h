// When the search of one problem ends, beside its method's own end.
#pragma once
#include <optional>

#include "runlog/tree.h"
#include "search/settings.h"

namespace kw::search {

// Looks at the first `visible` attempts alone, but for the seconds.
std::optional<runlog::End> stop_rule(const Settings& settings, const runlog::ProblemTree& tree,
                                     std::size_t visible, double seconds);

}  // namespace kw::search
