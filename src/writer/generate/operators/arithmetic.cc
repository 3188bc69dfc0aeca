// Functions and random arithmetic of one element, with parameters, masks and comparisons.
#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "writer/generate/operators.h"
#include "writer/generate/python_text.h"

namespace kw::writer::generate {
namespace {

using task::DType;

bool is_any(const Value& x, const Limits&) {
  return x.dtype == DType::kFloat32 && x.magnitude() < 1e4;
}
// Some above 0 and some below.
bool is_mixed(const Value& x, const Limits& limits) {
  return is_any(x, limits) && !x.shape.empty() && x.low < -0.2 && x.high > 0.2 &&
         x.magnitude() < 50;
}
bool is_small(const Value& x, const Limits& limits) {
  return is_any(x, limits) && x.magnitude() < 8;
}
bool is_positive(const Value& x, const Limits& limits) {
  return is_any(x, limits) && x.positive();
}
bool has_channels(const Value& x, const Limits& limits) {
  return is_any(x, limits) && x.shape.size() >= 2 && x.shape[1].n >= 2;
}
bool has_shape(const Value& x, const Limits& limits) {
  return is_any(x, limits) && !x.shape.empty() && elements(x.shape) >= 4;
}

void negate(Builder& b) {
  Value& out = b.pointwise("neg.default");
  out.range(-out.high, -out.low);
}
void absolute(Builder& b) {
  Value& out = b.pointwise("abs.default");
  out.range(0, out.magnitude());
  out.centred = false;
}
void square(Builder& b) {
  const Dims shape = b.x().shape;
  Value& out = b.result(b.call("mul.Tensor", {b.x(), b.x()}, shape), shape);
  out.range(0, out.magnitude() * out.magnitude());
}
void exponential(Builder& b) {
  Value& out = b.pointwise("exp.default");
  out.range(0, std::exp(out.high));
  out.centred = false;
}
void square_root(Builder& b) {
  const double eps = b.real("eps", b.pick({1e-5, 1e-6, 1e-3, 0.1}));
  const Dims shape = b.x().shape;
  const ValueId shifted = b.call("add.Tensor", {b.x(), eps}, shape);
  Value& out = b.result(b.call("sqrt.default", {shifted}, shape), shape);
  out.range(0, std::sqrt(out.high + eps));
}
void log_one_plus(Builder& b) {
  Value& out = b.pointwise("log1p.default");
  out.range(0, std::log1p(out.high));
}
void wave(Builder& b) {
  const bool sine = b.flag("sine", b.chance(0.5));
  b.text("function", sine ? "sine" : "cosine");
  b.pointwise(sine ? "sin.default" : "cos.default").range(-1, 1);
}
void error_function(Builder& b) {
  b.pointwise("erf.default").range(b.x().positive() ? 0 : -1, 1);
}
void clamp(Builder& b) {
  const double low = b.real("min_value", b.number({-1.0, -0.5, -2.0}));
  const double high = b.real("max_value", b.number({1.0, 0.5, 2.0}));
  b.pointwise("clamp.default", {low, high}).range(low, high);
}
void floor_clamp(Builder& b) {
  const double low = b.real("min_value", b.number({-1.0, -0.5, 0.1}));
  Value& out = b.pointwise("clamp.default", {low, nullptr});
  out.range(std::max(out.low, low), std::max(out.high, low));
}
void power(Builder& b) {
  const std::int64_t exponent = b.whole("exponent", b.pick<std::int64_t>({2, 3, 3, 4}));
  b.flag("cube", exponent == 3);
  Value& out = b.pointwise("pow.Tensor_Scalar", {exponent});
  const double high = std::pow(out.magnitude(), static_cast<double>(exponent));
  out.range(exponent % 2 == 0 ? 0 : -high, high);
}
void affine(Builder& b) {
  const double slope = b.real("scale", b.number({0.5, 2.0, 1.5, 0.1, 3.0}));
  const double shift = b.real("shift", b.number({1.0, 0.5, 0.25, 2.0}));
  const Dims shape = b.x().shape;
  const ValueId scaled = b.call("mul.Tensor", {b.x(), slope}, shape);
  Value& out = b.result(b.call("add.Tensor", {scaled, shift}, shape), shape);
  out.range(out.low * slope + shift, out.high * slope + shift);
}

// A parameter of one number a channel
Dims channel_shape(const Dims& shape) {
  Dims out = {shape[1]};
  for (std::size_t d = 2; d < shape.size(); ++d) out.push_back({1, 1});
  return out;
}
std::string channel_text(const Dims& shape) {
  std::string out = "-1";
  for (std::size_t d = 2; d < shape.size(); ++d) out += ", 1";
  return out;
}
void channel_bias(Builder& b) {
  const Dims shape = b.x().shape;
  b.text("spread", channel_text(shape));
  const Value& bias = b.weight("bias", channel_shape(shape), Start::kWeight, {1, 1});
  Value& out = b.result(b.call("add.Tensor", {b.x(), bias}, shape), shape);
  out.range(out.low - 3, out.high + 3);
}
void channel_scale(Builder& b) {
  const Dims shape = b.x().shape;
  b.text("spread", channel_text(shape));
  const Value& scale = b.weight("scale", channel_shape(shape), Start::kOnes);
  b.result(b.call("mul.Tensor", {b.x(), scale}, shape), shape);
}

void masked_fill(Builder& b) {
  const Dims shape = b.x().shape;
  const double value = b.real("fill_value", b.pick({0.0, 0.0, -1.0, 1.0, -2.5}));
  const ValueId mask = b.input("mask", shape, Filling::kMask).id;
  const ValueId fill = b.call("full.default", {std::vector<IntExpr>{}, value}, {});
  Value& out = b.result(b.call("where.self", {mask, fill, b.x()}, shape), shape);
  out.range(std::min(out.low, value), std::max(out.high, value));
}
void extreme_of_two(Builder& b) {
  const Dims shape = b.x().shape;
  const bool largest = b.flag("largest", b.chance(0.5));
  const Value& y = b.input("other", shape);
  Value& out =
      b.result(b.call(largest ? "maximum.default" : "minimum.default", {b.x(), y}, shape), shape);
  out.range(std::min(b.x().low, b.in(1).low), std::max(b.x().high, b.in(1).high));
}
void subtract_other(Builder& b) {
  const Dims shape = b.x().shape;
  const Value& y = b.input("other", shape);
  Value& out = b.result(b.call("sub.Tensor", {b.x(), y}, shape), shape);
  out.range(b.x().low - b.in(1).high, b.x().high - b.in(1).low);
}
void subtract_mean(Builder& b) {
  const Dims shape = b.x().shape;
  Dims left = shape;
  left.back() = {1, 1};
  const auto last = static_cast<std::int64_t>(shape.size()) - 1;
  const ValueId mean = b.call("mean.dim", {b.x(), std::vector<IntExpr>{last}, true}, left);
  Value& out = b.result(b.call("sub.Tensor", {b.x(), mean}, shape), shape);
  out.range(-out.magnitude(), out.magnitude());
  out.centred = true;
}
bool is_long(const Value& x, const Limits& limits) {
  return has_shape(x, limits) && x.shape.back().n >= 4 && !x.centred && !x.plateaus;
}
void compare(Builder& b) {
  const Dims shape = b.x().shape;
  const bool above = b.flag("above", b.chance(0.6));
  const Value& y = b.input("other", shape);
  const ValueId is = b.call(above ? "gt.Tensor" : "le.Tensor", {b.x(), y}, shape, DType::kBool);
  Value& ones = b.result(b.call("_to_copy.default", {is, DType::kFloat32}, shape), shape);
  ones.range(0, 1);
  ones.plateaus = true;
}

// ---- a random expression over x, numbers, and perhaps another tensor ----
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
  return has_shape(x, limits) && x.magnitude() < 20 && !x.centred;
}

constexpr std::string_view kFamily = "elementwise";

OpSpec neg_operator() {
  return {.name = "neg",
          .family = kFamily,
          .weight = 0.5,
          .fits = has_shape,
          .build = negate,
          .words = "negation",
          .ways = {{"", "-{x}"},
                   {"", "torch.neg({x})"},
                   {"", "{x}.neg()"},
                   {"", "{x} * -1"},
                   {"", "torch.negative({x})"},
                   {"", "0 - {x}"}}};
}

OpSpec abs_operator() {
  return {.name = "abs",
          .family = kFamily,
          .fits = has_shape,
          .build = absolute,
          .words = "the absolute value",
          .ways = {{"", "torch.abs({x})"},
                   {"", "{x}.abs()"},
                   {"", "abs({x})"},
                   {"", "torch.absolute({x})"},
                   {"", "torch.maximum({x}, -{x})"},
                   {"", "torch.where({x} < 0, -{x}, {x})"}}};
}

OpSpec square_operator() {
  return {.name = "square",
          .family = kFamily,
          .weight = 1.5,
          .fits = is_small,
          .build = square,
          .words = "the square",
          .ways = {{"", "{x} ** 2"},
                   {"", "{x} * {x}"},
                   {"", "torch.square({x})"},
                   {"", "{x}.pow(2)"},
                   {"", "torch.pow({x}, 2)"},
                   {"", "torch.mul({x}, {x})"}}};
}

OpSpec exp_operator() {
  return {.name = "exp",
          .family = kFamily,
          .fits = is_small,
          .build = exponential,
          .words = "the exponential",
          .ways = {{"", "torch.exp({x})"},
                   {"", "{x}.exp()"},
                   {"", "math.e ** {x}"},
                   {"", "torch.expm1({x}) + 1"},
                   {"", "torch.special.exp2({x} * 1.4426950408889634)"}}};
}

OpSpec sqrt_operator() {
  return {.name = "sqrt",
          .family = kFamily,
          .fits = is_positive,
          .build = square_root,
          .words = "the square root, with {eps} added below it,",
          .ways = {{"", "torch.sqrt({x} + {eps})"},
                   {"", "({x} + {eps}).sqrt()"},
                   {"", "({x} + {eps}) ** 0.5"},
                   {"", "torch.pow({x} + {eps}, 0.5)"},
                   {"", "1.0 / torch.rsqrt({x} + {eps})"}}};
}

OpSpec log1p_operator() {
  return {.name = "log1p",
          .family = kFamily,
          .weight = 0.7,
          .fits = is_positive,
          .build = log_one_plus,
          .words = "log(1 + x)",
          .ways = {{"", "torch.log1p({x})"},
                   {"", "{x}.log1p()"},
                   {"", "torch.log({x} + 1)"},
                   {"", "torch.log(1.0 + {x})"},
                   {"", "({x} + 1.0).log()"}}};
}

OpSpec wave_operator() {
  return {.name = "wave",
          .family = kFamily,
          .weight = 0.7,
          .fits = has_shape,
          .build = wave,
          .words = "the {function}",
          .ways = {{"", "torch.sin({x})", "sine"},
                   {"", "{x}.sin()", "sine"},
                   {"", "torch.cos({x} - math.pi / 2)", "sine"},
                   {"", "torch.cos({x})", "!sine"},
                   {"", "{x}.cos()", "!sine"},
                   {"", "torch.sin({x} + math.pi / 2)", "!sine"}}};
}

OpSpec erf_operator() {
  return {.name = "erf",
          .family = kFamily,
          .weight = 0.5,
          .fits = is_mixed,
          .build = error_function,
          .words = "the error function",
          .ways = {{"", "torch.erf({x})"},
                   {"", "{x}.erf()"},
                   {"", "torch.special.erf({x})"},
                   {"", "1 - torch.erfc({x})"},
                   {"", "1.0 - torch.special.erfc({x})"}}};
}

OpSpec clamp_operator() {
  return {.name = "clamp",
          .family = kFamily,
          .weight = 2,
          .fits = is_mixed,
          .build = clamp,
          .words = "clamping to {min_value} .. {max_value}",
          .ways = {{"", "torch.clamp({x}, min={min_value}, max={max_value})"},
                   {"", "torch.clamp({x}, {min_value}, {max_value})"},
                   {"", "{x}.clamp({min_value}, {max_value})"},
                   {"", "torch.clip({x}, {min_value}, {max_value})"},
                   {"", "{x}.clamp(min={min_value}).clamp(max={max_value})"},
                   {"", "torch.clamp_max(torch.clamp_min({x}, {min_value}), {max_value})"}}};
}

OpSpec clamp_min_operator() {
  return {.name = "clamp_min",
          .family = kFamily,
          .fits = is_mixed,
          .build = floor_clamp,
          .words = "raising what is below {min_value} to it,",
          .ways = {{"", "torch.clamp({x}, min={min_value})"},
                   {"", "{x}.clamp(min={min_value})"},
                   {"", "torch.clamp_min({x}, {min_value})"},
                   {"", "torch.maximum({x}, torch.full_like({x}, {min_value}))"},
                   {"", "{x}.clamp_min({min_value})"}}};
}

OpSpec power_operator() {
  return {.name = "power",
          .family = kFamily,
          .weight = 0.7,
          .fits = is_small,
          .build = power,
          .words = "the power {exponent}",
          .ways = {{"", "{x} ** {exponent}"},
                   {"", "torch.pow({x}, {exponent})"},
                   {"", "{x}.pow({exponent})"},
                   {"", "{x} * {x} * {x}", "cube"},
                   {"", "torch.float_power({x}, {exponent}).to({x}.dtype)"}}};
}

OpSpec affine_operator() {
  return {.name = "affine",
          .family = kFamily,
          .weight = 1.5,
          .fits = has_shape,
          .build = affine,
          .words = "x times {scale} plus {shift}, x being",
          .ways = {{"", "{x} * {scale} + {shift}"},
                   {"", "torch.add(torch.mul({x}, {scale}), {shift})"},
                   {"", "{shift} + {scale} * {x}"},
                   {"", "{x}.mul({scale}).add({shift})"},
                   {"", "torch.add({shift} * torch.ones_like({x}), {x}, alpha={scale})"}}};
}

OpSpec channel_bias_operator() {
  return {.name = "channel_bias",
          .family = kFamily,
          .weight = 2.5,
          .domain = Domain::kImage,
          .fits = has_channels,
          .build = channel_bias,
          .words = "adding a bias to each channel",
          .ways = {{"", "{x} + {bias}"},
                   {"", "torch.add({x}, {bias})"},
                   {"", "{x}.add({bias})"},
                   {"", "{bias} + {x}"},
                   {"", "{x} + {bias}.view({spread})"},
                   {"", "{x} - (-{bias})"}}};
}

OpSpec channel_scale_operator() {
  return {.name = "channel_scale",
          .family = kFamily,
          .weight = 1.5,
          .domain = Domain::kImage,
          .fits = has_channels,
          .build = channel_scale,
          .words = "scaling each channel",
          .ways = {{"", "{x} * {scale}"},
                   {"", "torch.mul({x}, {scale})"},
                   {"", "{x}.mul({scale})"},
                   {"", "{scale} * {x}"},
                   {"", "{x} * {scale}.reshape({spread})"}}};
}

OpSpec masked_fill_operator() {
  return {.name = "masked_fill",
          .family = kFamily,
          .fits = has_shape,
          .build = masked_fill,
          .words = "putting {fill_value} where a mask is true",
          .ways = {{"", "{x}.masked_fill({y}, {fill_value})"},
                   {"", "torch.masked_fill({x}, {y}, {fill_value})"},
                   {"", "torch.where({y}, {fill_value}, {x})"},
                   {"", "torch.where({y}, torch.full_like({x}, {fill_value}), {x})"},
                   {"", "{x} * ~{y} + {fill_value} * {y}"}}};
}

OpSpec extreme_of_two_operator() {
  return {.name = "extreme_of_two",
          .family = kFamily,
          .fits = has_shape,
          .build = extreme_of_two,
          .words = "the larger (largest: {largest}, else the smaller) of two elements,",
          .ways = {{"", "torch.maximum({x}, {y})", "largest"},
                   {"", "torch.max({x}, {y})", "largest"},
                   {"", "torch.where({x} > {y}, {x}, {y})", "largest"},
                   {"", "torch.minimum({x}, {y})", "!largest"},
                   {"", "torch.min({x}, {y})", "!largest"},
                   {"", "torch.where({x} < {y}, {x}, {y})", "!largest"},
                   {"", "torch.fmin({x}, {y})", "!largest"}}};
}

OpSpec subtract_operator() {
  return {.name = "subtract",
          .family = kFamily,
          .weight = 1.5,
          .fits = has_shape,
          .build = subtract_other,
          .words = "the difference of two tensors,",
          .ways = {{"", "{x} - {y}"},
                   {"", "torch.sub({x}, {y})"},
                   {"", "{x}.sub({y})"},
                   {"", "torch.subtract({x}, {y})"},
                   {"", "torch.add({x}, {y}, alpha=-1)"}}};
}

OpSpec subtract_mean_operator() {
  return {.name = "subtract_mean",
          .family = kFamily,
          .tier = 2,
          .fits = is_long,
          .build = subtract_mean,
          .words = "subtracting the mean of the last dimension",
          .ways = {{"", "{x} - {x}.mean(dim=-1, keepdim=True)"},
                   {"", "{x} - torch.mean({x}, dim=-1, keepdim=True)"},
                   {"", "torch.sub({x}, {x}.mean(-1, keepdim=True))"},
                   {"", "{x} - ({x}.sum(dim=-1, keepdim=True) / {x}.shape[-1])"},
                   {"", R"({t:mu} = torch.mean({x}, -1).unsqueeze(-1)
{x} - {t:mu})"}}};
}

OpSpec compare_operator() {
  return {.name = "compare",
          .family = kFamily,
          .weight = 0.7,
          .fits = has_shape,
          .build = compare,
          .words =
              "1 where the first is greater (above: {above}, else not greater), else 0, for two "
              "tensors,",
          .ways = {{"", "({x} > {y}).float()", "above"},
                   {"", "torch.gt({x}, {y}).to({x}.dtype)", "above"},
                   {"", "torch.where({x} > {y}, 1.0, 0.0)", "above"},
                   {"", "({x} <= {y}).float()", "!above"},
                   {"", "{x}.le({y}).to(torch.float32)", "!above"},
                   {"", "torch.where({x} > {y}, torch.zeros_like({x}), torch.ones_like({x}))",
                    "!above"}}};
}

OpSpec expression_operator() {
  return {.name = "expression",
          .family = kFamily,
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

std::vector<OpSpec> arithmetic_operators() {
  return {neg_operator(),          abs_operator(),
          square_operator(),       exp_operator(),
          sqrt_operator(),         log1p_operator(),
          wave_operator(),         erf_operator(),
          clamp_operator(),        clamp_min_operator(),
          power_operator(),        affine_operator(),
          channel_bias_operator(), channel_scale_operator(),
          masked_fill_operator(),  extreme_of_two_operator(),
          subtract_operator(),     subtract_mean_operator(),
          compare_operator(),      expression_operator()};
}

}  // namespace kw::writer::generate
