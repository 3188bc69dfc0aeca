#include "writer/author/write_cpp.h"

#include <algorithm>
#include <initializer_list>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "writer/author/limit.h"
#include "writer/author/operator_chain.h"
#include "writer/author/same_form.h"
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

using Sizes = std::map<std::string, std::int64_t>;

// Sizes that may be numbers: constant axes, of modules those of parameters. A module's other sizes
// are those of its inputs, which another batch has differently.
Sizes fixed_sizes(const Graph& graph, const task::Signature& signature) {
  Sizes out = graph.sizes;
  for (const auto& axis : signature.axes) out.erase(axis.first);
  std::set<std::string> of_parameters;
  for (const GraphInput& input : graph.inputs) {
    if (input.role == InputRole::kScalar) out.erase(input.name);
    if (input.role != InputRole::kStatic) continue;
    for (const IntExpr& size : input.type.shape) of_parameters.merge(size.symbols());
  }
  if (signature.of_module())
    std::erase_if(out, [&](const auto& size) { return !of_parameters.contains(size.first); });
  return out;
}

// The file in which these sizes are numbers and the others names.
Result<std::string> source_with(const Graph& graph, const Sizes& numbers,
                                const task::Signature& signature, const CppStrategy& strategy,
                                const CppTuning& tuning) {
  KW_TRY(Program program, lower(with_numbers(graph, numbers)));
  if (strategy.name == "blocked") inline_epilogues(program);
  Nest nest = make_nest(program);
  strategy.apply(nest, tuning);
  return cpp_source(nest, signature, tuning);
}

std::string static_asserts(const Sizes& numbers) {
  std::string out;
  for (const auto& [name, value] : numbers)
    out += fmt::format("static_assert({0} == {1}, \"written for {0} = {1}\");\n", name, value);
  return out;
}

// Where run() begins: before it are the functions that it calls, which have no sizes.
std::size_t start_of_run(const std::string& source) {
  return source.find("extern \"C\" void run(");
}

// With names for all sizes but those that the kernel's form depends on.
Result<std::string> source_of(const Graph& graph, const task::Signature& signature,
                              const CppStrategy& strategy, const CppTuning& tuning) {
  auto named = source_with(graph, {}, signature, strategy, tuning);
  const Sizes fixed = fixed_sizes(graph, signature);
  if (fixed.empty()) return named;
  KW_TRY(std::string known, source_with(graph, fixed, signature, strategy, tuning));
  const std::string functions = known.substr(0, start_of_run(known));
  const FormOfSource form(std::string_view(known).substr(functions.size()), graph.sizes);
  const auto is_same = [&](const Result<std::string>& source) {
    return source && source->starts_with(functions) && start_of_run(*source) == functions.size() &&
           form == FormOfSource(std::string_view(*source).substr(functions.size()), graph.sizes);
  };
  if (is_same(named)) return named;
  Sizes numbers = fixed;
  for (const auto& [name, value] : fixed) {
    numbers.erase(name);
    auto source = source_with(graph, numbers, signature, strategy, tuning);
    if (is_same(source))
      known = std::move(*source);
    else
      numbers[name] = value;
  }
  return known.insert(functions.size(), static_asserts(numbers));
}

}  // namespace

std::vector<std::string_view> cpp_strategy_names() {
  std::vector<std::string_view> out;
  for (const CppStrategy& one : kCpp) out.push_back(one.name);
  return out;
}

std::vector<Choice> cpp_choices(std::string_view strategy) {
  const auto known = cpp_strategy_names();
  if (std::find(known.begin(), known.end(), strategy) == known.end()) return {};
  return choices_in(CppTuning{});
}

Result<Draft> write_cpp(const Graph& graph, const task::Signature& signature,
                        std::string_view strategy, const Tuning& tuning) {
  const auto* found = std::find_if(std::begin(kCpp), std::end(kCpp),
                                   [&](const CppStrategy& one) { return one.name == strategy; });
  if (found == std::end(kCpp))
    return fail(ErrorCode::kNotFound, "unknown strategy {}; there are {}", strategy,
                fmt::join(cpp_strategy_names(), ", "));
  KW_TRY(const CppTuning tuned_to, tuned(CppTuning{}, tuning));
  KW_TRY(const Program program, lower(graph));
  Draft out;
  out.language = task::Language::kCpp;
  out.strategy = strategy;
  out.tuning = tuning;
  KW_TRY(const std::string_view limit, limit_of(program));
  KW_TRY(out.source, source_of(graph, signature, *found, tuned_to));
  out.plan = {fmt::format("operators: {}", operator_chain(graph)), fmt::format("limit: {}", limit),
              fmt::format("strategy: {}: {}", found->name, found->plan),
              "tiling: " + tiling_of(out.source, tuned_to, tuning)};
  return out;
}

}  // namespace kw::writer
