// KL to a reference policy as a penalty in the reward, token by token (InstructGPT, arXiv
// 2203.02155). In the loss instead: train/loss/policy_loss.h.
#pragma once
#include <cstdint>
#include <span>

#include "rollout/trajectory.h"

namespace kw::rollout {

// Estimators from d = log policy - log reference (Schulman, "Approximating KL divergence", 2020).
// k1 in the reward has the gradient of the KL divergence itself; k2 and k3 are biased there.
enum class KlEstimate : std::uint8_t { kK1, kK2, kK3 };
double kl_estimate(KlEstimate kind, double d);  // d, d^2 / 2, exp(-d) + d - 1

// Subtracts coefficient times the estimate from Turn::token_rewards. policy and reference: log-
// probabilities of the turn's tokens, as many as tokens (KW_CHECK).
void subtract_kl(Turn& turn, std::span<const float> policy, std::span<const float> reference,
                 double coefficient, KlEstimate kind);

}  // namespace kw::rollout
