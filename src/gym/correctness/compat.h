// The comparison rules of KernelBench and FlashInfer-Bench to the letter, weaknesses included. They
// never decide a reward.
#pragma once

#include "gym/correctness/tensor.h"

namespace kw::gym {

// KernelBench (src/kernelbench/eval.py at 423217d): shapes equal, then torch.allclose(reference,
// candidate, atol = rtol), so the tolerance is relative to the *candidate*: |r - c| <= atol + rtol
// |c|, in the tensors' own precision; NaN never equal, infinities equal to themselves. atol = rtol
// = 1e-4 for float32 (and float64, which it does not have), 1e-2 for float16 and bfloat16. float8
// and float4, which it does not have either, are compared like float16. Integer tensors go through
// the same formula. Booleans: equal (there torch.allclose throws, so KernelBench fails every
// boolean output).
struct KernelBenchResult {
  bool shape_equal = true, close = true;
  double max_difference = 0, average_difference = 0;  // over |r - c|; NaN when any is
};
KernelBenchResult kernelbench_compare(const TensorView& candidate, const TensorView& reference);

// FlashInfer-Bench (flashinfer_bench/bench/evaluators/default.py and utils.py at 40e6ca7): shape,
// dtype, then an infinity or else a NaN in the candidate fails with that value as both errors; then
// in float32, element by element,
//   wrong where |c - r| > atol and |c - r| / (|r| + 1e-8) > rtol
// and the output fails when less than required_matched_ratio of the elements are right. Both errors
// are maxima over all elements, right ones included; NaN when any is (a reference that holds NaN or
// infinity).
struct FlashInferRule {
  double atol = 1e-2, rtol = 1e-2;
  double required_matched_ratio = 1;  // 0.95 for names with moe_fp8_block_scale
};
enum class FlashInferStatus { kPassed, kIncorrectShape, kIncorrectDtype, kIncorrectNumerical };
struct FlashInferResult {
  FlashInferStatus status = FlashInferStatus::kPassed;
  double max_absolute_error = 0, max_relative_error = 0;
  double matched_ratio = 1;
};
FlashInferResult flashinfer_compare(const TensorView& candidate, const TensorView& reference,
                                    const FlashInferRule& rule = {});

// KernelBench's atol and rtol for a dtype.
double kernelbench_tolerance(tensor::DType dtype);

// The errors that FlashInfer-Bench's rule finds in the elements of two outputs of one shape and
// dtype.
struct FlashInferCounts {
  bool infinite = false, nan = false, nan_error = false;
  double wrong = 0;
  float max_absolute = 0, max_relative = 0;
};
FlashInferResult flashinfer_result(const FlashInferCounts& counts, std::size_t elements,
                                   const FlashInferRule& rule = {});

// One output by both rules.
struct RulesResult {
  bool is_close = true;  // KernelBench's
  FlashInferResult flashinfer;
};

}  // namespace kw::gym
