#include "writer/author/author.h"

#include <algorithm>
#include <iterator>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "writer/author/limit.h"
#include "writer/author/operator_chain.h"
#include "writer/author/target.h"
#include "writer/author/write_cpp.h"
#include "writer/author/write_triton.h"

namespace kw::writer {
namespace {

const std::vector<Target>& targets() {
  static const std::vector<Target> all = {cpp_target(), triton_target()};
  return all;
}

const Target* target_of(task::Language language) {
  const auto found = std::find_if(targets().begin(), targets().end(),
                                  [&](const Target& one) { return one.language == language; });
  return found == targets().end() ? nullptr : &*found;
}

std::string names_of(const std::vector<Strategy>& strategies) {
  std::vector<std::string_view> names;
  for (const Strategy& one : strategies) names.push_back(one.name);
  return fmt::format("{}", fmt::join(names, ", "));
}

std::string languages() {
  std::vector<std::string_view> names;
  for (const Target& one : targets()) names.push_back(task::to_string(one.language));
  return fmt::format("{}", fmt::join(names, " and "));
}

Result<Strategy> strategy_of(const Target& target, std::string_view name) {
  const std::vector<Strategy> all = target.strategies();
  const auto found =
      std::find_if(all.begin(), all.end(), [&](const Strategy& one) { return one.name == name; });
  if (found != all.end()) return *found;
  return fail(ErrorCode::kNotFound, "unknown strategy {}; there are {}", name, names_of(all));
}

}  // namespace

std::vector<std::string_view> strategies(task::Language language) {
  std::vector<std::string_view> out;
  const Target* target = target_of(language);
  if (target == nullptr) return out;
  for (const Strategy& one : target->strategies()) out.push_back(one.name);
  return out;
}

std::vector<Choice> choices(task::Language language, std::string_view strategy) {
  const Target* target = target_of(language);
  if (target == nullptr || !strategy_of(*target, strategy)) return {};
  return target->choices(strategy);
}

Result<Draft> write_kernel(const Graph& graph, const task::Signature& signature,
                           task::Language language, std::string_view strategy,
                           const Tuning& tuning) {
  const Target* target = target_of(language);
  if (target == nullptr)
    return fail(ErrorCode::kUnsupported, "kernels are written in {}, not in {}", languages(),
                task::to_string(language));
  KW_TRY(const Strategy known, strategy_of(*target, strategy));
  KW_TRY_STATUS(check(tuning, target->choices(strategy)));
  KW_TRY(const Program program, lower(graph));
  KW_TRY(const std::string_view limit, limit_of(program));
  KW_TRY(Written written, target->write(graph, program, signature, strategy, tuning));
  Draft out;
  out.language = language;
  out.strategy = strategy;
  out.tuning = tuning;
  out.plan = {fmt::format("operators: {}", operator_chain(graph)), fmt::format("limit: {}", limit),
              fmt::format("strategy: {}: {}", known.name, known.plan),
              fmt::format("tiling: {}", written.tiling.empty()
                                            ? "none"
                                            : fmt::format("{}", fmt::join(written.tiling, "; ")))};
  out.source = std::move(written.source);
  return out;
}

std::string answer_text(const Draft& draft) {
  const Target* target = target_of(draft.language);
  return fmt::format("{}\n\n```{}\n{}```\n", fmt::join(draft.plan, "\n"),
                     target != nullptr ? target->fence : "", draft.source);
}

}  // namespace kw::writer
