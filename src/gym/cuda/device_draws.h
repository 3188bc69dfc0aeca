// Drawing of inputs and poison where they lie, in a GPU's memory: the bytes that the host's
// generators give (inputs/fill.h, inputs/poison.h).
#pragma once
#include <cstdint>

#include "base/result.h"
#include "gym/checker/tensor_memory.h"
#include "gym/cuda/kernel_runner.h"
#include "gym/inputs/fill.h"

namespace kw::gym {

// address: of a tensor of the spec, aligned to kAlignment. recipe: the spec's.
Status draw_on_device(KernelRunner& kernels, std::uint64_t address, const InputSpec& spec,
                      const DrawRecipe& recipe, std::uint64_t seed);
Status poison_on_device(KernelRunner& kernels, std::uint64_t address, std::size_t bytes,
                        tensor::DType dtype, std::uint64_t seed);

}  // namespace kw::gym
