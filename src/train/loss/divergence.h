// The divergence of a student's distributions from a teacher's, and its derivative, both over all
// tokens and over the teacher's likeliest. Formulas stand in distill_loss.h.
#pragma once
#include <ATen/core/Tensor.h>

#include "train/loss/distill_loss.h"

namespace kw::train {

struct DivergenceResult {
  at::Tensor values;     // [C] nats: D
  at::Tensor by_logits;  // [C, V]: the derivative of D by the student's logits
};

// student, teacher: [C, V] logits of one dtype, float32 or float64, on one device; their memory is
// used up. At most about 6 C V numbers exist at once beside them. slopes: by_logits is wanted, and
// else undefined. KW_CHECK: top_k is at most V.
DivergenceResult divergence(at::Tensor student, at::Tensor teacher, const DistillLoss& loss,
                            bool slopes);

}  // namespace kw::train
