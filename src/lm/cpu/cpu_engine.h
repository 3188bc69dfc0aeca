// The engine on CPU cores: our own kernels over the parameters where they lie.
#pragma once
#include <memory>

#include "base/result.h"
#include "lm/cpu/kernels.h"
#include "lm/engine.h"
#include "lm/model/parameters.h"

namespace kw::lm::cpu {

struct CpuOptions {
  int threads = 1;
  EngineLimits limits{8, 4096, 512};
  const Kernels* kernels = nullptr;  // nullptr: the best of this machine
};

// Float32 weights: everything in float32. Others: matrix products of bfloat16 with sums in float32,
// keys and values as bfloat16; norms, rotation, softmax and the residual stream in float32.
// Borrows the parameters. kInvalidArgument names a limit; kResourceExhausted says what to lower.
Result<std::unique_ptr<Engine>> make_cpu_engine(const Parameters& parameters,
                                                const CpuOptions& options);

}  // namespace kw::lm::cpu
