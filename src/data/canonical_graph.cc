#include "data/canonical_graph.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <numeric>
#include <optional>
#include <set>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include <fmt/ranges.h>

#include "base/hash.h"

namespace kw::data {
namespace {

using writer::Attribute;
using writer::IntExpr;
using writer::Node;
using writer::ValueId;
using Numbers = std::vector<std::int64_t>;

struct Type {
  task::DType dtype = task::DType::kFloat32;
  Numbers shape;
  bool operator==(const Type&) const = default;
};

struct Term {
  std::string op;             // with its arguments; "%" for operands
  double by = 0;              // of scale, shift, full
  std::vector<int> operands;  // terms
  Type type;
  std::optional<std::size_t> input;
  std::string form;  // hash of it all, but for which input it is
};

std::string text_of(double number) {
  return fmt::format("{:.12g}", number);
}

std::string text_of(const Type& type) {
  return fmt::format("{}[{}]", task::to_string(type.dtype), fmt::join(type.shape, " "));
}

// Each value once. Terms are made by the functions below, each of which knows a rule or two.
class Terms {
 public:
  const Term& operator[](int id) const { return all_[static_cast<std::size_t>(id)]; }

  int add(Term term) {
    const std::string shown =
        fmt::format("{} {} {}", term.op, text_of(term.by), text_of(term.type));
    std::string key = fmt::format("{} {} {}", shown, fmt::join(term.operands, " "),
                                  term.input ? static_cast<int>(*term.input) : -1);
    auto [at, added] = ids_.emplace(std::move(key), static_cast<int>(all_.size()));
    if (!added) return at->second;
    term.form = shown;
    for (int operand : term.operands) term.form += " " + (*this)[operand].form;
    term.form = sha256_hex(term.form);
    all_.push_back(std::move(term));
    return at->second;
  }
  int make(std::string op, std::vector<int> operands, Type type) {
    return add({std::move(op), 0, std::move(operands), std::move(type), {}, {}});
  }
  int commuted(std::string op, int a, int b, Type type) {
    a = unexpanded(a);
    b = unexpanded(b);
    if ((*this)[b].form < (*this)[a].form) std::swap(a, b);
    return make(std::move(op), {a, b}, std::move(type));
  }
  // An operand that is repeated along axes: operators on elements do that themselves.
  int unexpanded(int id) const {
    while ((*this)[id].op == "expand") id = (*this)[id].operands[0];
    return id;
  }
  int scale(int x, double by, const Type& type) {
    const Term& of = (*this)[x];
    if (of.op == "scale" && of.type == type) return scale(of.operands[0], by * of.by, type);
    if (text_of(by) == "1" && of.type == type) return x;
    return add({"scale", by, {x}, type, {}, {}});
  }
  int shift(int x, double by, const Type& type) {
    const Term& of = (*this)[x];
    if (of.op == "shift" && of.type == type) return shift(of.operands[0], by + of.by, type);
    if (text_of(by) == "0" && of.type == type) return x;
    return add({"shift", by, {x}, type, {}, {}});
  }
  int view(int x, Numbers shape) {
    while ((*this)[x].op == "view") x = (*this)[x].operands[0];
    if ((*this)[x].type.shape == shape) return x;
    Type type{(*this)[x].type.dtype, std::move(shape)};
    return make("view", {x}, std::move(type));
  }
  int permute(int x, Numbers order) {
    const Term& of = (*this)[x];
    if (of.op.starts_with("permute")) {
      const Numbers& before = orders_.at(x);
      for (std::int64_t& axis : order) axis = before[static_cast<std::size_t>(axis)];
      return permute(of.operands[0], std::move(order));
    }
    if (std::is_sorted(order.begin(), order.end())) return x;
    Type type{of.type.dtype, {}};
    for (std::int64_t axis : order)
      type.shape.push_back(of.type.shape[static_cast<std::size_t>(axis)]);
    const int out = make(fmt::format("permute {}", fmt::join(order, " ")), {x}, std::move(type));
    orders_.emplace(out, std::move(order));
    return out;
  }
  int multiplied(int a, int b, const Type& type) {
    for (auto [x, gate] : {std::pair(a, b), std::pair(b, a)}) {
      const Term& of = (*this)[gate];
      if (of.op == "sigmoid.default %" && of.operands[0] == x)
        return make("silu.default %", {x}, type);
    }
    return commuted("mul", a, b, type);
  }
  int reciprocal(int x, const Type& type) {
    const Term& of = (*this)[x];
    if (of.op == "sqrt.default %") return make("rsqrt.default %", of.operands, type);
    return make("reciprocal.default %", {x}, type);
  }
  // Over sorted axes; of the type that it has with them or without.
  int reduced(const std::string& op, int x, const Numbers& axes, const Type& type) {
    Type without{type.dtype, {}};
    const Numbers& shape = (*this)[x].type.shape;
    for (std::size_t i = 0; i < shape.size(); ++i) {
      if (!std::binary_search(axes.begin(), axes.end(), static_cast<std::int64_t>(i)))
        without.shape.push_back(shape[i]);
    }
    return view(make(fmt::format("{} {}", op, fmt::join(axes, " ")), {x}, without), type.shape);
  }
  int mean(int x, const Numbers& axes, const Type& type) {
    double count = 1;
    for (std::int64_t axis : axes)
      count *= static_cast<double>((*this)[x].type.shape[static_cast<std::size_t>(axis)]);
    const int sum = reduced("sum", x, axes, type);
    const Term of = (*this)[sum];
    if (of.op != "view") return scale(sum, 1 / count, type);
    return view(scale(of.operands[0], 1 / count, (*this)[of.operands[0]].type), type.shape);
  }

