// A row of evaluations.jsonl: how a policy answers tasks that it is not trained on
// (docs/training.md).
#pragma once
#include <cstdint>

#include "base/json.h"
#include "train/rl/played.h"

namespace kw::train {

// step: steps done before. Numbers that no answer gave are null.
Json evaluation_row(std::int64_t step, const Played& played, double seconds);

}  // namespace kw::train
