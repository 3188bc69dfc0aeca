// LossSettings: every choice of the policy loss, without torch. policy_loss.h computes it.
#pragma once
#include <cstdint>
#include <optional>
#include <string_view>

#include "base/result.h"

namespace kw::train {

// The loss of one token; A is its advantage, r = exp(logp - old) its ratio, sg() stops the
// gradient.
//   sft        -logp
//   reinforce  -A logp                                                        (Williams 1992)
//   ppo        max(-A r, -A clip(r, 1 - low, 1 + high)), at most -dual A where A < 0
//              (PPO, arXiv 1707.06347; separate bounds: DAPO, 2503.14476; dual clip: 1912.09729)
//   cispo      -sg(min(r, 1 + high)) A logp                                   (arXiv 2506.13585)
//   gspo       ppo with s = exp(mean of log r over the sequence) in place of r; a token's gradient
//              is that of sg(s) exp(logp - sg(logp))                          (arXiv 2507.18071)
enum class PolicyLoss : std::uint8_t { kSft, kReinforce, kPpo, kCispo, kGspo };

// What the tokens' sum is divided by. All divisors belong to the whole optimizer step, so that the
// result depends neither on packing nor on micro-batches.
//   token_mean     the weight of all tokens of the step                       (DAPO)
//   sequence_mean  sequences of the step times the weight of the token's own  (GRPO, 2402.03300)
//   constant       sequences of the step times a constant length              (Dr.GRPO, 2503.20783)
enum class Aggregation : std::uint8_t { kTokenMean, kSequenceMean, kConstant };

// Estimators of KL(policy || reference) from d = logp - reference (Schulman, "Approximating KL
// divergence", 2020): k1 = d, k2 = d^2 / 2, k3 = exp(-d) + d - 1.
enum class KlForm : std::uint8_t { kNone, kK1, kK2, kK3 };

// Which log-ratio to the sampler's distribution mu is corrected for.
//   bypass     the sampler's log-probabilities serve as old: logp - mu. A ratio loss has the ratio
//              already, so only masks apply; reinforce takes weights too.
//   decoupled  old comes from a pass of the trainer: old - mu.
enum class CorrectionMode : std::uint8_t { kNone, kBypass, kDecoupled };

// Truncated importance weights: min(rho, cap) of the token, or min(product of rho, cap) of its
// sequence.
enum class ImportanceLevel : std::uint8_t { kNone, kToken, kSequence };

// Log-ratios are held to +-20 before anything else. A mask gives a sequence the weight 0.
struct CorrectionSettings {
  CorrectionMode mode = CorrectionMode::kNone;
  ImportanceLevel importance = ImportanceLevel::kNone;
  double importance_cap = 2;
  // Keeps a sequence if exp(mean of log rho) is within [low, high] (Dr. Kernel: 0.999, 1.001).
  std::optional<double> geometric_low, geometric_high;
  // Keeps a sequence if the mean of |log rho| is at most this: deviations cannot cancel.
  std::optional<double> max_absolute;
  // Drops a sequence in which any token has rho below this (verl, Dr. Kernel: 1e-4).
  std::optional<double> veto;
};

struct LossSettings {
  PolicyLoss loss = PolicyLoss::kSft;
  double clip_low = 0.2, clip_high = 0.28;
  std::optional<double> dual_clip = 3;  // over 1; none: no bound where A < 0
  Aggregation aggregation = Aggregation::kTokenMean;
  double constant_length = 0;  // of kConstant, in tokens
  KlForm kl = KlForm::kNone;   // added to the loss; KL in the reward is the rollout's
  double kl_coefficient = 0;
  double entropy_coefficient = 0;  // times the entropy, subtracted from the loss
  CorrectionSettings correction;
};

// kInvalidArgument names the setting: a range, or importance weights beside a ratio loss in bypass
// mode, which would count the correction twice.
Status check(const LossSettings& settings);

std::string_view to_string(PolicyLoss loss);          // "sft", "reinforce", "ppo", ...
std::string_view to_string(Aggregation aggregation);  // "token_mean", ...
std::string_view to_string(KlForm form);              // "none", "k1", "k2", "k3"
std::string_view to_string(CorrectionMode mode);      // "none", "bypass", "decoupled"
std::string_view to_string(ImportanceLevel level);    // "none", "token", "sequence"

}  // namespace kw::train