 private:
  std::vector<Term> all_;
  std::map<std::string, int> ids_;
  std::map<int, Numbers> orders_;  // of permutations
};

class Reader {
 public:
  explicit Reader(const writer::Graph& graph) : graph_(graph) {
    for (std::size_t i = 0; i < graph.inputs.size(); ++i) {
      const auto& input = graph.inputs[i];
      inputs_.push_back(terms_.add({fmt::format("input {}", static_cast<int>(input.role)),
                                    {},
                                    {},
                                    type_of(input.type),
                                    i,
                                    {}}));
    }
    for (const Node& node : graph.nodes) nodes_.push_back(read(node));
  }

  // Each term behind those that it uses, in the order in which outputs and operands name them.
  std::string text() {
    for (ValueId output : graph_.outputs) show(term(output));
    for (ValueId output : graph_.outputs) text_ += fmt::format("out {}\n", shown_.at(term(output)));
    return std::move(text_);
  }

 private:
  struct Operand {
    std::optional<int> term;
    std::optional<double> number;
  };

  Type type_of(const writer::TensorType& type) const {
    Type out{type.dtype, {}};
    for (const IntExpr& axis : type.shape)
      out.shape.push_back(axis.evaluate(graph_.sizes).value_or(-1));
    return out;
  }
  int term(ValueId value) const {
    if (value.is_input()) return inputs_[value.input_index()];
    return nodes_[static_cast<std::size_t>(value.node)].at(static_cast<std::size_t>(value.output));
  }
  std::optional<double> number(const Attribute* attribute) const {
    if (attribute == nullptr) return std::nullopt;
    if (const auto* real = std::get_if<double>(attribute)) return *real;
    if (const auto* whole = std::get_if<IntExpr>(attribute)) {
      if (auto value = whole->evaluate(graph_.sizes)) return static_cast<double>(*value);
    }
    return std::nullopt;
  }
  Operand operand(const Node& node, const char* name) const {
    const Attribute* attribute = node.find(name);
    if (attribute == nullptr) return {};
    if (const auto* value = std::get_if<ValueId>(attribute)) return {term(*value), {}};
    return {{}, number(attribute)};
  }
  std::optional<Numbers> list(const Attribute* attribute) const {
    if (attribute == nullptr) return std::nullopt;
    Numbers out;
    if (const auto one = number(attribute)) out.push_back(static_cast<std::int64_t>(*one));
    if (const auto* many = std::get_if<std::vector<IntExpr>>(attribute)) {
      for (const IntExpr& one : *many) out.push_back(one.evaluate(graph_.sizes).value_or(-1));
    }
    return out;
  }

