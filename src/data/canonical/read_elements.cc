// Nodes that work on each element by itself.
#include <cmath>
#include <optional>

#include "data/canonical/formulas.h"
#include "data/canonical/node_reader.h"

namespace kw::data::canonical {
std::optional<TermId> NodeReader::function(const Node& node, const Type& type) {
  const auto given = tensor(node, "self");
  if (!given || terms_[*given].type.shape != type.shape) return std::nullopt;
  const std::string name = base_name(node.op);
  if (name == "logical_not" || name == "bitwise_not") {
    if (terms_[*given].type.dtype != tensor::DType::kBool) return std::nullopt;
    return terms_.logical_not(*given);
  }
  const TermId x = terms_.to(*given, type.dtype);
  if (name == "neg") return terms_.scale(x, -1);
  if (name == "reciprocal") return terms_.reciprocal(x);
  if (name != "pow") return terms_.function(name, x);
  const auto exponent = number(node.find("exponent"));
  return exponent ? std::optional(terms_.power(x, *exponent)) : std::nullopt;
}

std::optional<TermId> NodeReader::power_of_number(const Node& node, const Type& type) {
  const auto base = number(node.find("self"));
  const auto exponent = tensor(node, "exponent");
  if (!base || *base <= 0 || !exponent || !fits(*exponent, type)) return std::nullopt;
  return terms_.function("exp", terms_.scale(terms_.to(*exponent, type.dtype), std::log(*base)));
}

std::optional<TermId> NodeReader::activation(const Node& node, const Type& type) {
  const auto given = tensor(node, "self");
  if (!given || terms_[*given].type != type) return std::nullopt;
  const TermId x = *given;
  const std::string name = base_name(node.op);
  if (name == "silu") return silu(terms_, x);
  if (name == "mish") return mish(terms_, x);
  if (name == "hardsigmoid") return hardsigmoid(terms_, x);
  if (name == "hardswish") return terms_.mul(x, hardsigmoid(terms_, x), type);
  if (name == "softplus") return softplus(terms_, x, number_or(node, "beta", 1));
  if (name == "leaky_relu") return leaky_relu(terms_, x, number_or(node, "negative_slope", 0.01));
  if (name == "elu")
    return elu(terms_, x, number_or(node, "alpha", 1), number_or(node, "scale", 1),
               number_or(node, "input_scale", 1));
  const auto* approximate = std::get_if<std::string>(node.find("approximate"));
  return gelu(terms_, x, approximate != nullptr && *approximate == "tanh");
}

std::optional<TermId> NodeReader::clamp(const Node& node, const Type& type) {
  const bool hard = base_name(node.op) == "hardtanh";
  const auto given = tensor(node, "self");
  const Operand low = operand(node, hard ? "min_val" : "min"),
                high = operand(node, hard ? "max_val" : "max");
  if (!given || terms_[*given].type.shape != type.shape) return std::nullopt;
  if ((low.term && !fits(low, type)) || (high.term && !fits(high, type))) return std::nullopt;
  TermId out = terms_.to(*given, type.dtype);
  if (!low.term && !high.term) return terms_.clamp(out, low.number, high.number);
  if (low.term || low.number) out = terms_.maximum(out, as_term(low, type), type);
  if (high.term || high.number) out = terms_.minimum(out, as_term(high, type), type);
  return out;
}

std::optional<TermId> NodeReader::arithmetic(const Node& node, const Type& type) {
  const Operand left = operand(node, "self"), right = operand(node, "other");
  if (!fits(left, type) || !fits(right, type)) return std::nullopt;
  const TermId a = as_term(left, type), b = as_term(right, type);
  const std::string name = base_name(node.op);
  const double factor = number_or(node, "alpha", 1);
  if (name == "add") return terms_.add(a, b, type, factor);
  if (name == "sub") return terms_.add(a, b, type, -factor);
  if (name == "mul") return terms_.mul(a, b, type);
  const TermId of = terms_.to(b, type.dtype);
  if (name == "div") return terms_.divide(a, of, type);
  return name == "maximum" ? terms_.maximum(terms_.to(a, type.dtype), of, type)
                           : terms_.minimum(terms_.to(a, type.dtype), of, type);
}

std::optional<TermId> NodeReader::comparison(const Node& node, const Type& type) {
  const Operand left = operand(node, "self"), right = operand(node, "other");
  if (!left.term || !fits(left, type) || !fits(right, type)) return std::nullopt;
  const Type like{terms_[*left.term].type.dtype, type.shape};
  return terms_.compare(base_name(node.op), *left.term, as_term(right, like), type);
}

std::optional<TermId> NodeReader::where(const Node& node, const Type& type) {
  const auto condition = tensor(node, "condition");
  const Operand yes = operand(node, "self"), no = operand(node, "other");
  if (!condition || !fits(*condition, type) || !fits(yes, type) || !fits(no, type))
    return std::nullopt;
  return terms_.where(*condition, as_term(yes, type), as_term(no, type), type);
}

std::optional<TermId> NodeReader::full(const Node& node, const Type& type) {
  const Attribute* fill = node.find("fill_value");
  if (fill == nullptr) return std::nullopt;
  if (const auto* flag = std::get_if<bool>(fill)) return terms_.full(*flag ? 1 : 0, type);
  const auto value = number(fill);
  return value ? std::optional(terms_.full(*value, type)) : std::nullopt;
}

}  // namespace kw::data::canonical
