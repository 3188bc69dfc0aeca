#include "writer/author/write_triton.h"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "writer/author/limit.h"
#include "writer/author/operator_chain.h"
#include "writer/loops/loops.h"
#include "writer/triton/triton_source.h"

namespace kw::writer {
namespace {

// The choices that were asked for, then each kernel with its blocks.
std::string tiling_line(const Tuning& asked, const std::vector<std::string>& kernels) {
  std::vector<std::string> choices;
  for (const auto& [name, value] : asked) choices.push_back(fmt::format("{}={}", name, value));
  std::vector<std::string> parts;
  if (!choices.empty()) parts.push_back(fmt::format("{}", fmt::join(choices, " ")));
  parts.insert(parts.end(), kernels.begin(), kernels.end());
  return parts.empty() ? "none" : fmt::format("{}", fmt::join(parts, "; "));
}

}  // namespace

std::vector<std::string_view> triton_strategy_names() {
  std::vector<std::string_view> out;
  for (const TritonStrategy& one : triton_strategies()) out.push_back(one.name);
  return out;
}

std::vector<Choice> triton_choices(std::string_view strategy) {
  const auto& all = triton_strategies();
  const auto found = std::find_if(all.begin(), all.end(),
                                  [&](const TritonStrategy& one) { return one.name == strategy; });
  if (found == all.end()) return {};
  return choices_in(found->tuning);
}

Result<Draft> write_triton(const Graph& graph, const task::Signature& signature,
                           std::string_view strategy, const Tuning& tuning) {
  const auto& all = triton_strategies();
  const auto found = std::find_if(all.begin(), all.end(),
                                  [&](const TritonStrategy& one) { return one.name == strategy; });
  if (found == all.end())
    return fail(ErrorCode::kNotFound, "unknown strategy {}; there are {}", strategy,
                fmt::join(triton_strategy_names(), ", "));
  KW_TRY(const Program program, lower(graph));
  KW_TRY(const TritonTuning tuned_to, tuned(found->tuning, tuning));
  const TritonForm form = signature.of_module() ? TritonForm::kModelNew : TritonForm::kReturns;
  KW_TRY(TritonFile file, triton_source(graph, program, signature, strategy, tuned_to, form));
  Draft out;
  out.language = task::Language::kTriton;
  out.strategy = strategy;
  out.tuning = tuning;
  KW_TRY(const std::string_view limit, limit_of(program));
  out.plan = {fmt::format("operators: {}", operator_chain(graph)), fmt::format("limit: {}", limit),
              fmt::format("strategy: {}: {}", found->name, found->plan),
              "tiling: " + tiling_line(tuning, file.tiling)};
  out.source = std::move(file.source);
  return out;
}

}  // namespace kw::writer
