#include "train/model/lm_head.h"

#include <algorithm>
#include <vector>

#include <ATen/ATen.h>

#include "train/cuda/fused.h"
#include "train/model/matmul.h"

namespace kw::train {
namespace {

// Results of the chunks, in order.
struct Collected {
  std::vector<at::Tensor> logprobs, entropies;
  HeadLogprobs all() const {
    return {at::cat(logprobs), entropies.empty() ? at::Tensor() : at::cat(entropies)};
  }
};

struct Chunk {
  at::Tensor log_softmax;  // [C, V]
  at::Tensor logprobs;     // [C]
};

Chunk chunk_forward(const at::Tensor& hidden, const at::Tensor& weight, const at::Tensor& targets,
                    double temperature) {
  at::Tensor logits = matmul_transposed(hidden, weight);
  if (temperature != 1) logits.div_(temperature);
  Chunk out;
  out.log_softmax = at::log_softmax(logits, 1);
  out.logprobs = out.log_softmax.gather(1, targets.unsqueeze(1)).squeeze(1);
  return out;
}

at::Tensor entropy_of(const at::Tensor& log_softmax, const at::Tensor& probabilities) {
  return -(log_softmax * probabilities).sum(1);
}

// Tokens of a chunk, at most `wanted`, so that all chunks but the last have equally many.
std::int64_t even_chunk(std::int64_t tokens, std::int64_t wanted) {
  const std::int64_t chunks = std::max<std::int64_t>((tokens + wanted - 1) / wanted, 1);
  return std::min(wanted, ((tokens + chunks - 1) / chunks + 63) / 64 * 64);
}

template <typename Body>
void for_each_chunk(std::int64_t tokens, std::int64_t chunk_tokens, const Body& body) {
  const std::int64_t step = even_chunk(tokens, chunk_tokens);
  for (std::int64_t begin = 0; begin < tokens; begin += step)
    body(begin, std::min(step, tokens - begin));
}

// On a GPU: one buffer of logits for all chunks, and our kernels over it.
class FusedHead {
 public:
  FusedHead(const at::Tensor& hidden, const at::Tensor& weight, const at::Tensor& targets,
            const HeadSettings& settings)
      : hidden_(hidden), weight_(weight), targets_(targets), settings_(settings) {
    const std::int64_t rows = even_chunk(hidden.size(0), settings.chunk_tokens);
    buffer_ =
        at::empty({rows, cuda::row_pitch(weight.size(0))}, hidden.options().dtype(at::kFloat));
  }

  cuda::HeadRows forward(std::int64_t begin, std::int64_t count, bool entropies) {
    rows_ = hidden_.narrow(0, begin, count);
    wanted_ = targets_.narrow(0, begin, count);
    logits_ = buffer_.narrow(0, 0, count).narrow(1, 0, weight_.size(0));
    at::mm_out(logits_, rows_, weight_.t(), at::kFloat);
    return cuda::head_statistics(logits_, wanted_, settings_.temperature, entropies);
  }
  // Of the chunk of the last forward; by_hidden: [C, D], filled.
  void backward(const cuda::HeadRows& statistics, const HeadSlopes& slopes,
                const at::Tensor& weight_gradient, at::Tensor by_hidden) {
    const at::Tensor by_logits = cuda::head_gradient(
        logits_, wanted_, statistics, slopes.logprobs.contiguous(),
        slopes.entropies.defined() ? slopes.entropies.contiguous() : slopes.entropies,
        settings_.temperature);
    at::mm_out(by_hidden, by_logits, weight_);
    add_outer_product(weight_gradient, by_logits, rows_);
  }

