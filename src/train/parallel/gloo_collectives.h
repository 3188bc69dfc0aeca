// Collectives over Debian's gloo, between CPUs.
#pragma once
#include <memory>

#include "base/result.h"
#include "train/parallel/collectives.h"

namespace kw::train {

// Loads libkw_gloo.so beside the program. kUnsupported: this build has none, as libgloo-dev was
// not installed. group: borrowed.
Result<std::unique_ptr<Collectives>> make_gloo(Group& group);

}  // namespace kw::train
