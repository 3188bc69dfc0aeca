// The LM head: log-probability and entropy of T tokens, and gradients, from chunks of logits that
// never exist all at once. D hidden, V vocabulary, C tokens of a chunk.
#pragma once
#include <cstdint>
#include <functional>

#include <ATen/core/Tensor.h>

#include "train/model/weights.h"

namespace kw::train {

namespace cuda {
class EngineProducts;
}

struct HeadSettings {
  std::int64_t chunk_tokens = 2048;  // C: a chunk takes C V floats on a GPU, about 3 C V on a CPU
  double temperature = 1;            // logits are divided by it, as the sampler does
  bool entropy = false;              // compute entropies
  // Makes the logits as the engine does; null: the fastest product does. On a GPU alone; borrowed.
  const cuda::EngineProducts* engine = nullptr;
};

// A C whose logits take about 4 GiB on a GPU and 128 MiB on a CPU: larger ones are no faster.
std::int64_t head_chunk_tokens(std::int64_t vocabulary, bool gpu);

// Truncated sampling leaves the tokens whose log-probability reaches the cutoff of their place, and
// the target. The others have no probability, and the rest is normed again. Entropies are those of
// the whole distribution.
struct Truncation {
  at::Tensor cutoffs;  // [T] f32, lm::Sample::cutoff, on the targets' device; undefined: none
  // Nats under the cutoff that are still reached, as the trainer's numbers are not the sampler's.
  double slack = 1e-4;
};

// Float32 (float64 for float64 weights), whatever the weights' dtype.
struct HeadLogprobs {
  at::Tensor logprobs;   // [T] of each token's target
  at::Tensor entropies;  // [T] nats; undefined unless asked for
};

// Derivatives of the loss by a chunk's log-probabilities and entropies, [C].
struct HeadSlopes {
  at::Tensor logprobs;
  at::Tensor entropies;  // undefined: the loss has no entropy term
};
// Called once a chunk, in order: tokens [begin, begin + C) and their log-probabilities [C].
using SlopesOf = std::function<HeadSlopes(std::int64_t begin, const at::Tensor& logprobs)>;

// hidden: [T, D] and weight: [V, D] of one dtype; targets: [T] i64. Logits are sums in float32.
HeadLogprobs head_logprobs(const at::Tensor& hidden, const at::Tensor& weight,
                           const at::Tensor& targets, const HeadSettings& settings,
                           const Truncation& truncation = {});

struct HeadGradients {
  HeadLogprobs forward;
  at::Tensor hidden;  // [T, D], in hidden's dtype
};
// Forward and backward in one pass over the chunks. Adds the weight's gradient to weight_gradient
// ([V, D], float32 or float64; undefined: the weight stands still). Tokens with slope 0 add
// nothing. No slopes of entropies with a truncation (KW_CHECK).
HeadGradients head_gradients(const at::Tensor& hidden, const at::Tensor& weight,
                             const at::Tensor& targets, const at::Tensor& weight_gradient,
                             const SlopesOf& slopes_of, const HeadSettings& settings,
                             const Truncation& truncation = {});

// The same where the derivatives by the log-probabilities are known before: by_logprobs [T], of the
// head's wide dtype. Adds to the weight's gradient, where it has one. Nothing is truncated, and
// settings.entropy is false (KW_CHECK).
HeadGradients head_loss_gradients(const at::Tensor& hidden, const Weight& weight,
                                  const at::Tensor& targets, const at::Tensor& by_logprobs,
                                  const HeadSettings& settings);

}  // namespace kw::train
