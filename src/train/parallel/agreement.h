// Ranks with other settings or other data would train something that nobody asked for.
#pragma once
#include "base/json.h"
#include "base/result.h"
#include "train/parallel/group.h"

namespace kw::train {

// Collective: ok where all ranks gave the same object. kInvalidArgument, on every rank, names the
// first rank and key that differ from rank 0's, with both values; else errors of Group::exchange.
Status agree(Group& group, const Json& mine);

}  // namespace kw::train
