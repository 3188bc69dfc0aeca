// The engine on one NVIDIA GPU: our own kernels and cuBLASLt's matmuls, a decoding step as one
// graph. The driver, NVRTC and cuBLASLt are loaded when an engine is made.
#pragma once
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "lm/cuda/shared_weights.h"
#include "lm/engine.h"
#include "lm/model/parameters.h"

namespace kw::lm::cuda {

enum class MatmulChoice {
  // A token's numbers depend on its sequence up to it and on each token's phase, to the bit: not on
  // what else is computed, how prompts are cut into steps, the slots or the run of the program.
  kBatchInvariant,
  // The fastest of cuBLASLt's and our own ways, timed when a number of rows first comes up.
  // Rounding can differ between numbers of rows, and between runs of the program.
  kFastest,
};
// "batch_invariant" and "fastest".
std::optional<MatmulChoice> matmul_choice_from_string(std::string_view name);

struct CudaOptions {
  int device = 0;
  EngineLimits limits{64, 4096, 512};
  MatmulChoice matmuls = MatmulChoice::kBatchInvariant;
  bool graphs = true;           // off: every kernel is launched by itself, for profilers
  bool overlap = true;          // kernels may start before the one before them is complete
  int split_tiles = 0;          // most positions of a part of attention, in 128; 0: 5
  std::filesystem::path cache;  // of compiled kernels; empty: the program's cache folder
};

// With float32 weights everything is float32: slow, for tests. Bfloat16 rounds as the CPU engine.
// Parameters are copied. kUnsupported: int8 weights, a head size that is not a multiple of 16 up to
// 256, no GPU or a library missing; kInvalidArgument names a limit; kResourceExhausted says which
// setting to lower. A step throws std::runtime_error when the GPU fails; the engine is of no use
// then.
Result<std::unique_ptr<Engine>> make_cuda_engine(const Parameters& parameters,
                                                 const CudaOptions& options);
// Computes with the memory of a trainer: nothing is copied or derived from weights, and graphs hold
// addresses alone. Call weights_changed() after work on the default stream has written them, also
// before the first step; the engine's next step waits for that work.
Result<std::unique_ptr<Engine>> make_cuda_engine(const SharedWeights& weights,
                                                 const CudaOptions& options);

}  // namespace kw::lm::cuda
