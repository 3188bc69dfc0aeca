#include "train/model/lm_head.h"

#include <algorithm>
#include <limits>
#include <vector>

#include <ATen/ATen.h>

#include "base/check.h"
#include "train/cuda/engine_products.h"
#include "train/cuda/fused.h"
#include "train/model/chunks.h"
#include "train/model/matmul.h"
#include "train/model/operators.h"

namespace kw::train {
namespace {

// Results of the chunks, in order.
struct Collected {
  std::vector<at::Tensor> logprobs, entropies;
  HeadLogprobs all() const {
    return {at::cat(logprobs), entropies.empty() ? at::Tensor() : at::cat(entropies)};
  }
};

// ChunkInput: the head's input for C tokens.
struct ChunkInput {
  at::Tensor hidden, targets;
  Truncation truncation;
};

ChunkInput chunk_of(const at::Tensor& hidden, const at::Tensor& targets,
                    const Truncation& truncation, std::int64_t begin, std::int64_t count) {
  ChunkInput out{hidden.narrow(0, begin, count), targets.narrow(0, begin, count), truncation};
  if (truncation.cutoffs.defined())
    out.truncation.cutoffs = truncation.cutoffs.narrow(0, begin, count);
  return out;
}

struct Chunk {
  at::Tensor log_softmax;  // [C, V]; minus infinity for what is truncated
  at::Tensor logprobs;     // [C]
  at::Tensor entropies;    // [C] undefined unless asked for
};

at::Tensor entropy_of(const at::Tensor& log_softmax) {
  return -(log_softmax * log_softmax.exp()).sum(1);
}

at::Tensor truncated(const at::Tensor& log_softmax, const ChunkInput& in) {
  const at::Tensor least = (in.truncation.cutoffs - in.truncation.slack).unsqueeze(1);
  const at::Tensor left =
      (log_softmax >= least).scatter(1, in.targets.unsqueeze(1), true).logical_not();
  return at::log_softmax(log_softmax.masked_fill(left, -std::numeric_limits<double>::infinity()),
                         1);
}

Chunk chunk_forward(const ChunkInput& in, const at::Tensor& weight, const HeadSettings& settings) {
  at::Tensor logits = matmul_transposed(in.hidden, weight);
  if (settings.temperature != 1) logits.div_(settings.temperature);
  Chunk out;
  out.log_softmax = at::log_softmax(logits, 1);
  if (settings.entropy) out.entropies = entropy_of(out.log_softmax);
  if (in.truncation.cutoffs.defined()) out.log_softmax = truncated(out.log_softmax, in);
  out.logprobs = out.log_softmax.gather(1, in.targets.unsqueeze(1)).squeeze(1);
  return out;
}

// On a GPU: one buffer of logits for all chunks, and our kernels over it.
class FusedHead {
 public:
  FusedHead(const at::Tensor& hidden, const at::Tensor& weight, const at::Tensor& targets,
            const HeadSettings& settings, const Truncation& truncation)
      : hidden_(hidden),
        weight_(weight),
        targets_(targets),
        settings_(settings),
        truncation_(truncation) {
    const std::int64_t rows = even_chunk(hidden.size(0), settings.chunk_tokens);
    buffer_ =
        at::empty({rows, cuda::row_pitch(weight.size(0))}, hidden.options().dtype(at::kFloat));
  }

  cuda::HeadRows forward(std::int64_t begin, std::int64_t count, bool entropies) {
    make_logits(begin, count);
    return cuda::head_statistics(logits_, in_.targets, settings_.temperature, entropies,
                                 in_.truncation);
  }
  // Goes back through the chunk of the last forward(), and fills by_hidden [C, D].
  void backward(const cuda::HeadRows& statistics, const HeadSlopes& slopes,
                const at::Tensor& weight_gradient, const at::Tensor& by_hidden) {
    KW_CHECK(!slopes.entropies.defined() || !truncation_.cutoffs.defined());
    const at::Tensor by_logits = cuda::head_gradient(
        logits_, in_.targets, statistics, slopes.logprobs.contiguous(),
        slopes.entropies.defined() ? slopes.entropies.contiguous() : slopes.entropies,
        settings_.temperature);
    matmul_into(by_hidden, by_logits, weight_);
    if (weight_gradient.defined()) add_outer_product(weight_gradient, by_logits, in_.hidden);
  }
  // Both, for known derivatives by the log-probabilities, [T]. Returns the log-probabilities.
  at::Tensor loss(std::int64_t begin, std::int64_t count, const at::Tensor& by_logprobs,
                  const Weight& weight, const at::Tensor& by_hidden) {
    const at::Tensor slopes = by_logprobs.narrow(0, begin, count);
    make_logits(begin, count);
    if (const auto both = cuda::head_loss(logits_, in_.targets, slopes, settings_.temperature)) {
      matmul_into(by_hidden, both->by_logits, weight_);
      linear_backward_weight(both->by_logits, in_.hidden, weight);
      return both->logprobs;
    }
    const cuda::HeadRows rows =
        cuda::head_statistics(logits_, in_.targets, settings_.temperature, false, {});
    backward(rows, {slopes, {}}, gradient_sum(weight), by_hidden);
    return rows.logprobs;
  }

 private:
  void make_logits(std::int64_t begin, std::int64_t count) {
    in_ = chunk_of(hidden_, targets_, truncation_, begin, count);
    logits_ = buffer_.narrow(0, 0, count).narrow(1, 0, weight_.size(0));
    if (settings_.engine != nullptr)
      settings_.engine->multiply(in_.hidden, weight_, logits_);
    else
      matmul_transposed_into(logits_, in_.hidden, weight_);
  }

