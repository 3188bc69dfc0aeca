// Lookups, the rules of a graph, its text.
#include "writer/graph/graph.h"

#include <cmath>
#include <set>

#include "base/check.h"
#include "base/text.h"

namespace kw::writer {
namespace {

bool is_identifier(const std::string& name) {
  const auto letter = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
  };
  if (name.empty() || !letter(name[0])) return false;
  for (char c : name) {
    if (!letter(c) && (c < '0' || c > '9')) return false;
  }
  return true;
}

std::string_view text_of(Relation relation) {
  switch (relation) {
    case Relation::kEqual:
      return "==";
    case Relation::kNotEqual:
      return "!=";
    case Relation::kLess:
      return "<";
    case Relation::kLessEqual:
      return "<=";
  }
  KW_CHECK(false);
}

std::string text_of(const Condition& condition) {
  return fmt::format("{} {} {}", condition.left.python(), text_of(condition.relation),
                     condition.right.python());
}

class Checker {
 public:
  explicit Checker(const Graph& graph) : graph_(graph) {}

  Status run() {
    for (const auto& [name, value] : graph_.sizes) {
      if (!is_identifier(name))
        return fail(ErrorCode::kInvalidArgument, "sizes: \"{}\" is no identifier",
                    printable(name, 40));
    }
    for (const Condition& condition : graph_.conditions) {
      KW_TRY_STATUS(expression(condition.left, "conditions"));
      KW_TRY_STATUS(expression(condition.right, "conditions"));
    }
    KW_TRY_STATUS(inputs());
    for (; made_ < graph_.nodes.size(); ++made_) KW_TRY_STATUS(node(graph_.nodes[made_]));
    for (ValueId output : graph_.outputs) KW_TRY_STATUS(value(output, "outputs"));
    return {};
  }

 private:
  Status inputs() {
    std::set<std::string> names;
    bool in_statics = false;
    for (const GraphInput& input : graph_.inputs) {
      const std::string where = "input " + printable(input.name, 40);
      if (!is_identifier(input.name))
        return fail(ErrorCode::kInvalidArgument, "{}: no identifier", where);
      if (!names.insert(input.name).second)
        return fail(ErrorCode::kInvalidArgument, "{}: there twice", where);
      if (in_statics && input.role != InputRole::kStatic)
        return fail(ErrorCode::kInvalidArgument, "{}: behind a static", where);
      in_statics = input.role == InputRole::kStatic;
      KW_TRY_STATUS(shape(input.type.shape, where));
      if (input.role != InputRole::kScalar) continue;
      const tensor::DType dtype = input.type.dtype;
      bool number = dtype == tensor::DType::kInt64 || dtype == tensor::DType::kFloat64 ||
                    dtype == tensor::DType::kBool;
      if (!number || !input.type.shape.empty())
        return fail(ErrorCode::kInvalidArgument,
                    "{}: a scalar is an int64, float64 or bool without shape", where);
    }
    return {};
  }

  Status node(const Node& node) {
    const std::string where = fmt::format("node {} ({})", made_, printable(node.op, 80));
    if (node.op.empty()) return fail(ErrorCode::kInvalidArgument, "{}: no operator", where);
    for (const auto& [name, attribute] : node.arguments)
      KW_TRY_STATUS(argument(attribute, where + ": " + printable(name, 40)));
    for (const TensorType& output : node.outputs) KW_TRY_STATUS(shape(output.shape, where));
    return {};
  }

  Status argument(const Attribute& attribute, const std::string& where) {
    if (const auto* number = std::get_if<IntExpr>(&attribute)) return expression(*number, where);
    if (const auto* numbers = std::get_if<std::vector<IntExpr>>(&attribute))
      return shape(*numbers, where);
    Status out;
    for_each_value(attribute, [&](ValueId id) {
      if (out) out = value(id, where);
    });
    return out;
  }

  Status shape(const Shape& shape, const std::string& where) {
    for (const IntExpr& size : shape) KW_TRY_STATUS(expression(size, where));
    return {};
  }

  Status expression(const IntExpr& expr, const std::string& where) {
    for (const std::string& symbol : expr.symbols()) {
      if (!graph_.sizes.contains(symbol))
        return fail(ErrorCode::kInvalidArgument, "{}: {} is not one of the sizes", where,
                    printable(symbol, 40));
    }
    return {};
  }

  Status value(ValueId id, const std::string& where) {
    if (id.is_input()) {
      if (id.input_index() < graph_.inputs.size() && id.output == 0) return {};
      return fail(ErrorCode::kInvalidArgument, "{}: there is no input {}", where, id.input_index());
    }
    const auto index = static_cast<std::size_t>(id.node);
    if (index >= made_)
      return fail(ErrorCode::kInvalidArgument, "{}: uses node {}, which is not made before", where,
                  id.node);
    if (id.output < 0 || static_cast<std::size_t>(id.output) >= graph_.nodes[index].outputs.size())
      return fail(ErrorCode::kInvalidArgument, "{}: node {} has no output {}", where, id.node,
                  id.output);
    return {};
  }

  const Graph& graph_;
  std::size_t made_ = 0;  // nodes whose values may be used
};

std::string number_text(double value) {
  if (std::isnan(value)) return "nan";
  if (std::isinf(value)) return value < 0 ? "-inf" : "inf";
  std::string text = fmt::format("{}", value);
  return text.find_first_of(".e") == std::string::npos ? text + ".0" : text;
}

class Printer {
 public:
  explicit Printer(const Graph& graph) : graph_(graph) {}

