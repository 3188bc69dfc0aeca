// What the tree of attempts keeps of a verdict.
#pragma once
#include "runlog/event.h"
#include "task/verdict.h"

namespace kw::search {

// Everything but problem, attempt, blob and times.
runlog::Judged summary_of(const task::Verdict& verdict);

}  // namespace kw::search
