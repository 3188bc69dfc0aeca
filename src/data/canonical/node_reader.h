// Reads a graph's nodes as terms.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "data/canonical/terms.h"
#include "writer/graph/graph.h"

namespace kw::data::canonical {

std::string base_name(const std::string& op);  // "add" of "add.Tensor"

// Sizes are those of the graph. Borrowed: both. A node with arguments that its operator does not
// have is a term of its own.
class NodeReader {
 public:
  NodeReader(const writer::Graph& graph, Terms& terms);

  TermId term(writer::ValueId value) const;

 private:
  using Node = writer::Node;
  using Attribute = writer::Attribute;
  struct Operand {
    std::optional<TermId> term;
    std::optional<double> number;
  };
  using Read = std::optional<TermId> (NodeReader::*)(const Node&, const Type&);

  Type type_of(const writer::TensorType& type) const;
  std::optional<double> number(const Attribute* attribute) const;
  double number_or(const Node& node, const char* name, double otherwise) const;
  Operand operand(const Node& node, const char* name) const;
  std::optional<TermId> tensor(const Node& node, const char* name) const;
  TermId as_term(const Operand& operand, const Type& type);
  bool fits(TermId x, const Type& type) const;                // can be broadcast to the shape
  bool fits(const Operand& operand, const Type& type) const;  // is there, and can be
  std::optional<Numbers> list(const Attribute* attribute) const;
  // Ascending, of a tensor; all of them where none is named.
  std::optional<Numbers> axes(const Node& node, TermId of) const;

  std::vector<TermId> read(const Node& node);
  static Read reader_of(const std::string& op, std::size_t output);  // nullptr: none

  std::optional<TermId> function(const Node& node, const Type& type);
  std::optional<TermId> power_of_number(const Node& node, const Type& type);
  std::optional<TermId> activation(const Node& node, const Type& type);
  std::optional<TermId> clamp(const Node& node, const Type& type);
  std::optional<TermId> arithmetic(const Node& node, const Type& type);
  std::optional<TermId> comparison(const Node& node, const Type& type);
  std::optional<TermId> where(const Node& node, const Type& type);
  std::optional<TermId> shape(const Node& node, const Type& type);
  std::optional<TermId> permute(const Node& node, const Type& type);
  std::optional<TermId> cat(const Node& node, const Type& type);
  std::optional<TermId> full(const Node& node, const Type& type);
  std::optional<TermId> slice(const Node& node, const Type& type);
  std::optional<TermId> select(const Node& node, const Type& type);
  std::optional<TermId> flip(const Node& node, const Type& type);
  std::optional<TermId> rows(const Node& node, const Type& type);
  std::optional<TermId> pad(const Node& node, const Type& type);
  std::optional<TermId> sort(const Node& node, const Type& type);
  std::optional<TermId> along_axis(const Node& node, const Type& type);
  std::optional<TermId> convolution(const Node& node, const Type& type);
  std::optional<TermId> product(const Node& node, const Type& type);
  std::optional<TermId> reduction(const Node& node, const Type& type);
  std::optional<TermId> mean(const Node& node, const Type& type);
  std::optional<TermId> place(const Node& node, const Type& type);
  std::optional<TermId> vector_norm(const Node& node, const Type& type);
  std::optional<TermId> softmax(const Node& node, const Type& type);
  std::optional<TermId> layer_norm(const Node& node, const Type& type);
  std::optional<TermId> group_norm(const Node& node, const Type& type);
  std::optional<TermId> batch_norm(const Node& node, const Type& type);
  std::optional<TermId> top(const Node& node, const Type& type);
  // x * weight + bias, where they are given, each seen as `shape`.
  std::optional<TermId> affine(TermId x, const Node& node, const Numbers& shape);

  // A term under the node's own name, with its arguments except those that the output's type
  // implies.
  TermId any(const Node& node, std::size_t output, const Type& type);
  TermId named(const std::string& op, const Node& node, const Type& type,
               const std::vector<std::string>& left_out, std::vector<TermId> operands);
  std::string argument(const Attribute& attribute, std::vector<TermId>& operands);

  const writer::Graph& graph_;
  Terms& terms_;
  std::vector<TermId> inputs_;
  std::vector<std::vector<TermId>> nodes_;  // terms by output
};

}  // namespace kw::data::canonical
