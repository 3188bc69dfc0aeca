// Rows of random plans, for a policy to begin with: it then knows how a plan is written, and
// nothing of which one is fast.
#pragma once
#include <cstdint>
#include <ostream>

#include "base/json.h"
#include "base/result.h"

namespace kw::environment_program {

// Writes `count` rows {"messages": [user, assistant]} of the problems in turn. settings: as of
// make_environment(), of the kind plans (kInvalidArgument else). The same arguments give the same
// rows.
Status write_plan_rows(const Json& settings, std::uint64_t count, std::uint64_t seed,
                       std::ostream& out);

}  // namespace kw::environment_program