 private:
  const at::Tensor &hidden_, &weight_, &targets_;
  const HeadSettings& settings_;
  at::Tensor buffer_, rows_, wanted_, logits_;
};

HeadLogprobs fused_logprobs(const at::Tensor& hidden, const at::Tensor& weight,
                            const at::Tensor& targets, const HeadSettings& settings) {
  FusedHead head(hidden, weight, targets, settings);
  Collected out;
  for_each_chunk(hidden.size(0), settings.chunk_tokens,
                 [&](std::int64_t begin, std::int64_t count) {
                   const cuda::HeadRows rows = head.forward(begin, count, settings.entropy);
                   out.logprobs.push_back(rows.logprobs);
                   if (settings.entropy) out.entropies.push_back(rows.entropies);
                 });
  return out.all();
}

HeadGradients fused_gradients(const at::Tensor& hidden, const at::Tensor& weight,
                              const at::Tensor& targets, const at::Tensor& weight_gradient,
                              const SlopesOf& slopes_of, const HeadSettings& settings) {
  FusedHead head(hidden, weight, targets, settings);
  Collected all;
  HeadGradients out;
  out.hidden = at::empty_like(hidden);
  for_each_chunk(hidden.size(0), settings.chunk_tokens,
                 [&](std::int64_t begin, std::int64_t count) {
                   const cuda::HeadRows rows = head.forward(begin, count, true);
                   head.backward(rows, slopes_of(begin, rows.logprobs), weight_gradient,
                                 out.hidden.narrow(0, begin, count));
                   all.logprobs.push_back(rows.logprobs);
                   if (settings.entropy) all.entropies.push_back(rows.entropies);
                 });
  out.forward = all.all();
  return out;
}

}  // namespace

std::int64_t head_chunk_tokens(std::int64_t vocabulary, bool gpu) {
  const std::int64_t logits = (gpu ? std::int64_t{4} << 30 : std::int64_t{64} << 20) / 4;
  return std::max<std::int64_t>(logits / vocabulary / 64 * 64, 64);
}

HeadLogprobs head_logprobs(const at::Tensor& hidden, const at::Tensor& weight,
                           const at::Tensor& targets, const HeadSettings& settings) {
  const at::NoGradGuard no_grad;
  if (hidden.is_cuda()) return fused_logprobs(hidden, weight, targets, settings);
  Collected out;
  for_each_chunk(
      hidden.size(0), settings.chunk_tokens, [&](std::int64_t begin, std::int64_t count) {
        const Chunk chunk = chunk_forward(hidden.narrow(0, begin, count), weight,
                                          targets.narrow(0, begin, count), settings.temperature);
        out.logprobs.push_back(chunk.logprobs);
        if (settings.entropy)
          out.entropies.push_back(entropy_of(chunk.log_softmax, chunk.log_softmax.exp()));
      });
  return out.all();
}

// With p the probabilities, g and e the slopes of log-probability and entropy H:
// dz_v = g (onehot_v - p_v) - e p_v (log p_v + H).
HeadGradients head_gradients(const at::Tensor& hidden, const at::Tensor& weight,
                             const at::Tensor& targets, const at::Tensor& weight_gradient,
                             const SlopesOf& slopes_of, const HeadSettings& settings) {
  const at::NoGradGuard no_grad;
  if (hidden.is_cuda())
    return fused_gradients(hidden, weight, targets, weight_gradient, slopes_of, settings);
  Collected all;
  HeadGradients out;
  out.hidden = at::empty_like(hidden);
  for_each_chunk(hidden.size(0), settings.chunk_tokens,
                 [&](std::int64_t begin, std::int64_t count) {
                   const at::Tensor rows = hidden.narrow(0, begin, count);
                   const at::Tensor wanted = targets.narrow(0, begin, count);
                   Chunk chunk = chunk_forward(rows, weight, wanted, settings.temperature);
                   const HeadSlopes slopes = slopes_of(begin, chunk.logprobs);
                   all.logprobs.push_back(chunk.logprobs);
                   at::Tensor probabilities, entropy;
                   if (settings.entropy || slopes.entropies.defined()) {
                     probabilities = chunk.log_softmax.exp();
                     entropy = entropy_of(chunk.log_softmax, probabilities);
                     if (settings.entropy) all.entropies.push_back(entropy);
                   } else {
                     probabilities = chunk.log_softmax.exp_();
                   }
                   at::Tensor by_logits;
                   if (slopes.entropies.defined()) {
                     const at::Tensor e = slopes.entropies.unsqueeze(1);
                     by_logits = chunk.log_softmax.add_(entropy.unsqueeze(1)).mul_(e);
                     by_logits.add_(slopes.logprobs.unsqueeze(1)).mul_(probabilities).neg_();
                   } else {
                     by_logits = probabilities.mul_(-slopes.logprobs.unsqueeze(1));
                   }
                   by_logits.scatter_add_(1, wanted.unsqueeze(1), slopes.logprobs.unsqueeze(1));
                   if (settings.temperature != 1) by_logits.div_(settings.temperature);
                   const at::Tensor narrow = by_logits.to(weight.scalar_type());
                   out.hidden.narrow(0, begin, count).copy_(at::mm(narrow, weight));
                   add_outer_product(weight_gradient, narrow, rows);
                 });
  out.forward = all.all();
  return out;
}

}  // namespace kw::train
