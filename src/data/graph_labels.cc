#include "data/graph_labels.h"

#include <cstdint>
#include <map>
#include <set>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "base/hash.h"

namespace kw::data {
namespace {

using writer::Attribute;
using writer::Graph;
using writer::IntExpr;
using writer::Node;
using writer::TensorType;
using writer::ValueId;

std::vector<ValueId> values_of(const Node& node) {
  std::vector<ValueId> out;
  for (const auto& [name, attribute] : node.arguments) {
    if (const auto* one = std::get_if<ValueId>(&attribute)) out.push_back(*one);
    if (const auto* list = std::get_if<std::vector<std::optional<ValueId>>>(&attribute)) {
      for (const auto& value : *list) {
        if (value) out.push_back(*value);
      }
    }
  }
  return out;
}

// Nodes that the outputs depend on, each behind those it uses, in the order in which the outputs
// and arguments name them.
std::vector<int> used_nodes(const Graph& graph) {
  std::vector<int> out;
  std::vector<bool> seen(graph.nodes.size());
  std::vector<std::pair<int, std::size_t>>
      open;  // a node, and how many of its values were looked at
  const auto enter = [&](ValueId value) {
    if (value.is_input() || seen[static_cast<std::size_t>(value.node)]) return;
    seen[static_cast<std::size_t>(value.node)] = true;
    open.emplace_back(value.node, 0);
  };
  for (ValueId output : graph.outputs) {
    enter(output);
    while (!open.empty()) {
      auto& [node, next] = open.back();
      const auto values = values_of(graph.nodes[static_cast<std::size_t>(node)]);
      if (next < values.size()) {
        enter(values[next++]);
      } else {
        out.push_back(node);
        open.pop_back();
      }
    }
  }
  return out;
}

class DigestText {
 public:
  explicit DigestText(const Graph& graph) : graph_(graph) {
    for (int node : used_nodes(graph)) {
      numbers_.emplace(node, static_cast<int>(numbers_.size()));
      line(graph.nodes[static_cast<std::size_t>(node)]);
    }
    for (ValueId output : graph.outputs) text_ += "out " + name(output) + "\n";
  }
  const std::string& text() const { return text_; }

 private:
  std::string size(const IntExpr& expr) const {
    auto value = expr.evaluate(graph_.sizes);
    return value ? fmt::format("{}", *value) : expr.python();
  }

  std::string type(const TensorType& type) const {
    std::string out(task::to_string(type.dtype));
    for (const IntExpr& axis : type.shape) out += " " + size(axis);
    return out;
  }

  // Inputs are numbered in the order of their first use.
  std::string name(ValueId value) {
    if (!value.is_input()) return fmt::format("n{}.{}", numbers_.at(value.node), value.output);
    const auto& input = graph_.inputs[value.input_index()];
    auto [at, added] = inputs_.emplace(value.input_index(), inputs_.size());
    return fmt::format("i{}:{}[{}]", at->second, static_cast<int>(input.role), type(input.type));
  }

  std::string attribute(const Attribute& attribute) {
    return std::visit(
        [this](const auto& value) -> std::string {
          using T = std::decay_t<decltype(value)>;
          if constexpr (std::is_same_v<T, std::monostate>) return "None";
          if constexpr (std::is_same_v<T, bool>) return value ? "True" : "False";
          if constexpr (std::is_same_v<T, IntExpr>) return size(value);
          if constexpr (std::is_same_v<T, double>) return fmt::format("f{}", value);
          if constexpr (std::is_same_v<T, std::string>) return "'" + value + "'";
          if constexpr (std::is_same_v<T, task::DType>) return std::string(task::to_string(value));
          if constexpr (std::is_same_v<T, ValueId>) return name(value);
          std::string out = "[";
          if constexpr (std::is_same_v<T, std::vector<IntExpr>>) {
            for (const IntExpr& one : value) out += size(one) + " ";
          } else if constexpr (std::is_same_v<T, std::vector<double>>) {
            for (double one : value) out += fmt::format("f{} ", one);
          } else if constexpr (std::is_same_v<T, std::vector<bool>>) {
            for (bool one : value) out += one ? "True " : "False ";
          } else if constexpr (std::is_same_v<T, std::vector<std::optional<ValueId>>>) {
            for (const auto& one : value) out += (one ? name(*one) : "None") + " ";
          }
          return out + "]";
        },
        attribute);
  }

  void line(const Node& node) {
    text_ += node.op;
    for (const auto& [key, value] : node.arguments) text_ += " " + key + "=" + attribute(value);
    for (const TensorType& output : node.outputs) text_ += " -> " + type(output);
    text_ += "\n";
  }

  const Graph& graph_;
  std::map<int, int> numbers_;
  std::map<std::size_t, std::size_t> inputs_;
  std::string text_;
};

}  // namespace

std::string graph_digest(const Graph& graph) {
  return sha256_hex(DigestText(graph).text());
}

void set_graph_labels(const Graph& graph, Labels& labels) {
  labels.graph = graph_digest(graph);
  labels.operators.clear();
  std::map<int, int> numbers;
  std::set<std::pair<int, int>> edges;
  for (int node : used_nodes(graph)) {
    const int number = static_cast<int>(numbers.size());
    numbers.emplace(node, number);
    labels.operators.push_back(graph.nodes[static_cast<std::size_t>(node)].op);
    for (ValueId value : values_of(graph.nodes[static_cast<std::size_t>(node)])) {
      if (!value.is_input()) edges.emplace(numbers.at(value.node), number);
    }
  }
  labels.edges = std::vector(edges.begin(), edges.end());
}

}  // namespace kw::data
