#include "writer/author/write_triton.h"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/check.h"
#include "writer/triton/triton_source.h"

namespace kw::writer {
namespace {

const TritonStrategy& triton_strategy(std::string_view name) {
  const auto& all = triton_strategies();
  const auto found = std::find_if(all.begin(), all.end(),
                                  [&](const TritonStrategy& one) { return one.name == name; });
  KW_CHECK(found != all.end());
  return *found;
}

std::vector<Strategy> strategy_words() {
  std::vector<Strategy> out;
  for (const TritonStrategy& one : triton_strategies()) out.push_back({one.name, one.plan});
  return out;
}

// The choices that were asked for, then each kernel with its blocks.
std::vector<std::string> triton_tiling(const Tuning& asked,
                                       const std::vector<std::string>& kernels) {
  std::vector<std::string> choices;
  for (const auto& [name, value] : asked) choices.push_back(fmt::format("{}={}", name, value));
  std::vector<std::string> out;
  if (!choices.empty()) out.push_back(fmt::format("{}", fmt::join(choices, " ")));
  out.insert(out.end(), kernels.begin(), kernels.end());
  return out;
}

Result<Written> write_in_triton(const Graph& graph, const Program& program,
                                const task::Signature& signature, std::string_view strategy,
                                const Tuning& tuning) {
  KW_TRY(const TritonTuning numbers, tuned(triton_strategy(strategy).tuning, tuning));
  const TritonForm form = signature.of_module() ? TritonForm::kModelNew : TritonForm::kReturns;
  KW_TRY(TritonFile file, triton_source(graph, program, signature, strategy, numbers, form));
  return Written{std::move(file.source), triton_tiling(tuning, file.tiling)};
}

}  // namespace

Target triton_target() {
  return {
      .language = task::Language::kTriton,
      .fence = "python",
      .strategies = strategy_words,
      .choices =
          [](std::string_view strategy) { return choices_in(triton_strategy(strategy).tuning); },
      .write = write_in_triton};
}

}  // namespace kw::writer
