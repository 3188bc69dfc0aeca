#include "train/rl/rollout_plans.h"

#include <utility>

#include <fmt/format.h>

#include "base/random.h"
#include "base/seed.h"

namespace kw::train {

// Each pass over the tasks has an order of its own.
std::vector<std::string> RolloutPlans::tasks_of(std::int64_t step) const {
  std::vector<std::string> out;
  std::vector<std::string> order;
  std::uint64_t pass = 0;
  for (std::int64_t i = 0; i < settings_.prompts; ++i) {
    const auto number = static_cast<std::uint64_t>(step * settings_.prompts + i);
    if (order.empty() || number / tasks_.size() != pass) {
      pass = number / tasks_.size();
      order = tasks_;
      Rng rng = Rng::at(settings_.seed, pass);
      for (std::size_t j = order.size(); j > 1; --j) std::swap(order[j - 1], order[rng.below(j)]);
    }
    out.push_back(order[number % tasks_.size()]);
  }
  return out;
}

RolloutPlan RolloutPlans::of_step(std::int64_t step) const {
  RolloutPlan out;
  out.step = step;
  out.tasks = tasks_of(step);
  out.samples = settings_.samples;
  out.first_episode = static_cast<std::uint64_t>(step * settings_.prompts * settings_.samples);
  out.sampler = {settings_.sampling_settings(), settings_.seed, settings_.answer_tokens, {}};
  return out;
}

RolloutPlan RolloutPlans::of_evaluation() const {
  RolloutPlan out;
  out.tasks = settings_.held_out;
  out.samples = settings_.eval_samples;
  out.sampler = {{.temperature = settings_.eval_temperature},
                 seed_of(fmt::format("evaluate {}", settings_.seed)),
                 settings_.answer_tokens,
                 {}};
  return out;
}

}  // namespace kw::train
