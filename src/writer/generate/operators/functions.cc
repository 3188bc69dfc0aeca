// Elementary functions of one element.
#include <algorithm>
#include <cmath>

#include "writer/generate/operators.h"

namespace kw::writer::generate {
namespace {

// Some above 0 and some below.
bool is_mixed_number(const Value& x, const Limits& limits) {
  return is_number(x, limits) && !x.shape.empty() && x.low < -0.2 && x.high > 0.2 &&
         x.magnitude() < 50;
}
bool is_small_number(const Value& x, const Limits& limits) {
  return is_number(x, limits) && x.magnitude() < 8;
}
bool is_positive(const Value& x, const Limits& limits) {
  return is_number(x, limits) && x.positive();
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
  b.flag("square", exponent == 2);
  b.flag("cube", exponent == 3);
  b.flag("fourth", exponent == 4);
  Value& out = b.pointwise("pow.Tensor_Scalar", {exponent});
  const double high = std::pow(out.magnitude(), static_cast<double>(exponent));
  out.range(exponent % 2 == 0 ? 0 : -high, high);
}
OpSpec neg_operator() {
  return {.name = "neg",
          .weight = 0.5,
          .fits = has_elements,
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
          .fits = has_elements,
          .build = absolute,
          .words = "the absolute value",
          .ways = {{"", "torch.abs({x})"},
                   {"", "{x}.abs()"},
                   {"", "abs({x})"},
                   {"", "torch.absolute({x})"},
                   {"", "torch.maximum({x}, -{x})"},
                   {"", "torch.where({x} < 0, -{x}, {x})"}},
          .keeps_positive = true};
}

OpSpec square_operator() {
  return {.name = "square",
          .weight = 1.5,
          .fits = is_small_number,
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
          .fits = is_small_number,
          .build = exponential,
          .words = "the exponential",
          .ways = {{"", "torch.exp({x})"},
                   {"", "{x}.exp()"},
                   {"", "math.e ** {x}"},
                   {"", "torch.expm1({x}) + 1"},
                   {"", "torch.special.exp2({x} * 1.4426950408889634)"}},
          .half = false};
}

OpSpec sqrt_operator() {
  return {.name = "sqrt",
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
          .weight = 0.7,
          .fits = has_elements,
          .build = wave,
          .words = "the {function}",
          .ways = {{"", "torch.sin({x})", "sine"},
                   {"", "{x}.sin()", "sine"},
                   {"", "torch.cos({x} - math.pi / 2)", "sine"},
                   {"", "torch.cos(math.pi / 2 - {x})", "sine"},
                   {"", "2 * torch.sin({x} / 2) * torch.cos({x} / 2)", "sine"},
                   {"", "torch.cos({x})", "!sine"},
                   {"", "{x}.cos()", "!sine"},
                   {"", "torch.sin({x} + math.pi / 2)", "!sine"},
                   {"", "1 - 2 * torch.sin({x} / 2) ** 2", "!sine"},
                   {"", "2 * torch.cos({x} / 2).square() - 1", "!sine"}}};
}

OpSpec erf_operator() {
  return {.name = "erf",
          .weight = 0.5,
          .fits = is_mixed_number,
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
          .weight = 2,
          .fits = is_mixed_number,
          .build = clamp,
          .words = "clamping to {min_value} .. {max_value}",
          .ways = {{"", "torch.clamp({x}, min={min_value}, max={max_value})"},
                   {"", "torch.clamp({x}, {min_value}, {max_value})"},
                   {"", "{x}.clamp({min_value}, {max_value})"},
                   {"", "torch.clip({x}, {min_value}, {max_value})"},
                   {"", "{x}.clamp(min={min_value}).clamp(max={max_value})"},
                   {"", "torch.clamp_max(torch.clamp_min({x}, {min_value}), {max_value})"}},
          .makes_equal = true};
}

OpSpec clamp_min_operator() {
  return {.name = "clamp_min",
          .fits = is_mixed_number,
          .build = floor_clamp,
          .words = "raising what is below {min_value} to it,",
          .ways = {{"", "torch.clamp({x}, min={min_value})"},
                   {"", "{x}.clamp(min={min_value})"},
                   {"", "torch.clamp_min({x}, {min_value})"},
                   {"", "torch.maximum({x}, torch.full_like({x}, {min_value}))"},
                   {"", "{x}.clamp_min({min_value})"}},
          .makes_equal = true};
}

OpSpec power_operator() {
  return {.name = "power",
          .weight = 0.7,
          .fits = is_small_number,
          .build = power,
          .words = "the power {exponent}",
          .ways = {{"", "{x} ** {exponent}"},
                   {"", "torch.pow({x}, {exponent})"},
                   {"", "{x}.pow({exponent})"},
                   {"", "{x} * {x}", "square"},
                   {"", "{x} * {x} * {x}", "cube"},
                   {"", "torch.square(torch.square({x}))", "fourth"},
                   {"", "torch.float_power({x}, {exponent}).to({x}.dtype)"}}};
}

}  // namespace

std::vector<OpSpec> function_operators() {
  return in_half_too({neg_operator(), abs_operator(), square_operator(), exp_operator(),
                      sqrt_operator(), log1p_operator(), wave_operator(), erf_operator(),
                      clamp_operator(), clamp_min_operator(), power_operator()});
}

}  // namespace kw::writer::generate
