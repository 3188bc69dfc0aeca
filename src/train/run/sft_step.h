// One optimizer step of supervised fine-tuning, and the loss on held-out samples.
#pragma once
#include <cstdint>
#include <span>
#include <vector>

#include "train/data/sample.h"
#include "train/data/step_drawer.h"
#include "train/model/decoder.h"
#include "train/model/lm_head.h"
#include "train/model/weights.h"
#include "train/optimizer/adamw.h"

namespace kw::train {

struct StepResult {
  double loss = 0;           // nats, mean over the tokens by their weights
  double gradient_norm = 0;  // before clipping
  std::int64_t tokens = 0;   // computed
  double weight = 0;         // sum of the tokens' loss weights
  std::int64_t micro_batches = 0;
};

// Everything is borrowed. Lets c10::Error fly.
struct SftParts {
  Weights& weights;
  const Decoder& decoder;
  AdamW& optimizer;
  HeadSettings head;
  std::int64_t micro_tokens = 0;
};

// The token mean over all samples together, however they are packed.
StepResult sft_step(SftParts parts, const DrawnStep& step, double learning_rate);

struct HeldOutLoss {
  double nats_per_token = 0;  // by the tokens' weights
  double nats = 0;            // sum over tokens with a weight, not weighted
};
HeldOutLoss held_out_loss(SftParts parts, std::span<const Sample> samples);

}  // namespace kw::train
