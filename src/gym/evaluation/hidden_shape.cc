#include "gym/evaluation/hidden_shape.h"

#include <algorithm>
#include <cstdint>
#include <limits>

#include "base/hash.h"
#include "base/random.h"
#include "task/signature.h"

namespace kw::gym {
namespace {

constexpr std::string_view kPrefix = "hidden ";
constexpr std::size_t kSeedDigits = 15;  // hexadecimal

// A target takes such shapes in a fraction of a second.
struct Reach {
  std::int64_t least_long, longest;  // of a long axis
  std::int64_t elements;             // of all tensors together
};

Reach reach_of(task::Target target) {
  if (target == task::Target::kCuda) return {65'537, 70'001, std::int64_t{1} << 22};
  if (target == task::Target::kInterpret) return {129, 257, std::int64_t{1} << 12};
  return {4'097, 20'001, std::int64_t{1} << 18};
}

std::uint64_t seed_of(std::string_view text) {
  return std::stoull(sha256_hex(text).substr(0, kSeedDigits), nullptr, 16);
}

std::int64_t odd_between(Rng& rng, std::int64_t least, std::int64_t most) {
  const auto choices = static_cast<std::uint64_t>((most - least) / 2 + 1);
  return (least | 1) + 2 * static_cast<std::int64_t>(rng.below(choices));
}

bool draws_all_inputs(const task::Workload& workload) {
  return std::ranges::all_of(workload.inputs, [](const auto& input) {
    return std::holds_alternative<task::RandomInput>(input.second) ||
           std::holds_alternative<task::ScalarInput>(input.second);
  });
}

// INT64_MAX: the definition does not allow these sizes.
std::int64_t elements_of(const task::Problem& problem, const task::Workload& workload) {
  auto signature = task::signature_of(problem.definition(), workload, problem.policy.statics);
  if (!signature) return std::numeric_limits<std::int64_t>::max();
  std::int64_t sum = 0;
  for (const auto* tensors : {&signature->inputs, &signature->statics, &signature->outputs})
    for (const task::Argument& tensor : *tensors) sum += tensor.elements();
  return sum;
}

void draw_small(Rng& rng, task::Workload& workload) {
  for (auto& [name, size] : workload.axes) size = odd_between(rng, 3, 97);
  workload.axes[rng.below(workload.axes.size())].second = 1;
}

void draw_long(Rng& rng, const Reach& reach, task::Workload& workload) {
  for (auto& [name, size] : workload.axes) size = odd_between(rng, 1, 7);
  auto& [name, size] = workload.axes[rng.below(workload.axes.size())];
  size = odd_between(rng, reach.least_long, reach.longest);
}

// Halves the longest axis until the tensors are small enough.
void shrink(const task::Problem& problem, const Reach& reach, task::Workload& workload) {
  while (elements_of(problem, workload) > reach.elements) {
    const auto longest =
        std::ranges::max_element(workload.axes, {}, &std::pair<std::string, std::int64_t>::second);
    if (longest->second == 1) return;
    longest->second = (longest->second / 2) | 1;
  }
}

std::string uuid_of(const task::Workload& workload) {
  std::string out(kPrefix);
  for (std::size_t i = 0; i < workload.axes.size(); ++i)
    out +=
        fmt::format("{}{}={}", i == 0 ? "" : ",", workload.axes[i].first, workload.axes[i].second);
  return out;
}

}  // namespace

task::Problem with_hidden_shape(task::Problem problem, task::Target target,
                                std::string_view candidate_hash) {
  if (!problem.policy.any_shape || problem.is_module()) return problem;
  const auto announced = problem.workloads_for(target);
  if (announced.empty() || announced.front()->axes.empty() || !draws_all_inputs(*announced.front()))
    return problem;
  task::Workload workload = *announced.front();
  const bool is_long = (seed_of(fmt::format("shape of {}", candidate_hash)) & 1U) != 0;
  Rng rng(seed_of(fmt::format("{} {} {}", problem.hash, to_string(target), is_long)));
  const Reach reach = reach_of(target);
  if (is_long)
    draw_long(rng, reach, workload);
  else
    draw_small(rng, workload);
  shrink(problem, reach, workload);
  workload.uuid = uuid_of(workload);
  if (elements_of(problem, workload) > reach.elements) return problem;
  if (std::ranges::find(problem.workloads, workload.uuid, &task::Workload::uuid) !=
      problem.workloads.end())
    return problem;  // a workload of the problem has this name
  task::WorkloadPolicy policy;
  policy.targets = {target};
  policy.label = "a shape that is not announced";
  policy.timed = false;
  problem.policy.workloads[workload.uuid] = std::move(policy);
  problem.workloads.push_back(std::move(workload));
  return problem;
}

}  // namespace kw::gym