  static bool are_axes(const Numbers& numbers, std::size_t rank) {
    const std::set<std::int64_t> each(numbers.begin(), numbers.end());
    return each.size() == numbers.size() &&
           (each.empty() ||
            (*each.begin() >= 0 && *each.rbegin() < static_cast<std::int64_t>(rank)));
  }

  std::vector<int> read(const Node& node) {
    std::vector<int> out;
    for (std::size_t i = 0; i < node.outputs.size(); ++i) {
      const Type type = type_of(node.outputs[i]);
      std::optional<int> known;
      if (i == 0) known = arithmetic(node, type);
      if (i == 0 && !known) known = moved(node, type);
      if (i == 0 && !known) known = product(node, type);
      if (!known) known = reduction(node, i, type);
      out.push_back(known ? *known : any(node, i, type));
    }
    return out;
  }

  // A tensor of one number is that number, where it does not give the result its shape.
  void take_full(Operand& operand, const Operand& other, const Type& type) const {
    if (!operand.term || !other.term) return;
    const Term& of = terms_[terms_.unexpanded(*operand.term)];
    if (of.op != "full" || terms_[*other.term].type.shape != type.shape) return;
    operand = {{}, of.by};
  }

  std::optional<int> arithmetic(const Node& node, const Type& type) {
    const std::string& op = node.op;
    Operand a = operand(node, "self"), b = operand(node, "other");
    if (a.term && op == "neg.default") return terms_.scale(*a.term, -1, type);
    if (a.term && op == "reciprocal.default") return terms_.reciprocal(*a.term, type);
    if (a.term && op == "relu.default") return terms_.make("relu", {*a.term}, type);
    if (a.term && op == "pow.Tensor_Scalar" && number(node.find("exponent")) == 2.0)
      return terms_.commuted("mul", *a.term, *a.term, type);
    if (op == "clamp.default" || op == "hardtanh.default") return clamped(node, type);
    take_full(a, b, type);
    take_full(b, a, type);
    const double factor = number(node.find("alpha")).value_or(1) * (op == "sub.Tensor" ? -1 : 1);
    if (a.term && b.term) return of_two(op, *a.term, *b.term, factor, type);
    if (a.term && b.number) return with_number(op, *a.term, *b.number, factor, type);
    if (a.number && b.term) return number_with(op, *a.number, *b.term, factor, type);
    return std::nullopt;
  }

