// Small graphs for tests of lowering and of what follows it.
#pragma once
#include <map>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "writer/loops/loops.h"

namespace kw::writer {

// A graph of float32 inputs. Nodes: operator, arguments in JSON, shape (and dtype) of its outputs.
struct TestGraph {
  std::map<std::string, std::int64_t> sizes;
  std::vector<std::pair<std::string, std::string>> inputs;  // name, shape as JSON
  struct TestNode {
    std::string op, arguments, shape;
    std::string dtype = "float32";
  };
  std::vector<TestNode> nodes;
  std::string outputs;

  Graph graph() const {
    std::string text = R"({"schema": 1, "conditions": [], "sizes": {)", separator;
    for (const auto& [name, value] : sizes) {
      text += fmt::format("{}\"{}\": {}", separator, name, value);
      separator = ", ";
    }
    text += R"(}, "inputs": [)";
    separator.clear();
    for (const auto& [name, shape] : inputs) {
      text += fmt::format(R"({}{{"name": "{}", "role": "input", "dtype": "float32", "shape": {}}})",
                          separator, name, shape);
      separator = ", ";
    }
    text += R"(], "nodes": [)";
    separator.clear();
    for (const TestNode& node : nodes) {
      text += fmt::format(
          R"({}{{"op": "{}", "arguments": {{{}}}, "outputs": [{{"dtype": "{}", "shape": {}}}]}})",
          separator, node.op, node.arguments, node.dtype, node.shape);
      separator = ", ";
    }
    text += fmt::format(R"(], "outputs": [{}]}})", outputs);
    Result<Graph> out = graph_from_json(text, "test");
    EXPECT_TRUE(out) << out.error().message() << "\n" << text;
    return out ? *out : Graph{};
  }
};

inline Program lowered(const TestGraph& graph) {
  Result<Program> out = lower(graph.graph());
  EXPECT_TRUE(out) << out.error().message();
  return out ? *out : Program{};
}

}  // namespace kw::writer
