// The comparison rules of KernelBench and FlashInfer-Bench to the letter (docs/compat.md). Pure
// functions.
#pragma once
#include <cstddef>
#include <span>

#include "task/dtype.h"

namespace kw::gym {

struct CompatResult {
  bool ok = true;
  double max_absolute = 0, max_relative = 0;
};

// torch.allclose: |a - b| <= atol + rtol |b|, NaN never equal, equal infinities are. atol = rtol =
// 1e-4 for float32 (and wider), 1e-2 for float16 and bfloat16. b is the reference.
CompatResult kernelbench_allclose(task::DType dtype, std::span<const std::byte> candidate,
                                  std::span<const std::byte> reference);

// FlashInfer-Bench's default evaluator: wrong only where |a - b| > atol and |a - b| / (|b| + 1e-12)
// > rtol, both 1e-2; any NaN or infinity of the candidate fails.
CompatResult flashinfer_close(task::DType dtype, std::span<const std::byte> candidate,
                              std::span<const std::byte> reference);

}  // namespace kw::gym
