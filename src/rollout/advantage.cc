#include "rollout/advantage.h"

#include <algorithm>
#include <cmath>
#include <vector>

namespace kw::rollout {
namespace {

struct Moments {
  double mean = 0, squares = 0;  // squares: sum of squared deviations
  std::size_t count = 0;
};

Moments moments_of(const std::vector<double>& values) {
  Moments out;
  out.count = values.size();
  for (double one : values) out.mean += one;
  if (out.count > 0) out.mean /= static_cast<double>(out.count);
  for (double one : values) out.squares += (one - out.mean) * (one - out.mean);
  return out;
}

// 0 for a sample of one.
double deviation_of(const Moments& m, Deviation kind) {
  const std::size_t divisor =
      kind == Deviation::kPopulation ? m.count : m.count - std::min<std::size_t>(m.count, 1);
  return divisor == 0 ? 0 : std::sqrt(m.squares / static_cast<double>(divisor));
}

double leave_one_out(double value, const Moments& m, Singleton singleton) {
  if (m.count < 2) return singleton == Singleton::kZero ? 0 : value;
  const auto count = static_cast<double>(m.count);
  return count / (count - 1) * (value - m.mean);
}

void broadcast(Turn& turn, double advantage) {
  turn.advantages.assign(turn.tokens.size(), advantage);
}

std::vector<double> returns_of(const Group& group) {
  std::vector<double> out;
  for (const Trajectory& one : group.trajectories) out.push_back(return_of(one));
  return out;
}

double by_trajectory(double value, const Moments& m, const AdvantageSettings& settings) {
  switch (settings.estimator) {
    case Estimator::kGrpo:
      return (value - m.mean) / (deviation_of(m, settings.deviation) + settings.epsilon);
    case Estimator::kRloo:
      return leave_one_out(value, m, settings.singleton);
    default:
      return value - m.mean;
  }
}

void fill_by_trajectory(Group& group, const AdvantageSettings& settings) {
  const std::vector<double> returns = returns_of(group);
  const Moments m = moments_of(returns);
  for (std::size_t i = 0; i < returns.size(); ++i) {
    const double advantage = by_trajectory(returns[i], m, settings);
    for (Turn& turn : group.trajectories[i].turns) broadcast(turn, advantage);
  }
}

void fill_by_turn(Group& group, const AdvantageSettings& settings) {
  std::size_t turns = 0;
  for (const Trajectory& one : group.trajectories) turns = std::max(turns, one.turns.size());
  for (std::size_t t = 0; t < turns; ++t) {
    std::vector<double> bucket;
    for (const Trajectory& one : group.trajectories)
      if (t < one.turns.size()) bucket.push_back(return_from(one, t, settings.discount));
    const Moments m = moments_of(bucket);
    auto next = bucket.begin();
    for (Trajectory& one : group.trajectories)
      if (t < one.turns.size())
        broadcast(one.turns[t], leave_one_out(*next++, m, settings.singleton));
  }
}

// Returns of single tokens: the turn's reward comes with its last token.
void fill_token_returns(Trajectory& trajectory, const AdvantageSettings& settings) {
  double later = 0;
  for (std::size_t t = trajectory.turns.size(); t > 0; --t) {
    Turn& turn = trajectory.turns[t - 1];
    double running = turn.reward + settings.discount * later;
    turn.advantages.resize(turn.tokens.size());
    for (std::size_t i = turn.tokens.size(); i > 0; --i) {
      if (i < turn.tokens.size()) running *= settings.token_discount;
      if (!turn.token_rewards.empty()) running += turn.token_rewards[i - 1];
      turn.advantages[i - 1] = running;
    }
    later = running;
  }
}

// Over the tokens of the whole batch.
void whiten(std::span<Group> groups, double epsilon) {
  std::vector<double> all;
  for (const Group& group : groups)
    for (const Trajectory& one : group.trajectories)
      for (const Turn& turn : one.turns)
        all.insert(all.end(), turn.advantages.begin(), turn.advantages.end());
  const Moments m = moments_of(all);
  const double scale = 1 / (deviation_of(m, Deviation::kPopulation) + epsilon);
  for (Group& group : groups)
    for (Trajectory& one : group.trajectories)
      for (Turn& turn : one.turns)
        for (double& advantage : turn.advantages) advantage = (advantage - m.mean) * scale;
}

}  // namespace

std::string_view to_string(Estimator estimator) {
  switch (estimator) {
    case Estimator::kGrpo:
      return "grpo";
    case Estimator::kDrGrpo:
      return "dr_grpo";
    case Estimator::kRloo:
      return "rloo";
    case Estimator::kTrloo:
      return "trloo";
    case Estimator::kReinforcePlusPlus:
      return "reinforce_plus_plus";
    case Estimator::kReinforcePlusPlusBaseline:
      return "reinforce_plus_plus_baseline";
    case Estimator::kNone:
      return "none";
  }
  return "";
}

Status check(const AdvantageSettings& settings) {
  if (!(settings.epsilon >= 0))
    return fail(ErrorCode::kInvalidArgument, "epsilon: expected 0 or more, not {}",
                settings.epsilon);
  if (!(settings.discount >= 0 && settings.discount <= 1))
    return fail(ErrorCode::kInvalidArgument, "discount: expected 0 to 1, not {}",
                settings.discount);
  if (!(settings.token_discount >= 0 && settings.token_discount <= 1))
    return fail(ErrorCode::kInvalidArgument, "token_discount: expected 0 to 1, not {}",
                settings.token_discount);
  return {};
}

void fill_advantages(std::span<Group> groups, const AdvantageSettings& settings) {
  for (Group& group : groups) {
    if (settings.estimator == Estimator::kNone) {
      for (Trajectory& one : group.trajectories)
        for (Turn& turn : one.turns) turn.advantages.assign(turn.tokens.size(), 0);
    } else if (settings.estimator == Estimator::kTrloo) {
      fill_by_turn(group, settings);
    } else if (settings.estimator == Estimator::kReinforcePlusPlus) {
      for (Trajectory& one : group.trajectories) fill_token_returns(one, settings);
    } else {
      fill_by_trajectory(group, settings);
    }
  }
  if (settings.estimator == Estimator::kReinforcePlusPlus ||
      settings.estimator == Estimator::kReinforcePlusPlusBaseline)
    whiten(groups, settings.epsilon);
}

}  // namespace kw::rollout
