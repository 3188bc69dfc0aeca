#include "data/canonical/node_reader.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <set>
#include <type_traits>
#include <variant>

#include <fmt/ranges.h>

#include "base/check.h"

namespace kw::data::canonical {

using writer::IntExpr;
using writer::ValueId;

std::string base_name(const std::string& op) {
  return op.substr(0, op.find('.'));
}

NodeReader::NodeReader(const writer::Graph& graph, Terms& terms) : graph_(graph), terms_(terms) {
  for (std::size_t i = 0; i < graph.inputs.size(); ++i) {
    const auto& input = graph.inputs[i];
    inputs_.push_back(terms_.input(i, static_cast<int>(input.role), type_of(input.type)));
  }
  for (const Node& node : graph.nodes) nodes_.push_back(read(node));
}

TermId NodeReader::term(ValueId value) const {
  if (value.is_input()) return inputs_[value.input_index()];
  return nodes_[static_cast<std::size_t>(value.node)].at(static_cast<std::size_t>(value.output));
}

Type NodeReader::type_of(const writer::TensorType& type) const {
  Type out{type.dtype, {}};
  for (const IntExpr& axis : type.shape)
    out.shape.push_back(axis.evaluate(graph_.sizes).value_or(-1));
  return out;
}

std::optional<double> NodeReader::number(const Attribute* attribute) const {
  if (attribute == nullptr) return std::nullopt;
  if (const auto* real = std::get_if<double>(attribute)) return *real;
  if (const auto* whole = std::get_if<IntExpr>(attribute)) {
    if (auto value = whole->evaluate(graph_.sizes)) return static_cast<double>(*value);
  }
  return std::nullopt;
}

double NodeReader::number_or(const Node& node, const char* name, double otherwise) const {
  return number(node.find(name)).value_or(otherwise);
}

NodeReader::Operand NodeReader::operand(const Node& node, const char* name) const {
  const Attribute* attribute = node.find(name);
  if (attribute == nullptr) return {};
  if (const auto* value = std::get_if<ValueId>(attribute)) return {term(*value), {}};
  return {{}, number(attribute)};
}

std::optional<TermId> NodeReader::tensor(const Node& node, const char* name) const {
  return operand(node, name).term;
}

TermId NodeReader::as_term(const Operand& operand, const Type& type) {
  if (operand.term) return *operand.term;
  KW_CHECK(operand.number.has_value());
  return terms_.full(*operand.number, type);
}

bool NodeReader::fits(TermId x, const Type& type) const {
  const Numbers& shape = terms_[x].type.shape;
  return shape.size() <= type.shape.size() &&
         std::equal(shape.rbegin(), shape.rend(), type.shape.rbegin(),
                    [](std::int64_t a, std::int64_t b) { return a == 1 || a == b; });
}

bool NodeReader::fits(const Operand& operand, const Type& type) const {
  return operand.term ? fits(*operand.term, type) : operand.number.has_value();
}

std::optional<Numbers> NodeReader::list(const Attribute* attribute) const {
  if (attribute == nullptr) return std::nullopt;
  Numbers out;
  if (const auto one = number(attribute)) out.push_back(static_cast<std::int64_t>(*one));
  if (const auto* many = std::get_if<std::vector<IntExpr>>(attribute)) {
    for (const IntExpr& one : *many) out.push_back(one.evaluate(graph_.sizes).value_or(-1));
  }
  return out;
}

std::optional<Numbers> NodeReader::axes(const Node& node, TermId of) const {
  const std::size_t rank = terms_[of].type.shape.size();
  Numbers out = list(node.find("dim")).value_or(Numbers{});
  if (out.empty()) {
    out.resize(rank);
    std::iota(out.begin(), out.end(), 0);
  }
  std::sort(out.begin(), out.end());
  if (std::adjacent_find(out.begin(), out.end()) != out.end()) return std::nullopt;
  if (!out.empty() && (out.front() < 0 || out.back() >= static_cast<std::int64_t>(rank)))
    return std::nullopt;
  return out;
}

std::vector<TermId> NodeReader::read(const Node& node) {
  std::vector<TermId> out;
  for (std::size_t i = 0; i < node.outputs.size(); ++i) {
    const Type type = type_of(node.outputs[i]);
    std::optional<TermId> known;
    const Read reader = reader_of(node.op, i);
    const bool is_known = reader != nullptr &&
                          std::find(type.shape.begin(), type.shape.end(), -1) == type.shape.end();
    if (is_known) known = (this->*reader)(node, type);
    out.push_back(known && terms_[*known].type == type ? *known : any(node, i, type));
  }
  return out;
}

TermId NodeReader::any(const Node& node, std::size_t output, const Type& type) {
  return named(output == 0 ? node.op : fmt::format("{}#{}", node.op, output), node, type, {}, {});
}

TermId NodeReader::named(const std::string& op, const Node& node, const Type& type,
                         const std::vector<std::string>& left_out, std::vector<TermId> operands) {
  static const std::set<std::string> kTold = {"dtype", "layout", "device", "pin_memory"};
  std::string text = op;
  for (const auto& [name, attribute] : node.arguments) {
    if (kTold.contains(name)) continue;
    // Without a stride a pool moves by its window.
    const Attribute* shown = &attribute;
    if (name == "stride" && list(shown) == Numbers{} && node.find("kernel_size") != nullptr)
      shown = node.find("kernel_size");
    const bool is_out = std::find(left_out.begin(), left_out.end(), name) != left_out.end();
    text += is_out ? " _" : " " + argument(*shown, operands);
  }
  return terms_.other(std::move(text), std::move(operands), type);
}

std::string NodeReader::argument(const Attribute& attribute, std::vector<TermId>& operands) {
  if (const auto value = number(&attribute)) return text_of(*value);
  return std::visit(
      [&](const auto& value) -> std::string {
        using T = std::decay_t<decltype(value)>;
        if constexpr (std::is_same_v<T, bool>) return value ? "True" : "False";
        if constexpr (std::is_same_v<T, std::string>) return "'" + value + "'";
        if constexpr (std::is_same_v<T, tensor::DType>)
          return std::string(tensor::to_string(value));
        if constexpr (std::is_same_v<T, ValueId>) {
          operands.push_back(term(value));
          return "%";
        }
        std::string out = "[";
        if constexpr (std::is_same_v<T, std::vector<IntExpr>>) {
          out += fmt::format("{}", fmt::join(*list(&attribute), " "));
        } else if constexpr (std::is_same_v<T, std::vector<double>>) {
          for (double one : value) out += text_of(one) + " ";
        } else if constexpr (std::is_same_v<T, std::vector<bool>>) {
          for (bool one : value) out += one ? "True " : "False ";
        } else if constexpr (std::is_same_v<T, std::vector<std::optional<ValueId>>>) {
          for (const auto& one : value) {
            out += one ? "% " : "None ";
            if (one) operands.push_back(term(*one));
          }
        } else {
          return "None";
        }
        return out + "]";
      },
      attribute);
}

NodeReader::Read NodeReader::reader_of(const std::string& op, std::size_t output) {
  using R = NodeReader;
  static const std::map<std::string, Read> kReaders = [] {
    std::map<std::string, Read> out;
    const auto add = [&out](Read read, const std::vector<const char*>& names) {
      for (const char* name : names) out[name] = read;
    };
    add(&R::function, {"exp",         "exp2",
                       "expm1",       "log",
                       "log2",        "log10",
                       "log1p",       "sqrt",
                       "rsqrt",       "reciprocal",
                       "tanh",        "sigmoid",
                       "relu",        "abs",
                       "erf",         "sin",
                       "cos",         "neg",
                       "sign",        "logical_not",
                       "bitwise_not", "pow.Tensor_Scalar"});
    add(&R::power_of_number, {"pow.Scalar"});
    add(&R::activation,
        {"silu", "gelu", "mish", "softplus", "hardsigmoid", "hardswish", "leaky_relu", "elu"});
    add(&R::clamp, {"clamp", "hardtanh"});
    add(&R::arithmetic, {"add", "sub", "mul", "div.Tensor", "maximum", "minimum"});
    add(&R::comparison, {"lt", "le", "gt", "ge", "eq", "ne"});
    add(&R::where, {"where"});
    add(&R::shape, {"view.default", "unsqueeze", "expand", "_to_copy"});
    add(&R::permute, {"permute"});
    add(&R::cat, {"cat"});
    add(&R::full, {"full"});
    add(&R::slice, {"slice"});
    add(&R::select, {"select"});
    add(&R::flip, {"flip"});
    add(&R::rows, {"embedding", "index.Tensor", "index_select"});
    add(&R::pad, {"constant_pad_nd"});
    add(&R::sort, {"sort"});
    add(&R::along_axis, {"cumsum", "cumprod", "logcumsumexp"});
    add(&R::convolution, {"convolution"});
    add(&R::product, {"mm", "bmm", "addmm", "baddbmm"});
    add(&R::reduction,
        {"sum", "mean", "amax", "amin", "max", "min", "var", "logsumexp", "var_mean"});
    add(&R::mean, {"var_mean#1"});
    add(&R::place, {"argmax", "argmin", "max#1", "min#1"});
    add(&R::vector_norm, {"linalg_vector_norm"});
    add(&R::softmax, {"_softmax", "_log_softmax"});
    add(&R::layer_norm, {"native_layer_norm"});
    add(&R::group_norm, {"native_group_norm"});
    add(&R::batch_norm,
        {"_native_batch_norm_legit.no_stats", "_native_batch_norm_legit_no_training"});
    add(&R::top, {"topk"});
    return out;
  }();
  const std::string base = base_name(op);
  auto found = kReaders.find(output == 0 ? op : fmt::format("{}#{}", base, output));
  if (found == kReaders.end() && output == 0) found = kReaders.find(base);
  return found == kReaders.end() ? nullptr : found->second;
}

}  // namespace kw::data::canonical
