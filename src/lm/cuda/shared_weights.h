// SharedWeights: weights in a GPU's memory that belong to somebody else, who changes them between
// the steps of an engine: a trainer.
#pragma once
#include "lm/model/parameters.h"

namespace kw::lm::cuda {

// Two blocks with the layout of the arrangement: number i of the one stands for number i of the
// other. They outlive the engine and never move.
struct SharedWeights {
  const Parameters* arrangement = nullptr;  // float32; its numbers are not read
  const void* vectors = nullptr;            // float32: norms and biases are read there
  const void* matrices = nullptr;           // bfloat16: matrices are read there
};

}  // namespace kw::lm::cuda
