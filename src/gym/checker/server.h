// The checker's request loop: open, baseline, judge (docs/protocol.md, "Checker").
#pragma once
#include "base/result.h"
#include "gym/checker/backend.h"

namespace kw::gym {

// Serves requests on the control socket until the supervisor closes it. Errors of a request are
// answered; only a broken socket ends the loop with one. backend: borrowed; where it is an error,
// every request is answered with that.
Status serve_checker(int control, const Result<Backend*>& backend);

}  // namespace kw::gym
