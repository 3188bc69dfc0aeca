// Random arithmetic expressions over a tensor, numbers, and perhaps another tensor.
#include <algorithm>

#include <fmt/format.h>

#include "writer/generate/operators.h"
#include "writer/generate/python_text.h"

namespace kw::writer::generate {
namespace {

struct Term {
  ValueId id;
  double low = 0, high = 0;
  std::string plain, calls, methods;  // three ways to write it
};

class Expression {
 public:
  Expression(Builder& b, bool two) : b_(b), shape_(b.x().shape), two_(two) {}

  Term make(int depth) {
    if (depth == 0) return leaf();
    const double draw = b_.rng.uniform();
    if (draw < 0.3) return with_number(make(depth - 1));
    if (draw < 0.45) return function(make(depth - 1));
    Term left = make(depth - 1), right = make(depth > 1 && b_.chance(0.5) ? depth - 1 : 0);
    return combined(left, right);
  }

 private:
  Term leaf() {
    const bool other = two_ && b_.chance(0.4);
    const Value& value = b_.in(other ? 1 : 0);
    const std::string text = other ? "{y}" : "{x}";
    return {value.id, value.low, value.high, text, text, text};
  }
  static std::string wrapped(const std::string& text) {
    return is_atomic(text) ? text : "(" + text + ")";
  }
  Term with_number(const Term& term) {
    const double n = b_.number({2.0, 0.5, 3.0, 1.5, 0.1});
    const std::string text = python_number(n), inside = wrapped(term.plain);
    const std::string object = wrapped(term.methods);
    switch (b_.rng.below(4)) {
      case 0:
        return {b_.call("add.Tensor", {term.id, n}, shape_),
                term.low + n,
                term.high + n,
                fmt::format("{} + {}", term.plain, text),
                fmt::format("torch.add({}, {})", term.calls, text),
                fmt::format("{}.add({})", object, text)};
      case 1:
        return {b_.call("sub.Tensor", {term.id, n}, shape_),
                term.low - n,
                term.high - n,
                fmt::format("{} - {}", term.plain, text),
                fmt::format("torch.sub({}, {})", term.calls, text),
                fmt::format("{}.sub({})", object, text)};
      case 2:
        return {b_.call("mul.Tensor", {term.id, n}, shape_),
                term.low * n,
                term.high * n,
                fmt::format("{} * {}", text, inside),
                fmt::format("torch.mul({}, {})", term.calls, text),
                fmt::format("{}.mul({})", object, text)};
      default:
        return {b_.call("div.Tensor", {term.id, n}, shape_),
                term.low / n,
                term.high / n,
                fmt::format("{} / {}", inside, text),
                fmt::format("torch.div({}, {})", term.calls, text),
                fmt::format("{}.div({})", object, text)};
    }
  }
  Term function(const Term& term) {
    struct Function {
      const char* op;
      const char* name;
      double low, high;
    };
    constexpr Function kFunctions[] = {{"sigmoid.default", "sigmoid", 0, 1},
                                       {"tanh.default", "tanh", -1, 1},
                                       {"sin.default", "sin", -1, 1},
                                       {"abs.default", "abs", 0, 0},
                                       {"relu.default", "relu", 0, 0}};
    const Function& f = kFunctions[b_.rng.below(std::size(kFunctions))];
    const double high = f.high > 0 ? f.high : std::max(-term.low, term.high);
    return {b_.call(f.op, {term.id}, shape_),
            f.low,
            high,
            fmt::format("torch.{}({})", f.name, term.plain),
            fmt::format("torch.{}({})", f.name, term.calls),
            fmt::format("{}.{}()", wrapped(term.methods), f.name)};
  }
  Term combined(const Term& a, const Term& b) {
    const double a_most = std::max(-a.low, a.high), b_most = std::max(-b.low, b.high);
    const std::string left = wrapped(a.plain), right = wrapped(b.plain);
    const std::string object = wrapped(a.methods);
    switch (b_.rng.below(3)) {
      case 0:
        return {b_.call("add.Tensor", {a.id, b.id}, shape_),
                a.low + b.low,
                a.high + b.high,
                fmt::format("{} + {}", a.plain, b.plain),
                fmt::format("torch.add({}, {})", a.calls, b.calls),
                fmt::format("{}.add({})", object, b.methods)};
      case 1:
        return {b_.call("mul.Tensor", {a.id, b.id}, shape_),
                -a_most * b_most,
                a_most * b_most,
                fmt::format("{} * {}", left, right),
                fmt::format("torch.mul({}, {})", a.calls, b.calls),
                fmt::format("{}.mul({})", object, b.methods)};
      default: {
        const ValueId below = b_.call("abs.default", {b.id}, shape_);
        const ValueId shifted = b_.call("add.Tensor", {below, 1.0}, shape_);
        return {b_.call("div.Tensor", {a.id, shifted}, shape_),
                -a_most,
                a_most,
                fmt::format("{} / (torch.abs({}) + 1.0)", left, b.plain),
                fmt::format("torch.div({}, torch.add(torch.abs({}), 1.0))", a.calls, b.calls),
                fmt::format("{}.div({}.abs().add(1.0))", object, wrapped(b.methods))};
      }
    }
  }

  Builder& b_;
  Dims shape_;
  bool two_;
};

void expression(Builder& b) {
  const Dims shape = b.x().shape;
  const bool two = b.chance(0.4);
  if (two) b.companion(shape);
  const Term term = Expression(b, two).make(static_cast<int>(b.between(2, 3)));
  b.text("formula", term.plain);
  b.text("calls", term.calls);
  b.text("methods", term.methods);
  if (term.id.is_input()) {
    const ValueId made = b.call("mul.Tensor", {term.id, 1.0}, shape);
    b.result(made, shape);
    return;
  }
  Value& out = b.result(term.id, shape);
  out.range(std::min(term.low, term.high), std::max(term.low, term.high));
}
bool is_expression_base(const Value& x, const Limits& limits) {
  return has_elements(x, limits) && x.magnitude() < 20 && !x.centred;
}

OpSpec expression_operator() {
  return {.name = "expression",
          .weight = 3,
          .fits = is_expression_base,
          .build = expression,
          .words = "the formula {formula}",
          .ways = {{"", "{formula}"},
                   {"", "{calls}"},
                   {"", "{methods}"},
                   {"", R"({t:value} = {formula}
{t:value})"},
                   {"", R"({t:value} = {calls}
{t:value})"}}};
}

}  // namespace

std::vector<OpSpec> expression_operators() {
  return {expression_operator()};
}

}  // namespace kw::writer::generate
