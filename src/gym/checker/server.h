// The checker's request loop: open, baseline, judge (docs/protocol.md, "Checker").
#pragma once
#include "base/result.h"

namespace kw::gym {

// Serves requests on the control socket until the supervisor closes it. Errors of a request are
// answered; only a broken socket ends the loop with one.
Status serve_checker(int control);

}  // namespace kw::gym
