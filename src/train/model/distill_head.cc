#include "train/model/distill_head.h"

#include <algorithm>
#include <utility>
#include <vector>

#include <ATen/ATen.h>

#include "train/loss/divergence.h"
#include "train/model/chunks.h"
#include "train/model/lm_head.h"
#include "train/model/matmul.h"

namespace kw::train {
namespace {

struct DistillChunk {
  at::Tensor divergences, logprobs;  // [C]
  // [C, V]: the loss of each token by the student's logits, undefined unless asked for.
  at::Tensor by_logits;
};

DistillChunk distill_chunk(const DistillInput& in, const DistillLoss& loss, std::int64_t begin,
                           std::int64_t count, bool slopes) {
  at::Tensor student = matmul_transposed(in.hidden.narrow(0, begin, count), in.weight);
  at::Tensor teacher =
      matmul_transposed(in.teacher_hidden.narrow(0, begin, count), in.teacher_weight);
  const at::Tensor targets = in.targets.narrow(0, begin, count).unsqueeze(1);
  DistillChunk out;
  out.logprobs = (student.gather(1, targets) - student.logsumexp(1, true)).squeeze(1);
  at::Tensor by_target;
  if (slopes && loss.cross_entropy > 0) {
    by_target = at::softmax(student, 1);
    by_target.scatter_add_(1, targets, at::full_like(targets, -1, by_target.options()));
  }
  DivergenceResult result = divergence(std::move(student), std::move(teacher), loss, slopes);
  out.divergences = std::move(result.values);
  if (!slopes) return out;
  const double share = (1 - loss.cross_entropy) * loss.temperature * loss.temperature;
  out.by_logits = result.by_logits.mul_(share);
  if (by_target.defined()) out.by_logits.add_(by_target, loss.cross_entropy);
  return out;
}

// Rows of the chunks, in order.
struct CollectedRows {
  std::vector<at::Tensor> divergences, logprobs;
  void add(const DistillChunk& chunk) {
    divergences.push_back(chunk.divergences);
    logprobs.push_back(chunk.logprobs);
  }
  DistillRows all() const { return {at::cat(divergences), at::cat(logprobs)}; }
};

}  // namespace

std::int64_t distill_chunk_tokens(std::int64_t vocabulary, bool gpu) {
  return std::max<std::int64_t>(head_chunk_tokens(vocabulary, gpu) / 4 / 64 * 64, 64);
}

DistillRows distill_rows(const DistillInput& in, const DistillLoss& loss,
                         std::int64_t chunk_tokens) {
  const at::NoGradGuard no_grad;
  CollectedRows out;
  for_each_chunk(in.hidden.size(0), chunk_tokens, [&](std::int64_t begin, std::int64_t count) {
    out.add(distill_chunk(in, loss, begin, count, false));
  });
  return out.all();
}

DistillGradients distill_gradients(const DistillInput& in, const at::Tensor& shares,
                                   const at::Tensor& weight_gradient, const DistillLoss& loss,
                                   std::int64_t chunk_tokens) {
  const at::NoGradGuard no_grad;
  CollectedRows all;
  DistillGradients out;
  out.hidden = at::empty_like(in.hidden);
  for_each_chunk(in.hidden.size(0), chunk_tokens, [&](std::int64_t begin, std::int64_t count) {
    DistillChunk chunk = distill_chunk(in, loss, begin, count, true);
    all.add(chunk);
    const at::Tensor narrow = chunk.by_logits.mul_(shares.narrow(0, begin, count).unsqueeze(1))
                                  .to(in.weight.scalar_type());
    matmul_into(out.hidden.narrow(0, begin, count), narrow, in.weight);
    if (weight_gradient.defined())
      add_outer_product(weight_gradient, narrow, in.hidden.narrow(0, begin, count));
  });
  out.forward = all.all();
  return out;
}

}  // namespace kw::train
