// A record of sampled tokens for kw_train_parity: what the engine recorded, and the weights that it
// sampled with.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include <ATen/core/Tensor.h>

#include "base/result.h"
#include "lm/model/parameters.h"

namespace kw::train {

inline constexpr std::int64_t kPrompt = 32;  // tokens

struct Sampled {
  std::vector<std::int32_t> tokens;  // prompt, then what was sampled
  // Of the sampled ones.
  std::vector<float> logprobs, cutoffs;
};

struct Options {
  std::string folder, device, dtype;
  std::int64_t sequences = 0, tokens = 0;
  double top_p = 1;
  bool new_weights = false, variants = false;

  bool cuda() const { return device == "cuda"; }
  bool narrow() const { return dtype == "bfloat16"; }
  std::int64_t context() const { return kPrompt + tokens + 1; }
};

struct Record {
  std::vector<Sampled> sequences;
  at::Tensor as_prompts;  // [sequences, tokens]; undefined unless asked for
  double seconds = 0;     // of sampling
};

// The folder's weights, or random ones; float32.
Result<lm::Parameters> parameters_of(const Options& options);
// The same weights in bfloat16.
Result<lm::Parameters> rounded(const lm::Parameters& wide);
Result<Record> record_of(const Options& options, const lm::Parameters& parameters);

double now();  // seconds

}  // namespace kw::train