  // factor: of what is added.
  std::optional<int> of_two(const std::string& op, int a, int b, double factor, const Type& type) {
    static const std::set<std::string> commuting = {
        "maximum.default",     "minimum.default",    "eq.Tensor",          "ne.Tensor",
        "logical_and.default", "logical_or.default", "bitwise_and.Tensor", "bitwise_or.Tensor"};
    if (commuting.contains(op)) return terms_.commuted(op, a, b, type);
    if (op == "gt.Tensor") return terms_.make("lt.Tensor % %", {b, a}, type);
    if (op == "ge.Tensor") return terms_.make("le.Tensor % %", {b, a}, type);
    if (op == "mul.Tensor") return terms_.multiplied(a, b, type);
    if (op == "div.Tensor")
      return terms_.make("div", {terms_.unexpanded(a), terms_.unexpanded(b)}, type);
    if (op != "add.Tensor" && op != "sub.Tensor") return std::nullopt;
    const int other = terms_.unexpanded(b);
    return terms_.commuted("add", a, terms_.scale(other, factor, Type(terms_[other].type)), type);
  }
  std::optional<int> with_number(const std::string& op, int a, double b, double factor,
                                 const Type& type) {
    if (op == "maximum.default" && b == 0) return terms_.make("relu", {a}, type);
    if (op == "add.Tensor" || op == "sub.Tensor") return terms_.shift(a, factor * b, type);
    if (op == "mul.Tensor") return terms_.scale(a, b, type);
    if (op == "div.Tensor") return terms_.scale(a, 1 / b, type);
    return std::nullopt;
  }
  std::optional<int> number_with(const std::string& op, double a, int b, double factor,
                                 const Type& type) {
    if (op == "maximum.default" && a == 0) return terms_.make("relu", {b}, type);
    if (op == "add.Tensor" || op == "sub.Tensor")
      return terms_.shift(terms_.scale(b, factor, type), a, type);
    if (op == "mul.Tensor") return terms_.scale(b, a, type);
    if (op == "div.Tensor") return terms_.scale(terms_.reciprocal(b, type), a, type);
    return std::nullopt;
  }

  std::optional<int> clamped(const Node& node, const Type& type) {
    const bool hard = node.op == "hardtanh.default";
    const Operand x = operand(node, "self");
    const Operand low = operand(node, hard ? "min_val" : "min"),
                  high = operand(node, hard ? "max_val" : "max");
    if (!x.term || low.term || high.term) return std::nullopt;
    if (low.number == 0.0 && !high.number) return terms_.make("relu", {*x.term}, type);
    return terms_.make(fmt::format("clamp {} {}", low.number ? text_of(*low.number) : "",
                                   high.number ? text_of(*high.number) : ""),
                       {*x.term}, type);
  }

  std::optional<int> moved(const Node& node, const Type& type) {
    const std::string& op = node.op;
    if (op == "full.default") {
      const Attribute* fill = node.find("fill_value");
      std::optional<double> value = number(fill);
      if (const auto* flag = std::get_if<bool>(fill)) value = *flag ? 1 : 0;
      if (!value) return std::nullopt;
      return terms_.add({"full", *value, {}, type, {}, {}});
    }
    const Operand x = operand(node, "self");
    if (!x.term) return std::nullopt;
    if (op == "view.default" || op == "unsqueeze.default") return terms_.view(*x.term, type.shape);
    if (op == "expand.default") {
      if (terms_[*x.term].type == type) return x.term;
      return terms_.make("expand", {terms_.unexpanded(*x.term)}, type);
    }
    if (op == "permute.default") {
      Numbers order = list(node.find("dims")).value_or(Numbers{});
      if (!are_axes(order, type.shape.size()) || order.size() != type.shape.size())
        return std::nullopt;
      return terms_.permute(*x.term, std::move(order));
    }
    if (op == "_to_copy.default")
      return terms_[*x.term].type == type ? *x.term : terms_.make("to", {*x.term}, type);
    return std::nullopt;
  }

  // A bias is added behind.
  std::optional<int> product(const Node& node, const Type& type) {
    const std::string& op = node.op;
    if (op == "convolution.default") {
      const Operand bias = operand(node, "bias");
      if (!bias.term || type.shape.size() < 2) return std::nullopt;
      Numbers shape = terms_[*bias.term].type.shape;
      shape.resize(type.shape.size() - 1, 1);
      return terms_.commuted("add", any(node, 0, type, "bias"),
                             terms_.view(*bias.term, std::move(shape)), type);
    }
    const bool batched = op == "baddbmm.default", plain = op == "mm.default" || op == "bmm.default";
    if (op != "addmm.default" && !batched && !plain) return std::nullopt;
    const Operand left = operand(node, plain     ? "self"
                                       : batched ? "batch1"
                                                 : "mat1"),
                  right = operand(node, plain     ? "mat2"
                                        : batched ? "batch2"
                                                  : "mat2"),
                  added = operand(node, "self");
    if (!left.term || !right.term || !added.term) return std::nullopt;
    if (!plain && (number(node.find("beta")) != 1.0 || number(node.find("alpha")) != 1.0))
      return std::nullopt;
    const int out = terms_.make("product", {*left.term, *right.term}, type);
    return plain ? out : terms_.commuted("add", out, *added.term, type);
  }

