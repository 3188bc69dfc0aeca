// The engine that samples with the weights that are trained, in their own memory: no copy is made,
// neither when it begins nor after an optimizer step.
#pragma once
#include <memory>

#include "base/result.h"
#include "lm/engine.h"
#include "train/model/weights.h"
#include "train/rl/rl_settings.h"

namespace kw::train {

// On the weights' device. Weights are borrowed, and read while a step runs: after they were
// changed, call weights_changed(). On a GPU that orders the next step behind torch's work on the
// default stream. Errors are those of make_cpu_engine and make_cuda_engine.
Result<std::unique_ptr<lm::Engine>> make_policy_engine(const Weights& weights,
                                                       const RlSettings& settings);

}  // namespace kw::train
