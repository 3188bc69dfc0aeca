#include "data/graph_labels.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <set>
#include <utility>
#include <variant>
#include <vector>

#include "base/hash.h"
#include "data/canonical_graph.h"

namespace kw::data {
namespace {

using writer::Graph;
using writer::Node;
using writer::ValueId;

std::vector<ValueId> values_of(const Node& node) {
  std::vector<ValueId> out;
  writer::for_each_value(node, [&](ValueId value) { out.push_back(value); });
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

}  // namespace

std::string graph_digest(const Graph& graph) {
  return sha256_hex(canonical_text(graph));
}

void set_graph_labels(const Graph& graph, Labels& labels) {
  labels.graph = graph_digest(graph);
  labels.operators.clear();
  std::map<int, int> numbers;
  std::set<std::pair<int, int>> edges, chain;
  std::vector<std::int64_t> depths;
  for (int node : used_nodes(graph)) {
    const int number = static_cast<int>(numbers.size());
    numbers.emplace(node, number);
    labels.operators.push_back(graph.nodes[static_cast<std::size_t>(node)].op);
    if (number > 0) chain.emplace(number - 1, number);
    std::int64_t depth = 0;
    for (ValueId value : values_of(graph.nodes[static_cast<std::size_t>(node)])) {
      if (value.is_input()) continue;
      const int from = numbers.at(value.node);
      edges.emplace(from, number);
      depth = std::max(depth, depths[static_cast<std::size_t>(from)]);
    }
    depths.push_back(depth + 1);
  }
  labels.depth = depths.empty() ? 0 : *std::max_element(depths.begin(), depths.end());
  labels.edges.reset();
  if (edges != chain) labels.edges = std::vector(edges.begin(), edges.end());
}

}  // namespace kw::data
