#include "rollout/kl_reward.h"

#include <cmath>

#include "base/check.h"

namespace kw::rollout {

double kl_estimate(KlEstimate kind, double d) {
  switch (kind) {
    case KlEstimate::kK1:
      return d;
    case KlEstimate::kK2:
      return d * d / 2;
    case KlEstimate::kK3:
      return std::expm1(-d) + d;
  }
  return 0;
}

void subtract_kl(Turn& turn, std::span<const float> policy, std::span<const float> reference,
                 double coefficient, KlEstimate kind) {
  KW_CHECK(policy.size() == turn.tokens.size() && reference.size() == turn.tokens.size());
  turn.token_rewards.resize(turn.tokens.size());
  for (std::size_t i = 0; i < policy.size(); ++i)
    turn.token_rewards[i] -=
        coefficient * kl_estimate(kind, static_cast<double>(policy[i]) - double{reference[i]});
}

}  // namespace kw::rollout
