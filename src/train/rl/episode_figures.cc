#include "train/rl/episode_figures.h"

#include <algorithm>
#include <cmath>
#include <set>

namespace kw::train {

std::optional<bool> is_correct(const Json& facts) {
  if (!facts.is_object() || !facts.contains("progress")) return std::nullopt;
  return facts.value("outcome", Json()) == "passed";
}

std::map<std::string, double> reward_parts(const Json& facts) {
  std::map<std::string, double> out;
  if (!facts.is_object() || !facts.contains("reward") || !facts["reward"].is_object()) return out;
  for (const auto& [name, value] : facts["reward"].items())
    if (value.is_number()) out[name] = value.get<double>();
  return out;
}

EpisodeFigures episode_figures(std::span<const rollout::Group> groups) {
  EpisodeFigures out;
  double squares = 0, episodes = 0, turns = 0, judged = 0, right = 0;
  for (const rollout::Group& group : groups) {
    std::set<std::string> texts;
    for (const rollout::Trajectory& one : group.trajectories) {
      const double reward = rollout::return_of(one);
      out.reward += reward;
      squares += reward * reward;
      episodes += 1;
      for (const rollout::Turn& turn : one.turns) {
        turns += 1;
        out.truncated += turn.truncated ? 1 : 0;
        out.tokens += std::ssize(turn.tokens);
        out.distinct += texts.insert(turn.text).second ? 1 : 0;
        for (const auto& [name, value] : reward_parts(turn.facts)) out.parts[name] += value;
        const std::optional<bool> correct = is_correct(turn.facts);
        judged += correct ? 1 : 0;
        right += correct.value_or(false) ? 1 : 0;
      }
    }
  }
  if (turns == 0) return out;
  out.reward /= episodes;
  out.reward_deviation = std::sqrt(std::max(squares / episodes - out.reward * out.reward, 0.0));
  out.answer_tokens = static_cast<double>(out.tokens) / turns;
  for (double* share : {&out.truncated, &out.distinct}) *share /= turns;
  for (auto& [name, value] : out.parts) value /= turns;
  if (judged > 0) out.correct = right / judged;
  return out;
}

Staleness staleness_of(std::span<const rollout::Group> groups, std::int64_t version) {
  Staleness out;
  double tokens = 0;
  for (const rollout::Group& group : groups)
    for (const rollout::Trajectory& one : group.trajectories)
      for (const rollout::Turn& turn : one.turns)
        for (const std::int32_t drawn_by : turn.versions) {
          const std::int64_t steps = version - drawn_by;
          out.mean += static_cast<double>(steps);
          out.largest = std::max(out.largest, steps);
          tokens += 1;
        }
  if (tokens > 0) out.mean /= tokens;
  return out;
}

AdvantageFigures advantage_figures(std::span<const rollout::Group> groups, std::int64_t sampled) {
  AdvantageFigures out;
  double count = 0, squares = 0, other = 0;
  for (const rollout::Group& group : groups)
    for (const rollout::Trajectory& one : group.trajectories)
      for (const rollout::Turn& turn : one.turns)
        for (const double advantage : turn.advantages) {
          count += 1;
          out.mean += advantage;
          out.magnitude += std::abs(advantage);
          squares += advantage * advantage;
          other += advantage != 0 ? 1 : 0;
        }
  if (sampled > 0) out.zero_share = 1 - other / static_cast<double>(sampled);
  if (count == 0) return out;
  out.mean /= count;
  out.magnitude /= count;
  out.deviation = std::sqrt(std::max(squares / count - out.mean * out.mean, 0.0));
  return out;
}

}  // namespace kw::train
