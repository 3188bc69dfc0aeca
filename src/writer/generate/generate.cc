#include "writer/generate/generate.h"

#include <algorithm>
#include <optional>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/check.h"
#include "writer/generate/body_text.h"
#include "writer/generate/definition_text.h"
#include "writer/generate/docstrings.h"
#include "writer/generate/forms.h"
#include "writer/generate/module_text.h"
#include "writer/generate/precision.h"
#include "writer/generate/sample_plan.h"
#include "writer/generate/sizes.h"

namespace kw::writer {
namespace {

std::string title_of(const generate::Plan& plan, std::uint64_t seed, std::uint64_t index) {
  std::vector<std::string_view> names;
  for (const generate::Step& step : plan.steps) names.push_back(step.spec->name);
  if (names.size() > 4) names.resize(4);
  return fmt::format("{}_{}_{}", fmt::join(names, "_"), seed, index);
}

constexpr int kMaxDraws = 3000;
constexpr double kHalf = 0.2;          // of the problems that hold in half precision
constexpr std::size_t kShortPlan = 3;  // a longer one is a tier higher

int tier_of(const generate::Plan& plan) {
  int out = plan.steps.size() > kShortPlan ? 1 : 0, hardest = 1;
  for (const generate::Step& step : plan.steps) hardest = std::max(hardest, step.spec->tier);
  return out + hardest;
}

// "conv2d": the parameter r is the number of a window's dimensions.
std::string name_with_rank(const generate::Step& step) {
  const generate::Param* rank = step.param("r");
  const auto* text = rank == nullptr ? nullptr : std::get_if<std::string>(&rank->value);
  return fmt::format("{}{}", step.spec->name, text == nullptr ? "" : *text + "d");
}

// Where the options' way is to be; nothing where the plan cannot have it.
std::optional<generate::WantedWay> wanted_way(const generate::Plan& plan,
                                              const GeneratorOptions& options) {
  if (options.first_way < 0) return generate::WantedWay{};
  for (std::size_t i = 0; i < plan.steps.size(); ++i) {
    if (plan.steps[i].spec->name != options.only_first) continue;
    const generate::WantedWay wanted{i, options.first_way};
    const auto ways = generate::ways_of(plan.steps[i], true);
    if (generate::wanted_of(ways, wanted, i) != nullptr) return wanted;
  }
  return std::nullopt;
}

// A formula may leave its second tensor out.
bool uses_all_inputs(const generate::Plan& plan) {
  std::set<int> nodes;
  std::set<std::size_t> inputs;
  std::vector<ValueId> open;
  const auto see = [&](const ValueId& id) {
    if (id.is_input())
      inputs.insert(id.input_index());
    else if (nodes.insert(id.node).second)
      open.push_back(id);
  };
  for (const int output : plan.outputs) see(plan.values[static_cast<std::size_t>(output)].id);
  while (!open.empty()) {
    const Node& node = plan.nodes[static_cast<std::size_t>(open.back().node)];
    open.pop_back();
    for_each_value(node, see);
  }
  return inputs.size() == plan.slots.size();
}

// The same text but for its sizes: drawn from equal streams.
Result<std::vector<task::Problem>> resized_modules(const generate::Plan& plan,
                                                   const std::string& name,
                                                   const generate::WantedWay& wanted,
                                                   const Rng& rng) {
  std::vector<task::Problem> out;
  for (const generate::Sizes& sizes : generate::other_sizes(plan, generate::free_axes(plan))) {
    const std::optional<generate::Plan> other = generate::with_sizes(plan, sizes);
    KW_CHECK(other.has_value());
    Rng mine = rng;
    KW_TRY(ProblemForm form,
           generate::module_form(*other, name, generate::module_text(*other, mine, wanted)));
    out.push_back(std::move(form.problem));
  }
  return out;
}

// Not for the target interpret.
void leave_to_compilers(task::Problem& module) {
  module.policy.workloads[module.workloads[0].uuid].targets = {task::Target::kCpu,
                                                               task::Target::kCuda};
  module.hash = task::problem_hash(module);
}

Result<GeneratedProblem> write_down(const generate::Plan& plan, std::uint64_t seed,
                                    std::uint64_t index, const generate::WantedWay& wanted,
                                    Rng& rng) {
  GeneratedProblem out;
  out.name = title_of(plan, seed, index);
  out.depth = static_cast<int>(plan.steps.size());
  for (const generate::Step& step : plan.steps) {
    out.operators.emplace_back(step.spec->name);
    out.made_of.push_back(name_with_rank(step));
  }
  out.tier = tier_of(plan);
  const std::string first(plan.steps[0].spec->family);
  const bool alike = std::all_of(plan.steps.begin(), plan.steps.end(),
                                 [&](const auto& step) { return step.spec->family == first; });
  out.family = alike ? first : "fused";
  out.words = generate::words_of(plan);
  Rng module_rng = rng.fork(), definition_rng = rng.fork();
  KW_TRY(out.resized_modules, resized_modules(plan, out.name, wanted, module_rng));
  generate::ModuleText module = generate::module_text(plan, module_rng, wanted);
  for (const std::string& way : module.ways) out.renderings.push_back(way + " module");
  KW_TRY(out.module, generate::module_form(plan, out.name, std::move(module)));
  if (generate::has_small_sizes(plan)) leave_to_compilers(out.module.problem);
  generate::DefinitionText definition =
      generate::definition_text(plan, out.name, out.family, definition_rng, wanted);
  for (const std::string& way : definition.ways) out.renderings.push_back(way + " definition");
  out.steps = definition.steps;
  KW_TRY(out.definition, generate::definition_form(plan, std::move(definition)));
  return out;
}

// What is missing in a plan; empty: nothing.
std::string lack_of(const generate::Plan& plan, const GeneratorOptions& options) {
  if (!uses_all_inputs(plan)) return "leave an input unused";
  if (generate::variable_axes(plan).empty()) return "have no size that may change";
  const int tier = tier_of(plan);
  const auto& tiers = options.tiers;
  if (!tiers.empty() && std::find(tiers.begin(), tiers.end(), tier) == tiers.end())
    return fmt::format("are not of tier {}", fmt::join(tiers, " or "));
  if (!wanted_way(plan, options))
    return fmt::format("cannot have {}/{}", options.only_first, options.first_way);
  return {};
}

std::optional<tensor::DType> wanted_half(Rng& rng, const GeneratorOptions& options) {
  if (options.only_half) return options.only_half;
  if (rng.uniform() >= kHalf) return std::nullopt;
  return rng.uniform() < 0.5 ? tensor::DType::kFloat16 : tensor::DType::kBFloat16;
}

// Within bounds for an interpreter where there are any, and then stretched.
Result<generate::Plan> draw_plan(Rng& rng, const GeneratorOptions& options) {
  const bool interpreted =
      options.interpreted_elements > 0 && options.interpreted_elements < options.max_elements;
  GeneratorOptions bounds = options;
  if (interpreted) {
    bounds.max_elements = options.interpreted_elements;
    bounds.max_work = std::max<std::int64_t>(
        1, options.max_work / (options.max_elements / options.interpreted_elements));
  }
  std::string lack;
  for (int draws = 0; draws < kMaxDraws; ++draws) {
    KW_TRY(generate::Plan plan, generate::sample_plan(rng, bounds));
    lack = lack_of(plan, options);
    if (!lack.empty()) continue;
    if (interpreted)
      plan = generate::stretched(plan, rng, {options.max_elements, options.max_work});
    const auto half = wanted_half(rng, options);
    const bool holds = half && generate::holds_in(plan, *half);
    if (holds) generate::retype(plan, *half);
    if (options.only_half && !holds) {
      lack = fmt::format("do not hold in {}", tensor::to_string(*options.only_half));
      continue;
    }
    return plan;
  }
  return fail(ErrorCode::kInternal, "{} draws {}", kMaxDraws, lack);
}

}  // namespace

Result<GeneratedProblem> generate_problem(std::uint64_t seed, std::uint64_t index,
                                          const GeneratorOptions& options) {
  Rng rng = Rng::at(seed, index);
  const auto named = [&](Error&& error) {
    return tl::unexpected(
        std::move(error).with_context(fmt::format("problem {} of seed {}", index, seed)));
  };
  auto plan = draw_plan(rng, options);
  if (!plan) return named(std::move(plan).error());
  const auto way = wanted_way(*plan, options);
  KW_CHECK(way.has_value());  // the plan was drawn so
  auto out = write_down(*plan, seed, index, *way, rng);
  if (!out) return named(std::move(out).error());
  return out;
}

std::vector<OperatorWays> generator_operators() {
  std::vector<OperatorWays> out;
  for (const generate::OpSpec& spec : generate::all_operators()) {
    OperatorWays one{std::string(spec.name), std::string(spec.family), 0, 0,
                     spec.half.value_or(false)};
    for (const generate::Rendering& way : spec.ways) {
      ++one.module_ways;
      if (way.layer.empty()) ++one.definition_ways;
    }
    out.push_back(std::move(one));
  }
  return out;
}

}  // namespace kw::writer