  const at::Tensor &hidden_, &weight_, &targets_;
  const HeadSettings& settings_;
  const Truncation& truncation_;
  ChunkInput in_;  // of the last forward
  at::Tensor buffer_, logits_;
};

HeadLogprobs fused_logprobs(const at::Tensor& hidden, const at::Tensor& weight,
                            const at::Tensor& targets, const HeadSettings& settings,
                            const Truncation& truncation) {
  FusedHead head(hidden, weight, targets, settings, truncation);
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
                              const SlopesOf& slopes_of, const HeadSettings& settings,
                              const Truncation& truncation) {
  FusedHead head(hidden, weight, targets, settings, truncation);
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

HeadGradients fused_loss_gradients(const at::Tensor& hidden, const Weight& weight,
                                   const at::Tensor& targets, const at::Tensor& by_logprobs,
                                   const HeadSettings& settings) {
  const Truncation none;
  FusedHead head(hidden, weight.value, targets, settings, none);
  std::vector<at::Tensor> logprobs;
  HeadGradients out;
  out.hidden = at::empty_like(hidden);
  for_each_chunk(
      hidden.size(0), settings.chunk_tokens, [&](std::int64_t begin, std::int64_t count) {
        logprobs.push_back(
            head.loss(begin, count, by_logprobs, weight, out.hidden.narrow(0, begin, count)));
      });
  out.forward.logprobs = at::cat(logprobs);
  return out;
}

}  // namespace

std::int64_t head_chunk_tokens(std::int64_t vocabulary, bool gpu) {
  const std::int64_t logits = (gpu ? std::int64_t{4} << 30 : std::int64_t{128} << 20) / 4;
  return std::max<std::int64_t>(logits / vocabulary / 64 * 64, 64);
}

HeadLogprobs head_logprobs(const at::Tensor& hidden, const at::Tensor& weight,
                           const at::Tensor& targets, const HeadSettings& settings,
                           const Truncation& truncation) {
  const at::NoGradGuard no_grad;
  if (hidden.is_cuda()) return fused_logprobs(hidden, weight, targets, settings, truncation);
  Collected out;
  for_each_chunk(
      hidden.size(0), settings.chunk_tokens, [&](std::int64_t begin, std::int64_t count) {
        const Chunk chunk =
            chunk_forward(chunk_of(hidden, targets, truncation, begin, count), weight, settings);
        out.logprobs.push_back(chunk.logprobs);
        if (settings.entropy) out.entropies.push_back(chunk.entropies);
      });
  return out.all();
}

namespace {

// With p the probabilities, g and e the slopes of log-probability and entropy H:
// dz_v = g (onehot_v - p_v) - e p_v (log p_v + H). Uses the chunk up.
at::Tensor slopes_by_logits(Chunk& chunk, const at::Tensor& targets, const HeadSlopes& slopes,
                            double temperature) {
  at::Tensor out;
  if (slopes.entropies.defined()) {
    const at::Tensor probabilities = chunk.log_softmax.exp();
    out = chunk.log_softmax.add_(chunk.entropies.unsqueeze(1)).mul_(slopes.entropies.unsqueeze(1));
    out.add_(slopes.logprobs.unsqueeze(1)).mul_(probabilities).neg_();
  } else {
    out = chunk.log_softmax.exp_().mul_(-slopes.logprobs.unsqueeze(1));
  }
  out.scatter_add_(1, targets.unsqueeze(1), slopes.logprobs.unsqueeze(1));
  if (temperature != 1) out.div_(temperature);
  return out;
}

}  // namespace

HeadGradients head_gradients(const at::Tensor& hidden, const at::Tensor& weight,
                             const at::Tensor& targets, const at::Tensor& weight_gradient,
                             const SlopesOf& slopes_of, const HeadSettings& settings,
                             const Truncation& truncation) {
  const at::NoGradGuard no_grad;
  if (hidden.is_cuda())
    return fused_gradients(hidden, weight, targets, weight_gradient, slopes_of, settings,
                           truncation);
  Collected all;
  HeadGradients out;
  out.hidden = at::empty_like(hidden);
  for_each_chunk(
      hidden.size(0), settings.chunk_tokens, [&](std::int64_t begin, std::int64_t count) {
        const ChunkInput in = chunk_of(hidden, targets, truncation, begin, count);
        Chunk chunk = chunk_forward(in, weight, settings);
        const HeadSlopes slopes = slopes_of(begin, chunk.logprobs);
        if (slopes.entropies.defined()) {
          KW_CHECK(!truncation.cutoffs.defined());
          if (!chunk.entropies.defined()) chunk.entropies = entropy_of(chunk.log_softmax);
        }
        all.logprobs.push_back(chunk.logprobs);
        if (settings.entropy) all.entropies.push_back(chunk.entropies);
        const at::Tensor narrow = slopes_by_logits(chunk, in.targets, slopes, settings.temperature)
                                      .to(weight.scalar_type());
        matmul_into(out.hidden.narrow(0, begin, count), narrow, weight);
        if (weight_gradient.defined()) add_outer_product(weight_gradient, narrow, in.hidden);
      });
  out.forward = all.all();
  return out;
}

HeadGradients head_loss_gradients(const at::Tensor& hidden, const Weight& weight,
                                  const at::Tensor& targets, const at::Tensor& by_logprobs,
                                  const HeadSettings& settings) {
  const at::NoGradGuard no_grad;
  KW_CHECK(!settings.entropy);
  if (hidden.is_cuda())
    return fused_loss_gradients(hidden, weight, targets, by_logprobs.contiguous(), settings);
  return head_gradients(
      hidden, weight.value, targets, gradient_sum(weight),
      [&](std::int64_t begin, const at::Tensor& logprobs) -> HeadSlopes {
        return {by_logprobs.narrow(0, begin, logprobs.size(0)), {}};
      },
      settings);
}

}  // namespace kw::train
