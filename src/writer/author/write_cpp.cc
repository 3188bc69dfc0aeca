#include "writer/author/write_cpp.h"

#include <algorithm>
#include <iterator>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/check.h"
#include "writer/cpp/cpp_source.h"
#include "writer/fusion/fusion.h"
#include "writer/loops/loops.h"
#include "writer/nest/nest.h"

namespace kw::writer {
namespace {

using Sizes = std::map<std::string, std::int64_t>;

struct CppStrategy {
  Strategy words;
  // Windows of these sizes may be unrolled.
  void (*apply)(Nest&, const CppTuning&, const Sizes& of_windows);
  bool is_blocked = false;  // with products and epilogues
};

constexpr CppStrategy kCpp[] = {
    {{"blocked",
      "matrix products and convolutions on register tiles, operands packed into panels, what "
      "follows an element done while it is in a register; other loops as fused"},
     [](Nest& nest, const CppTuning& tuning, const Sizes& of_windows) {
       block_products(nest);
       if (tuning.unroll_windows != 0) unroll_windows(nest, of_windows);
       reduce_side_by_side(nest, tuning.side_by_side);
       bound_reductions(nest);
       fuse_loops(nest);
       shrink_buffers(nest);
       if (tuning.split_borders != 0) split_borders(nest);
       flatten_loops(nest);
       tile_transposes(nest, tuning.transpose_tile);
       convert_lines(nest);
     },
     true},
    {{"fused",
      "loops of equal extent are merged where each iteration needs only its own values; what an "
      "iteration alone uses stays in registers or the cache"},
     [](Nest& nest, const CppTuning& tuning, const Sizes&) {
       reduce_side_by_side(nest, tuning.side_by_side);
       fuse_loops(nest);
       shrink_buffers(nest);
       flatten_loops(nest);
     }},
    {{"side_by_side", "one operator after the other; strided reductions for many outputs at once"},
     [](Nest& nest, const CppTuning& tuning, const Sizes&) {
       reduce_side_by_side(nest, tuning.side_by_side);
     }},
    {{"naive", "one operator after the other"}, [](Nest&, const CppTuning&, const Sizes&) {}},
};

// A longer window has a loop, so that the file serves others.
constexpr std::int64_t kLongestWindow = 16;

// Sizes that may be numbers where they are those of a window: constant axes, of modules those of
// parameters. A module's other sizes are those of its inputs, which another batch has differently.
Sizes sizes_of_windows(const Graph& graph, const task::Signature& signature) {
  Sizes out = graph.sizes;
  for (const auto& axis : signature.axes) out.erase(axis.first);
  std::set<std::string> of_parameters;
  for (const GraphInput& input : graph.inputs) {
    if (input.role == InputRole::kScalar) out.erase(input.name);
    if (input.role != InputRole::kStatic) continue;
    for (const IntExpr& size : input.type.shape) of_parameters.merge(size.symbols());
  }
  std::erase_if(out, [&](const auto& size) {
    return size.second > kLongestWindow ||
           (signature.of_module() && !of_parameters.contains(size.first));
  });
  return out;
}

// The windows of transposed convolutions, whose kernel is split by their size, and of those that
// have one element.
std::set<std::string> sizes_of_kernels(const Graph& graph) {
  std::set<std::string> out;
  for (const Node& node : graph.nodes) {
    if (node.op != "convolution.default") continue;
    const auto* weight = std::get_if<ValueId>(node.find("weight"));
    const auto* transposed = std::get_if<bool>(node.find("transposed"));
    if (weight == nullptr || transposed == nullptr) continue;
    const Shape& shape = graph.type(*weight).shape;
    for (std::size_t d = 2; d < shape.size(); ++d) {
      const auto size = shape[d].evaluate(graph.sizes);
      if (*transposed || (size && *size == 1)) out.merge(shape[d].symbols());
    }
  }
  return out;
}

const CppStrategy& cpp_strategy(std::string_view name) {
  const auto* found = std::find_if(std::begin(kCpp), std::end(kCpp),
                                   [&](const CppStrategy& one) { return one.words.name == name; });
  KW_CHECK(found != std::end(kCpp));
  return *found;
}

// The choices that the source depends on, and those that were asked for.
std::vector<std::string> cpp_tiling(const std::set<std::string>& used, const CppTuning& numbers,
                                    const Tuning& asked) {
  std::vector<std::string> out;
  for (const Choice& choice : choices_in(numbers)) {
    if (used.contains(choice.name) || asked.contains(choice.name))
      out.push_back(fmt::format("{}={}", choice.name, choice.usual));
  }
  if (out.empty()) return out;
  return {fmt::format("{}", fmt::join(out, " "))};
}

Result<Written> write_in_cpp(const Graph& graph, const Program& program,
                             const task::Signature& signature, std::string_view name,
                             const Tuning& tuning) {
  const CppStrategy& strategy = cpp_strategy(name);
  KW_TRY(const CppTuning numbers, tuned(CppTuning{}, tuning));
  const Sizes of_windows = sizes_of_windows(graph, signature);
  Sizes known;
  Program whole = program;
  if (strategy.is_blocked) {
    for (const std::string& size : sizes_of_kernels(graph)) {
      if (const auto found = of_windows.find(size); found != of_windows.end()) known.insert(*found);
    }
    if (!known.empty()) {
      KW_TRY(whole, lower(with_numbers(graph, known)));
    }
    inline_terms(whole);
    merge_epilogues(whole);
  }
  Nest nest = make_nest(whole);
  nest.numbers = known;
  strategy.apply(nest, numbers, of_windows);
  KW_TRY(CppFile file, cpp_source(nest, signature, numbers));
  return Written{std::move(file.source), cpp_tiling(file.choices, numbers, tuning)};
}

}  // namespace

Target cpp_target() {
  return {.language = task::Language::kCpp,
          .fence = "cpp",
          .strategies =
              [] {
                std::vector<Strategy> out;
                for (const CppStrategy& one : kCpp) out.push_back(one.words);
                return out;
              },
          .choices = [](std::string_view) { return choices_in(CppTuning{}); },
          .write = write_in_cpp};
}

}  // namespace kw::writer
