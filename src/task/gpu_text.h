// Facts of a GPU's judgement in words, for cards and prompts.
#pragma once
#include <optional>
#include <string>

#include "task/gpu_facts.h"

namespace kw::task {

// "softmax (12 us, 2 launches, 40 registers, 1.0 KiB of shared memory a block, occupancy 75 %)"
std::string kernel_text(const GpuKernel& kernel);

// "92 % of what the memory allows (104 us)"; "" without rates.
std::string roofline_text(const GpuRoofline& roofline, double candidate_ms);

// "4.0 MiB, the baseline 8.0 MiB"; "" where neither is known.
std::string call_memory_text(const GpuFacts& facts);

}  // namespace kw::task
