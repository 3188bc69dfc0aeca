#include "train/rl/evaluation.h"

#include <cmath>
#include <vector>

#include "train/rl/episode_figures.h"

namespace kw::train {
namespace {

// The logarithms of measured speedups, and the halves of their 95 % intervals, added up.
struct Speedups {
  double sum = 0, squared_halves = 0, count = 0;

  void add(const Json& facts) {
    if (!facts.is_object() || !facts.contains("speedup")) return;
    const Json& all = facts["speedup"];  // median, low, high
    if (!all.is_array() || all.size() != 3) return;
    for (const Json& one : all)
      if (!one.is_number() || !(one.get<double>() > 0)) return;
    const double half = std::log(all[2].get<double>() / all[1].get<double>()) / 2;
    sum += std::log(all[0].get<double>());
    squared_halves += half * half;
    count += 1;
  }
  Json mean() const { return count > 0 ? Json(sum / count) : Json(); }
  // Measurements are independent of each other.
  Json interval() const {
    if (count == 0) return {};
    const double half = std::sqrt(squared_halves) / count;
    return {sum / count - half, sum / count + half};
  }
};

void add_last_turns(const rollout::Group& group, Speedups& into) {
  for (const rollout::Trajectory& one : group.trajectories)
    if (!one.turns.empty()) into.add(one.turns.back().facts);
}

Json numbers_of(std::span<const rollout::Group> groups) {
  const EpisodeFigures figures = episode_figures(groups);
  Speedups speedups;
  for (const rollout::Group& group : groups) add_last_turns(group, speedups);
  return {{"reward", figures.tokens > 0 ? Json(figures.reward) : Json()},
          {"correct", figures.correct ? Json(*figures.correct) : Json()},
          {"measured", static_cast<std::int64_t>(speedups.count)},
          {"log_speedup", speedups.mean()},
          {"log_speedup_interval", speedups.interval()}};
}

}  // namespace

Json evaluation_row(std::int64_t step, const Played& played, double seconds) {
  Json out = {{"schema", 1},
              {"step", step},
              {"episodes", played.episodes},
              {"without_reward", played.without_reward},
              {"no_room", played.no_room},
              {"seconds", seconds}};
  out.update(numbers_of(played.groups));
  const EpisodeFigures figures = episode_figures(played.groups);
  out["truncated"] = figures.truncated;
  out["parts"] = figures.parts;
  Json& tasks = out["tasks"] = Json::object();
  for (const rollout::Group& group : played.groups) tasks[group.id] = numbers_of({&group, 1});
  return out;
}

}  // namespace kw::train
