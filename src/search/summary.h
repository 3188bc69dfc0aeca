// The part of a verdict that the tree of attempts keeps.
#pragma once
#include "runlog/event.h"
#include "task/verdict.h"

namespace kw::search {

// Everything but problem, attempt, blob and times.
runlog::Judged summary_of(const task::Verdict& verdict);

}  // namespace kw::search