  std::string run() {
    std::string out = "sizes";
    for (const auto& [name, value] : graph_.sizes) out += fmt::format(" {}={}", name, value);
    out += "\n";
    for (const Condition& condition : graph_.conditions)
      out += "where " + text_of(condition) + "\n";
    for (const GraphInput& input : graph_.inputs) {
      static constexpr std::string_view kRoles[] = {"input", "static", "scalar"};
      out += fmt::format("{} {}: {}\n", kRoles[static_cast<std::size_t>(input.role)], input.name,
                         type(input.type));
    }
    for (std::size_t i = 0; i < graph_.nodes.size(); ++i) out += node(i, graph_.nodes[i]);
    out += "return " + list(graph_.outputs, [&](ValueId id) { return value(id); }) + "\n";
    return out;
  }

 private:
  template <typename Items, typename Print>
  static std::string list(const Items& items, const Print& print) {
    std::string out;
    for (const auto& item : items) out += (out.empty() ? "" : ", ") + print(item);
    return out;
  }

  static std::string shape(const Shape& shape) {
    return "[" + list(shape, [](const IntExpr& size) { return size.python(); }) + "]";
  }
  static std::string type(const TensorType& type) {
    return std::string(tensor::to_string(type.dtype)) + shape(type.shape);
  }

  std::string value(ValueId id) const {
    if (id.is_input()) return graph_.inputs[id.input_index()].name;
    if (graph_.nodes[static_cast<std::size_t>(id.node)].outputs.size() == 1)
      return fmt::format("%{}", id.node);
    return fmt::format("%{}.{}", id.node, id.output);
  }

  std::string argument(const Attribute& attribute) const {
    struct Visitor {
      const Printer& printer;
      std::string operator()(std::monostate) const { return "None"; }
      std::string operator()(bool value) const { return value ? "True" : "False"; }
      std::string operator()(const IntExpr& value) const { return value.python(); }
      std::string operator()(double value) const { return number_text(value); }
      std::string operator()(const std::string& value) const {
        return "\"" + printable(value, 80) + "\"";
      }
      std::string operator()(tensor::DType value) const {
        return std::string(tensor::to_string(value));
      }
      std::string operator()(ValueId value) const { return printer.value(value); }
      std::string operator()(const std::vector<IntExpr>& value) const { return shape(value); }
      std::string operator()(const std::vector<double>& value) const {
        return "[" + list(value, number_text) + "]";
      }
      std::string operator()(const std::vector<bool>& value) const {
        return "[" + list(value, [](bool item) { return std::string(item ? "True" : "False"); }) +
               "]";
      }
      std::string operator()(const std::vector<std::optional<ValueId>>& value) const {
        return "[" +
               list(value,
                    [&](const auto& item) {
                      return item ? printer.value(*item) : std::string("None");
                    }) +
               "]";
      }
    };
    return std::visit(Visitor{*this}, attribute);
  }

  std::string node(std::size_t index, const Node& node) const {
    return fmt::format(
        "%{} = {}({}) -> {}{}\n", index, node.op,
        list(node.arguments,
             [&](const auto& item) { return item.first + "=" + argument(item.second); }),
        list(node.outputs, [](const TensorType& output) { return type(output); }),
        node.line > 0 ? fmt::format("  # line {}", node.line) : "");
  }

  const Graph& graph_;
};

}  // namespace

IntExpr element_count(const Shape& shape) {
  IntExpr out = 1;
  for (const IntExpr& size : shape) out = out * size;
  return out;
}

const Attribute* Node::find(std::string_view name) const {
  for (const auto& [key, attribute] : arguments) {
    if (key == name) return &attribute;
  }
  return nullptr;
}

const TensorType& Graph::type(ValueId value) const {
  if (value.is_input()) return inputs.at(value.input_index()).type;
  return nodes.at(static_cast<std::size_t>(value.node))
      .outputs.at(static_cast<std::size_t>(value.output));
}

Status check(const Graph& graph) {
  return Checker(graph).run();
}

Result<std::string> broken_condition(const Graph& graph,
                                     const std::map<std::string, std::int64_t>& sizes) {
  for (const Condition& condition : graph.conditions) {
    KW_TRY(std::int64_t left, condition.left.evaluate(sizes));
    KW_TRY(std::int64_t right, condition.right.evaluate(sizes));
    bool holds = false;
    switch (condition.relation) {
      case Relation::kEqual:
        holds = left == right;
        break;
      case Relation::kNotEqual:
        holds = left != right;
        break;
      case Relation::kLess:
        holds = left < right;
        break;
      case Relation::kLessEqual:
        holds = left <= right;
        break;
    }
    if (!holds) return text_of(condition);
  }
  return std::string();
}

Graph without_lines(Graph graph) {
  for (Node& node : graph.nodes) node.line = 0;
  return graph;
}

std::string to_text(const Graph& graph) {
  return Printer(graph).run();
}

Graph with_numbers(const Graph& graph, const std::map<std::string, std::int64_t>& sizes) {
  const std::map<std::string, IntExpr> values(sizes.begin(), sizes.end());
  Graph out = graph;
  const auto in = [&](IntExpr& expr) { expr = expr.substitute(values); };
  const auto in_all = [&](std::vector<IntExpr>& list) {
    for (IntExpr& expr : list) in(expr);
  };
  for (Condition& condition : out.conditions) {
    in(condition.left);
    in(condition.right);
  }
  for (GraphInput& input : out.inputs) in_all(input.type.shape);
  for (Node& node : out.nodes) {
    for (TensorType& type : node.outputs) in_all(type.shape);
    for (auto& [name, value] : node.arguments) {
      if (auto* expr = std::get_if<IntExpr>(&value)) in(*expr);
      if (auto* list = std::get_if<std::vector<IntExpr>>(&value)) in_all(*list);
    }
  }
  return out;
}

}  // namespace kw::writer
