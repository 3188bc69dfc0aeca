// One optimizer step of training on rows, by cross-entropy or by a teacher's distributions, and the
// loss on held-out samples.
#pragma once
#include <cstdint>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "train/cuda/transfer.h"
#include "train/data/sample.h"
#include "train/data/step_drawer.h"
#include "train/loss/distill_loss.h"
#include "train/model/decoder.h"
#include "train/model/lm_head.h"
#include "train/model/weights.h"
#include "train/optimizer/optimizer.h"
#include "train/parallel/collectives.h"

namespace kw::train {

struct StepResult {
  double loss = 0;           // mean over the tokens by their weights; nats without a teacher
  double gradient_norm = 0;  // before clipping
  std::int64_t tokens = 0;   // computed
  double weight = 0;         // sum of the tokens' loss weights
  std::int64_t micro_batches = 0;
  // With a teacher, means as of the loss: nats of divergence and of cross-entropy.
  std::optional<double> divergence, cross_entropy;
};

struct Teacher {
  const Weights& weights;
  const Decoder& decoder;
  DistillLoss loss;
};

// Everything is borrowed. Lets c10::Error and CollectiveError fly.
struct SftParts {
  Weights& weights;
  const Decoder& decoder;
  Optimizer& optimizer;
  HeadSettings head;
  std::int64_t micro_tokens = 0;
  const Teacher* teacher = nullptr;  // null: cross-entropy is the loss
  Collectives* ranks = nullptr;      // null: this process trains alone
};

// A step that was put on the device: its result is read when it is wanted.
class LaunchedStep {
 public:
  // known: what the host knows of the result already. numbers: the rest, as launch_sft_step() lays
  // it out.
  LaunchedStep(StepResult known, const Teacher* teacher, cuda::DeferredNumbers numbers)
      : known_(known), teacher_(teacher), numbers_(std::move(numbers)) {}
  // Waits for this step, and not for what the device got after it; once.
  StepResult wait();

 private:
  StepResult known_;
  const Teacher* teacher_;  // borrowed
  cuda::DeferredNumbers numbers_;
};

// The token mean over all samples of all ranks together, however they are packed and shared. All
// ranks call it, and get the same result. On a GPU it returns before the step is computed.
LaunchedStep launch_sft_step(SftParts parts, const DrawnStep& step, double learning_rate);

struct HeldOutLoss {
  double nats_per_token = 0;         // by the tokens' weights
  double nats = 0;                   // sum over tokens with a weight, not weighted
  std::optional<double> divergence;  // with a teacher: nats per token, by the weights
};
// samples: this rank's share; weight: weight_of() all ranks' samples. The loss of all of them.
HeldOutLoss held_out_loss(SftParts parts, std::span<const Sample> samples, double weight);

}  // namespace kw::train
