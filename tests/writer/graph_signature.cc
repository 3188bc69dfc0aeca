#include "graph_signature.h"

#include <fmt/format.h>

namespace kw::writer {
namespace {

Result<task::Argument> argument_of(const std::string& name, task::Role role, const TensorType& type,
                                   const std::map<std::string, std::int64_t>& sizes) {
  task::Argument out{.name = name, .role = role, .dtype = type.dtype};
  for (const IntExpr& each : type.shape) {
    KW_TRY(const std::int64_t extent, each.evaluate(sizes));
    out.shape.push_back(extent);
  }
  return out;
}

std::vector<std::string> texts(const Shape& shape) {
  std::vector<std::string> out;
  for (const IntExpr& each : shape) out.push_back(each.python());
  return out;
}

}  // namespace

Result<task::Signature> signature_of(const Graph& graph, const std::set<std::string>& variable,
                                     const std::map<std::string, std::int64_t>& sizes) {
  task::Signature out;
  std::set<std::string> scalars;
  for (const GraphInput& input : graph.inputs) {
    const bool is_static = input.role == InputRole::kStatic;
    const bool is_scalar = input.role == InputRole::kScalar;
    if (is_scalar) scalars.insert(input.name);
    const task::Role role = is_static   ? task::Role::kStatic
                            : is_scalar ? task::Role::kScalar
                                        : task::Role::kInput;
    KW_TRY(task::Argument one, argument_of(input.name, role, input.type, sizes));
    (is_static ? out.statics : out.inputs).push_back(std::move(one));
    (is_static ? out.static_axes : out.input_axes).push_back(texts(input.type.shape));
  }
  for (std::size_t i = 0; i < graph.outputs.size(); ++i) {
    const TensorType& type = graph.type(graph.outputs[i]);
    KW_TRY(task::Argument one,
           argument_of(fmt::format("result{}", i), task::Role::kOutput, type, sizes));
    out.outputs.push_back(std::move(one));
    out.output_axes.push_back(texts(type.shape));
  }
  for (const auto& [name, traced] : graph.sizes) {
    const auto value = sizes.find(name);
    const std::int64_t size = value == sizes.end() ? traced : value->second;
    if (variable.contains(name))
      out.axes.emplace_back(name, size);
    else if (!scalars.contains(name))
      out.constants.emplace_back(name, size);
  }
  return out;
}

}  // namespace kw::writer
