// For tests: our kernels, the text that NVRTC compiles, run on the processor. Addresses are the
// host's.
#pragma once
#include "gym/cuda/kernel_runner.h"

namespace kw::gym::testing {

// One thread of the program may use it.
KernelRunner& emulated_kernels();

}  // namespace kw::gym::testing
