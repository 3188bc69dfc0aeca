#include "writer/author/author.h"

#include <algorithm>
#include <initializer_list>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "writer/author/write_triton.h"
#include "writer/cpp/cpp_source.h"
#include "writer/loops/loops.h"
#include "writer/nest/nest.h"

namespace kw::writer {
namespace {

struct CppStrategy {
  std::string_view name;
  std::string_view plan;
  void (*apply)(Nest&, const CppTuning&);
};

constexpr CppStrategy kCpp[] = {
    {"blocked",
     "matrix products and convolutions on register tiles, operands packed into panels, what "
     "follows an element done while it is in a register; other loops as fused",
     [](Nest& nest, const CppTuning& tuning) {
       block_products(nest);
       if (tuning.unroll_windows != 0) unroll_windows(nest);
       reduce_side_by_side(nest, tuning.side_by_side);
       bound_reductions(nest);
       fuse_loops(nest);
       shrink_buffers(nest);
       if (tuning.split_borders != 0) split_borders(nest);
       flatten_loops(nest);
       tile_transposes(nest, tuning.transpose_tile);
       convert_lines(nest);
     }},
    {"fused",
     "loops of equal extent are merged where each iteration needs only its own values; what an "
     "iteration alone uses stays in registers or the cache",
     [](Nest& nest, const CppTuning& tuning) {
       reduce_side_by_side(nest, tuning.side_by_side);
       fuse_loops(nest);
       shrink_buffers(nest);
       flatten_loops(nest);
     }},
    {"side_by_side", "one operator after the other; strided reductions for many outputs at once",
     [](Nest& nest, const CppTuning& tuning) { reduce_side_by_side(nest, tuning.side_by_side); }},
    {"naive", "one operator after the other", [](Nest&, const CppTuning&) {}},
};

std::string operators_of(const Program& program) {
  std::vector<std::string> labels;
  for (const Step& step : program.steps)
    std::visit(
        [&](const auto& one) {
          if constexpr (requires { one.stage; })
            labels.push_back(one.stage.label);
          else
            labels.push_back(one.label);
        },
        step);
  return fmt::format("{}", fmt::join(labels, " > "));
}

// The numbers that the source has, and those that were asked for.
std::string tiling_of(const std::string& source, const CppTuning& numbers, const Tuning& asked) {
  std::set<std::string, std::less<>> named;
  for (const auto& [name, value] : asked) named.insert(name);
  const auto where = [&](std::string_view text, std::initializer_list<const char*> names) {
    if (source.find(text) != std::string::npos) named.insert(names.begin(), names.end());
  };
  where("_product<", {"tile_rows", "tile_vectors"});
  where(" kw_product<", {"depth_block", "column_block"});
  where("_lanes[", {"lanes"});
  where("_tile < ", {"transpose_tile"});
  std::vector<std::string> out;
  for (const Choice& choice : choices_in(numbers)) {
    if (named.contains(choice.name)) out.push_back(fmt::format("{}={}", choice.name, choice.usual));
  }
  return out.empty() ? "none" : fmt::format("{}", fmt::join(out, " "));
}

// Sizes that are no argument of run().
std::map<std::string, std::int64_t> constant_sizes(const Graph& graph,
                                                   const task::Signature& signature) {
  std::map<std::string, std::int64_t> out = graph.sizes;
  for (const auto& axis : signature.axes) out.erase(axis.first);
  for (const GraphInput& input : graph.inputs) {
    if (input.role == InputRole::kScalar) out.erase(input.name);
  }
  return out;
}

}  // namespace

std::vector<std::string_view> strategies(task::Language language) {
  if (language == task::Language::kTriton) return triton_strategy_names();
  std::vector<std::string_view> out;
  if (language != task::Language::kCpp) return out;
  for (const CppStrategy& one : kCpp) out.push_back(one.name);
  return out;
}

std::vector<Choice> choices(task::Language language, std::string_view strategy) {
  if (language == task::Language::kTriton) return triton_choices(strategy);
  const auto known = strategies(language);
  if (std::find(known.begin(), known.end(), strategy) == known.end()) return {};
  return choices_in(CppTuning{});
}

Result<Draft> write_kernel(const Graph& graph, const task::Signature& signature,
                           task::Language language, std::string_view strategy,
                           const Tuning& tuning) {
  if (language == task::Language::kTriton) return write_triton(graph, signature, strategy, tuning);
  if (language != task::Language::kCpp)
    return fail(ErrorCode::kUnsupported, "kernels are written in cpp and triton, not in {}",
                task::to_string(language));
  const auto* found = std::find_if(std::begin(kCpp), std::end(kCpp),
                                   [&](const CppStrategy& one) { return one.name == strategy; });
  if (found == std::end(kCpp))
    return fail(ErrorCode::kNotFound, "unknown strategy {}; there are {}", strategy,
                fmt::join(strategies(language), ", "));
  KW_TRY(const CppTuning tuned_to, tuned(CppTuning{}, tuning));
  KW_TRY(Program program, lower(with_numbers(graph, constant_sizes(graph, signature))));
  if (strategy == "blocked") inline_epilogues(program);
  Nest nest = make_nest(program);
  found->apply(nest, tuned_to);
  Draft out;
  out.language = language;
  out.strategy = strategy;
  out.tuning = tuning;
  out.plan = {fmt::format("operators: {}", operators_of(program)),
              fmt::format("strategy: {}: {}", found->name, found->plan)};
  KW_TRY(out.source, cpp_source(nest, signature, tuned_to));
  out.plan.push_back("tiling: " + tiling_of(out.source, tuned_to, tuning));
  return out;
}

std::string answer_text(const Draft& draft) {
  return fmt::format("{}\n\n```{}\n{}```\n", fmt::join(draft.plan, "\n"),
                     draft.language == task::Language::kTriton ? "python" : "cpp", draft.source);
}

}  // namespace kw::writer
