// lower(): the table of all families over the nodes in order.
#include <algorithm>
#include <set>

#include "base/text.h"
#include "writer/loops/lowering.h"

namespace kw::writer {
namespace {

LowerTable make_table() {
  LowerTable table;
  add_views(table);
  add_joins(table);
  add_creation(table);
  add_elementwise_unary(table);
  add_elementwise_nary(table);
  add_activations(table);
  add_reductions(table);
  add_softmax(table);
  add_norms(table);
  add_scans(table);
  add_products(table);
  add_convolutions(table);
  add_pooling(table);
  add_resampling(table);
  add_indexing(table);
  add_scatters(table);
  add_sorting(table);
  add_losses(table);
  return table;
}

const LowerTable& table() {
  static const LowerTable kTable = make_table();
  return kTable;
}

std::vector<std::vector<bool>> uses_of(const Graph& graph) {
  std::vector<std::vector<bool>> used;
  for (const Node& node : graph.nodes) used.emplace_back(node.outputs.size(), false);
  const auto use = [&](const ValueId& id) {
    if (!id.is_input())
      used[static_cast<std::size_t>(id.node)][static_cast<std::size_t>(id.output)] = true;
  };
  for (const ValueId& output : graph.outputs) use(output);
  // A node that nothing reads uses nothing.
  for (auto node = graph.nodes.size(); node-- > 0;) {
    bool any = false;
    for (bool each : used[node]) any = any || each;
    if (!any) continue;
    for (const auto& [name, argument] : graph.nodes[node].arguments) {
      if (const auto* id = std::get_if<ValueId>(&argument)) use(*id);
      if (const auto* list = std::get_if<std::vector<std::optional<ValueId>>>(&argument)) {
        for (const auto& each : *list) {
          if (each) use(*each);
        }
      }
    }
  }
  return used;
}

std::string joined(const std::set<std::string>& names) {
  constexpr std::size_t kMaxNames = 40;
  std::string out;
  std::size_t count = 0;
  for (const std::string& name : names) {
    if (++count > kMaxNames) return fmt::format("{} and {} more", out, names.size() - kMaxNames);
    out += (out.empty() ? "" : ", ") + printable(name, 120);
  }
  return out;
}

// Shapes are multiplied out: what no real one comes near is refused.
Status check_shapes(const Graph& graph) {
  constexpr double kMaxTerms = 1024;
  constexpr std::size_t kMaxDimensions = 16;
  const auto refused = [](const TensorType& type) {
    double terms = 1;
    for (const IntExpr& each : type.shape)
      terms *= static_cast<double>(std::max<std::size_t>(each.terms(), 1));
    return terms > kMaxTerms || type.shape.size() > kMaxDimensions;
  };
  for (const GraphInput& input : graph.inputs) {
    if (refused(input.type))
      return fail(ErrorCode::kUnsupported, "input {}: its shape is too involved", input.name);
  }
  for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
    for (const TensorType& type : graph.nodes[i].outputs) {
      if (refused(type))
        return fail(ErrorCode::kUnsupported, "node {} ({}): its shape is too involved", i,
                    graph.nodes[i].op);
    }
  }
  return {};
}

}  // namespace

Result<Program> lower(const Graph& graph) {
  KW_TRY_STATUS(check(graph));
  KW_TRY_STATUS(check_shapes(graph));
  Lowering at(graph);
  const auto used = uses_of(graph);
  std::vector<std::vector<Tensor>> values;
  std::set<std::string> missing;
  for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
    const Node& node = graph.nodes[i];
    at.begin_node(static_cast<int>(i), node.op.substr(0, node.op.find('.')));
    OpCall call(at, graph, static_cast<int>(i), values, used);
    bool needed = false;
    for (bool each : used[i]) needed = needed || each;
    if (needed) {
      if (auto found = table().find(node.op); found == table().end())
        missing.insert(node.op);
      else
        found->second(call);
      if (const auto misfit = at.take_misfit()) call.invalid(*misfit);
    }
    if (const auto& failure = call.failure()) {
      // Of arguments that no missing operator made.
      if (failure->code() != ErrorCode::kUnsupported && missing.empty())
        return tl::unexpected(*failure);
      if (failure->code() == ErrorCode::kUnsupported) missing.insert(failure->message());
    }
    values.push_back(call.take());
  }
  if (!missing.empty())
    return fail(ErrorCode::kUnsupported, "no kernels are written for {}", joined(missing));
  std::vector<Tensor> outputs;
  for (const ValueId& id : graph.outputs)
    outputs.push_back(
        id.is_input()
            ? at.input(id.input_index())
            : values[static_cast<std::size_t>(id.node)][static_cast<std::size_t>(id.output)]);
  Program program = at.finish(outputs);
  if (const auto misfit = at.take_misfit()) return fail(ErrorCode::kInvalidArgument, "{}", *misfit);
  return program;
}

}  // namespace kw::writer