  std::optional<int> reduction(const Node& node, std::size_t output, const Type& type) {
    const std::string name = node.op.substr(0, node.op.find('.'));
    const Operand x = operand(node, "self");
    static const std::map<std::string, std::string> ops = {
        {"sum", "sum"},  {"mean", "mean"}, {"amax", "amax"}, {"amin", "amin"},
        {"max", "amax"}, {"min", "amin"},  {"var", "var"},   {"var_mean", "var"}};
    auto found = ops.find(name);
    if (found == ops.end() || !x.term || (output > 0 && name != "var_mean")) return std::nullopt;
    Numbers axes = list(node.find("dim")).value_or(Numbers{});
    if (axes.empty()) {
      axes.resize(terms_[*x.term].type.shape.size());
      std::iota(axes.begin(), axes.end(), 0);
    }
    std::sort(axes.begin(), axes.end());
    if (!are_axes(axes, terms_[*x.term].type.shape.size())) return std::nullopt;
    if (name == "mean" || output == 1) return terms_.mean(*x.term, axes, type);
    std::string op = found->second;
    if (op == "var") op += " " + text_of(number(node.find("correction")).value_or(1));
    return terms_.reduced(op, *x.term, axes, type);
  }

  // Under its own name, with its arguments but for those that the output's type tells.
  int any(const Node& node, std::size_t output, const Type& type, const std::string& without = "") {
    static const std::set<std::string> told = {"dtype", "layout", "device", "pin_memory"};
    std::string op = node.op;
    if (output > 0) op += fmt::format("#{}", output);
    std::vector<int> operands;
    for (const auto& [name, attribute] : node.arguments) {
      if (told.contains(name)) continue;
      op += name == without ? " None" : " " + argument(attribute, operands);
    }
    return terms_.make(std::move(op), std::move(operands), type);
  }

  std::string argument(const Attribute& attribute, std::vector<int>& operands) {
    if (const auto value = number(&attribute)) return text_of(*value);
    return std::visit(
        [&](const auto& value) -> std::string {
          using T = std::decay_t<decltype(value)>;
          if constexpr (std::is_same_v<T, bool>) return value ? "True" : "False";
          if constexpr (std::is_same_v<T, std::string>) return "'" + value + "'";
          if constexpr (std::is_same_v<T, task::DType>) return std::string(task::to_string(value));
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

  void show(int of) {
    std::vector<std::pair<int, std::size_t>> open = {{of, 0}};  // how many operands were looked at
    while (!open.empty()) {
      auto& [id, next] = open.back();
      const Term& term = terms_[id];
      if (shown_.contains(id)) {
        open.pop_back();
      } else if (next < term.operands.size()) {
        open.emplace_back(term.operands[next++], 0);
      } else {
        text_ += fmt::format("{} {}", term.op, text_of(term.by));
        for (int operand : term.operands) text_ += fmt::format(" {}", shown_.at(operand));
        text_ += fmt::format(" -> {}\n", text_of(term.type));
        shown_.emplace(id, shown_.size());
        open.pop_back();
      }
    }
  }

  const writer::Graph& graph_;
  Terms terms_;
  std::vector<int> inputs_;
  std::vector<std::vector<int>> nodes_;  // terms by output
  std::map<int, std::size_t> shown_;
  std::string text_;
};

}  // namespace

std::string canonical_text(const writer::Graph& graph) {
  return Reader(graph).text();
}

}  // namespace kw::data
