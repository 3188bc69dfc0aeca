// What a token is drawn by, and what is recorded of it.
#pragma once
#include <cstdint>
#include <memory>
#include <vector>

#include "base/result.h"

namespace kw::lm {

// Applied in this order, as transformers and vLLM do: mask, temperature, top_k, top_p, min_p; each
// on what the ones before have left, with probabilities renormalised.
struct SamplingSettings {
  double temperature = 1;  // 0: the largest logit, the first of equal ones
  std::int64_t top_k = 0;  // keep so many of the largest; 0: all. Of equal ones the first
  double top_p = 1;        // keep the fewest of the largest that reach so much together
  double min_p = 0;        // drop what is less than this share of the largest probability
};
// kInvalidArgument names the setting and its range.
Status check(const SamplingSettings& settings);

// Whether top_k, top_p or min_p may leave tokens out.
bool truncates(const SamplingSettings& settings);

// Tokens that may be drawn: a bit each, in words of 64; empty allows all.
using LogitMask = std::vector<std::uint64_t>;

struct SampleRequest {
  std::int32_t row = 0;  // of the step
  SamplingSettings settings;
  // The random number is Philox4x32-10 (Salmon et al., SC 2011) of these three and nothing else.
  std::uint64_t seed = 0, sequence = 0;
  std::uint32_t position = 0;  // of the token that is drawn
  std::shared_ptr<const LogitMask> mask;
  std::int32_t forced = -1;       // this token instead of a draw: for its log-probability
  std::int32_t top_logprobs = 0;  // likeliest tokens to report, at most kMaxTopLogprobs
};
inline constexpr std::int32_t kMaxTopLogprobs = 20;

struct TokenLogprob {
  std::int32_t token = 0;
  float logprob = 0;
};

// Less than any log-probability.
inline constexpr float kNoCutoff = -1e30F;

struct Sample {
  std::int32_t token = 0;
  float logprob = 0;  // natural, under the model's own distribution: temperature 1, nothing masked
  float policy_logprob = 0;  // under the distribution it was drawn from; 0 for temperature 0
  float entropy = 0;  // nats, of the masked distribution at the settings' temperature (1 for 0)
  // Log-probability of the least likely token that top_k, top_p and min_p have left, before they
  // took the others: with the mask and the temperature. kNoCutoff where they leave all.
  float cutoff = kNoCutoff;
  std::int32_t weights = 0;  // their version (Engine::weights_changed)
  // The request's top_logprobs likeliest, as `logprob`; the first of equal ones first.
  std::vector<TokenLogprob> top;
};

// A number in [0, 1) with 53 random bits.
double uniform_at(std::uint64_t seed, std::uint64_t sequence, std::uint32_t position);

}  // namespace kw::lm
