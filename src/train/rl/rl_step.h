// One step of reinforcement learning: samples with advantages, in one or several optimizer steps.
#pragma once
#include <cstdint>
#include <functional>
#include <optional>
#include <span>

#include "train/loss/distill_loss.h"
#include "train/loss/loss_settings.h"
#include "train/model/decoder.h"
#include "train/model/lm_head.h"
#include "train/model/weights.h"
#include "train/optimizer/optimizer.h"
#include "train/parallel/collectives.h"
#include "train/rl/policy_samples.h"

namespace kw::train {

struct RlStepResult {
  double loss = 0;           // mean over the updates, as the other numbers
  double policy_loss = 0;    // the part of the rewards and of the teacher
  double gradient_norm = 0;  // before clipping
  double entropy = 0;        // nats, mean over answer tokens before the step
  double clip_share = 0;     // of answer tokens, in [0, 1]: no policy gradient because of a clip
  double kl = 0;             // mean estimate of KL(policy || reference); 0 without one
  double teacher_kl = 0;     // the same of KL(policy || teacher) before the step (k1)
  // The sampler's log-probabilities are compared with the trainer's before the step, over answer
  // tokens: means of k1 and k3, and the largest difference.
  double mismatch_k1 = 0, mismatch_k3 = 0, mismatch_largest = 0;
  // Means in nats a token: the divergence from the policy that has read the feedback, and the
  // cross-entropy of what the environment said. Sums over the step's updates, before each of them.
  double feedback_divergence = 0, observation_loss = 0;
  std::int64_t feedback_tokens = 0, feedback_answers = 0, observation_tokens = 0;
  std::int64_t tokens = 0;    // of answers
  std::int64_t computed = 0;  // tokens of all sequences
  std::int64_t updates = 0;   // optimizer steps
};

// Everything is borrowed. Lets c10::Error fly.
struct RlParts {
  Weights& weights;
  const Decoder& decoder;
  Optimizer& optimizer;
  // The reference of the KL, or the teacher; null: there is neither.
  const Decoder* reference = nullptr;
  const Weights* reference_weights = nullptr;
  HeadSettings head = {};  // temperature: the sampler's
  std::int64_t micro_tokens = 0;
  // The teacher that reads feedback; null: the policy as it is.
  const Decoder* feedback_teacher = nullptr;
  const Weights* feedback_weights = nullptr;
  Collectives* ranks = nullptr;  // null: this process trains alone
  // Called between micro-batches: there the step may stand still.
  std::function<void()> rest = [] {};
};

struct RlStepSettings {
  LossSettings loss;
  std::int64_t updates = 1;  // the samples are dealt out to so many optimizer steps
  std::uint64_t order = 0;   // seed of the dealing
  double learning_rate = 0;
  // Over 0, the reference is a teacher: this times log p_teacher - log p_policy, both before the
  // step, is added to each token's advantage (on-policy distillation: minus KL(policy || teacher),
  // token by token).
  double teacher = 0;
  // With a teacher: instead, `teacher` times this divergence of the distributions at each place is
  // the loss, without the square of the temperature. Advantages and the policy loss are not used;
  // its aggregation is.
  std::optional<DistillLoss> teacher_loss = {};
  // To the loss of an update comes feedback / N times the sum of this divergence D, without the
  // square of the temperature, over the N answer tokens of its samples with a teacher_context. The
  // teacher has read that in place of what the policy had read, and gets no gradient (SDPO, arXiv
  // 2601.20802, with reverse and with jensen_shannon). 0: none.
  double feedback = 0;
  DistillLoss feedback_loss = {};
  // And observation / M times the cross-entropy of the M tokens that the samples' `observed` names.
  double observation = 0;
};

// The same samples and settings give the same bits, with the same number of threads and ranks. Of
// several ranks all call it with the same samples, each computes its share of them, and all get the
// same result. samples: all
// or none with cutoffs, with which log-probabilities are those of the truncated distribution.
// Neither feedback nor observations beside a teacher_loss (KW_CHECK).
RlStepResult rl_step(const RlParts& parts, std::span<const PolicySample> samples,
                     const RlStepSettings& settings);

}  // namespace kw::train
