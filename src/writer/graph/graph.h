// Graph: what a problem's reference computes, as torch's own operators on tensors of symbolic
// shape. Made by the tracer from anybody's module or run(), or by the generator; what the writer
// turns into kernels.
#pragma once
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "base/result.h"
#include "tensor/dtype.h"
#include "writer/graph/int_expr.h"

namespace kw::writer {

using Shape = std::vector<IntExpr>;  // [] is a 0-d tensor
IntExpr element_count(const Shape& shape);

struct TensorType {
  tensor::DType dtype = tensor::DType::kFloat32;
  Shape shape;
  bool operator==(const TensorType&) const = default;
};

// A tensor of a graph: output `output` of a node, or (node < 0) input ~node.
struct ValueId {
  int node = 0, output = 0;
  static ValueId input(std::size_t index) { return {~static_cast<int>(index), 0}; }
  bool is_input() const { return node < 0; }
  std::size_t input_index() const { return ~static_cast<std::size_t>(node); }
  auto operator<=>(const ValueId&) const = default;
};

enum class InputRole {
  kInput,   // given on each call
  kStatic,  // a parameter or buffer, or an input that the policy gives once
  kScalar,  // a host number: type.shape is [], the dtype int64, float64 or bool
};

struct GraphInput {
  std::string name;  // a C and Python identifier, the same as in task::Signature
  InputRole role = InputRole::kInput;
  TensorType type;
};

// An attribute of a node. Numbers of a scalar input are ValueIds.
using Attribute = std::variant<std::monostate,        // None
                               bool,                  //
                               IntExpr,               // int, SymInt
                               double,                // float
                               std::string,           // a string, memory format, layout
                               tensor::DType,         //
                               ValueId,               // a tensor
                               std::vector<IntExpr>,  // int[], SymInt[]
                               std::vector<double>,   // float[]
                               std::vector<bool>,     //
                               std::vector<std::optional<ValueId>>>;  // Tensor[], Tensor?[]

// A call of one of torch's operators. Every argument of the operator's schema is there under the
// schema's name, those with a default too.
struct Node {
  std::string op;  // overload without namespace: "add.Tensor", "convolution.default"
  std::vector<std::pair<std::string, Attribute>> arguments;  // in the schema's order
  std::vector<TensorType>
      // Types as the tracer saw them; shape [0] for an output that is no tensor or is not used.
      outputs;
  int line = 0;  // line of the problem's source, from 1; 0: not known

  const Attribute* find(std::string_view name) const;  // nullptr: the schema has no such argument
};

// Calls see(ValueId&) for every value of an attribute, or of all arguments of a node in their
// order.
template <typename AnyAttribute, typename See>
void for_each_value(AnyAttribute& attribute, const See& see)
  requires std::is_same_v<std::remove_const_t<AnyAttribute>, Attribute>
{
  if (auto* one = std::get_if<ValueId>(&attribute)) see(*one);
  if (auto* list = std::get_if<std::vector<std::optional<ValueId>>>(&attribute)) {
    for (auto& value : *list) {
      if (value) see(*value);
    }
  }
}
template <typename AnyNode, typename See>
void for_each_value(AnyNode& node, const See& see)
  requires std::is_same_v<std::remove_const_t<AnyNode>, Node>
{
  for (auto& [name, attribute] : node.arguments) for_each_value(attribute, see);
}

// A relation that must hold between sizes for the graph to be the problem's, because the traced
// code branched on it.
enum class Relation { kEqual, kNotEqual, kLess, kLessEqual };

struct Condition {
  IntExpr left;
  Relation relation = Relation::kEqual;
  IntExpr right;
  bool operator==(const Condition&) const = default;
};

struct Graph {
  // The sizes that shapes depend on, with the values of the traced size set. Names are those of a
  // definition's axes, or of a module's dimensions (x_0 is the first dimension of input x). A host
  // scalar that is an integer is a size too, under its input's name.
  std::map<std::string, std::int64_t> sizes;
  // An axis whose value the code depends on is there as `axis == value`, and a number in shapes.
  std::vector<Condition> conditions;
  std::vector<GraphInput> inputs;  // kInput and kScalar in call order, then kStatic
  std::vector<Node> nodes;         // in an order in which every value comes before its use
  std::vector<ValueId> outputs;

  const TensorType& type(ValueId value) const;
};

// kInvalidArgument, naming the node, for a value used before it is made, an expression with a
// symbol that `sizes` lacks, or an output that does not exist. The same for a name that is no
// identifier or stands twice, and for inputs in another order than that of Graph::inputs.
Status check(const Graph& graph);

// The first condition that does not hold for these sizes, as people read it ("N == 64"); empty:
// all hold. kInvalidArgument for a size without a value.
Result<std::string> broken_condition(const Graph& graph,
                                     const std::map<std::string, std::int64_t>& sizes);

// The graph where these sizes are numbers; they stay in `sizes`.
Graph with_numbers(const Graph& graph, const std::map<std::string, std::int64_t>& sizes);

// The graph as if nothing were known of the source's lines.
Graph without_lines(Graph graph);

// Text for people, prompts and golden files: one line for each input, node and output.
std::string to_text(const Graph& graph);

// Reads the form of docs/formats/graph.md. The reader accepts hostile text, since the tracer runs
// next to other people's code, and calls check().
Result<Graph> graph_from_json(std::string_view text, const std::string& where);
std::string to_json_text(const Graph& graph);  // one line

}  // namespace kw::writer
