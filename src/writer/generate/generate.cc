#include "writer/generate/generate.h"

#include <algorithm>
#include <optional>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "writer/generate/body_text.h"
#include "writer/generate/definition_text.h"
#include "writer/generate/docstrings.h"
#include "writer/generate/forms.h"
#include "writer/generate/module_text.h"
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

constexpr int kMostDraws = 50, kMostDrawsOfWay = 3000;

// Where the options' way is to be; nothing where the plan cannot have it.
std::optional<generate::WantedWay> wanted_way(const generate::Plan& plan,
                                              const GeneratorOptions& options) {
  if (options.first_way < 0) return generate::WantedWay{};
  for (std::size_t i = 0; i < plan.steps.size(); ++i) {
    if (plan.steps[i].spec->name != options.only_first) continue;
    const generate::WantedWay wanted{i, options.first_way};
    const auto ways = generate::ways_of(plan, plan.steps[i], true);
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
    for (const auto& [name, value] : node.arguments) {
      if (const auto* id = std::get_if<ValueId>(&value)) see(*id);
      if (const auto* list = std::get_if<std::vector<std::optional<ValueId>>>(&value)) {
        for (const auto& one : *list)
          if (one) see(*one);
      }
    }
  }
  return inputs.size() == plan.slots.size();
}

// The same text but for its sizes: drawn from equal streams.
Result<std::vector<task::Problem>> resized_modules(const generate::Plan& plan,
                                                   const std::string& name,
                                                   const generate::WantedWay& wanted,
                                                   const Rng& rng) {
  std::vector<task::Problem> out;
  for (const generate::SizeSet set : {generate::SizeSet::kOdd, generate::SizeSet::kNear}) {
    const std::optional<generate::Plan> other = generate::resized(plan, set);
    if (!other) continue;
    Rng mine = rng;
    KW_TRY(ProblemForm form,
           generate::module_form(*other, name, generate::module_text(*other, mine, wanted)));
    out.push_back(std::move(form.problem));
  }
  return out;
}

Result<GeneratedProblem> write_down(const generate::Plan& plan, std::uint64_t seed,
                                    std::uint64_t index, const generate::WantedWay& wanted,
                                    Rng& rng) {
  GeneratedProblem out;
  out.name = title_of(plan, seed, index);
  out.depth = static_cast<int>(plan.steps.size());
  for (const generate::Step& step : plan.steps) {
    out.operators.emplace_back(step.spec->name);
    out.tier = std::max(out.tier, step.spec->tier);
  }
  if (out.depth > 3) ++out.tier;
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
  generate::DefinitionText definition =
      generate::definition_text(plan, out.name, out.family, definition_rng, wanted);
  for (const std::string& way : definition.ways) out.renderings.push_back(way + " definition");
  out.steps = definition.steps;
  KW_TRY(out.definition, generate::definition_form(plan, std::move(definition)));
  return out;
}

}  // namespace

Result<GeneratedProblem> generate_problem(std::uint64_t seed, std::uint64_t index,
                                          const GeneratorOptions& options) {
  Rng rng = Rng::at(seed, index);
  KW_TRY(generate::Plan plan, generate::sample_plan(rng, options));
  auto wanted = wanted_way(plan, options);
  for (int draws = 1; !wanted || !uses_all_inputs(plan); ++draws) {
    if (draws == (options.first_way < 0 ? kMostDraws : kMostDrawsOfWay))
      return fail(ErrorCode::kInternal, "problem {} of seed {}: {} draws {}", index, seed, draws,
                  wanted ? "leave an input unused"
                         : fmt::format("cannot have {}/{}", options.only_first, options.first_way));
    KW_TRY(plan, generate::sample_plan(rng, options));
    wanted = wanted_way(plan, options);
  }
  auto out = write_down(plan, seed, index, *wanted, rng);
  if (!out)
    return fail(ErrorCode::kInternal, "problem {} of seed {}: {}", index, seed,
                out.error().message());
  return out;
}

std::vector<OperatorWays> generator_operators() {
  std::vector<OperatorWays> out;
  for (const generate::OpSpec& spec : generate::all_operators()) {
    OperatorWays one{std::string(spec.name), std::string(spec.family), 0, 0};
    for (const generate::Rendering& way : spec.ways) {
      ++one.module_ways;
      if (way.layer.empty()) ++one.definition_ways;
    }
    out.push_back(std::move(one));
  }
  return out;
}

}  // namespace kw::writer
