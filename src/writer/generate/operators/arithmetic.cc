// Arithmetic with constants, parameters, masks and other tensors, and comparisons.
#include <algorithm>

#include "writer/generate/operators.h"

namespace kw::writer::generate {
namespace {

using tensor::DType;

bool has_two_channels(const Value& x, const Limits& limits) {
  return is_number(x, limits) && x.shape.size() >= 2 && x.shape[1].n >= 2;
}

void scale(Builder& b) {
  const double factor = b.real("scaling_factor", b.number({0.5, 2.0, 0.1, 1.5, 0.125, 3.0}));
  Value& out = b.pointwise("mul.Tensor", {factor});
  out.range(out.low * factor, out.high * factor);
}
void add_constant(Builder& b) {
  const double value = b.real("add_value", b.number({1.0, 0.5, 2.0, 0.1}));
  Value& out = b.pointwise("add.Tensor", {value});
  out.range(out.low + value, out.high + value);
}
void subtract_constant(Builder& b) {
  const double value = b.real("subtract_value", b.number({0.5, 1.0, 2.0, 0.2}));
  Value& out = b.pointwise("sub.Tensor", {value});
  out.range(out.low - value, out.high - value);
}
void divide(Builder& b) {
  const double value = b.real("divisor", b.number({2.0, 4.0, 10.0, 0.5, 8.0}));
  Value& out = b.pointwise("div.Tensor", {value});
  out.range(out.low / value, out.high / value);
}
void residual(Builder& b) {
  const Dims shape = b.x().shape;
  const Value& y = b.companion(shape);
  Value& out = b.result(b.call("add.Tensor", {b.x(), y}, shape), shape);
  out.range(b.x().low + b.in(1).low, b.x().high + b.in(1).high);
}
void multiply(Builder& b) {
  const Dims shape = b.x().shape;
  const Value& y = b.companion(shape);
  Value& out = b.result(b.call("mul.Tensor", {b.x(), y}, shape), shape);
  const double high = b.x().magnitude() * b.in(1).magnitude();
  out.range(b.x().positive() && b.in(1).positive() ? 0 : -high, high);
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
  const Value& y = b.other(shape);
  Value& out =
      b.result(b.call(largest ? "maximum.default" : "minimum.default", {b.x(), y}, shape), shape);
  out.range(std::min(b.x().low, b.in(1).low), std::max(b.x().high, b.in(1).high));
}
void subtract_other(Builder& b) {
  const Dims shape = b.x().shape;
  const Value& y = b.other(shape);
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
bool has_long_rows(const Value& x, const Limits& limits) {
  return has_elements(x, limits) && x.shape.back().n >= 4 && !x.centred && !x.plateaus;
}
void compare(Builder& b) {
  const Dims shape = b.x().shape;
  const bool above = b.flag("above", b.chance(0.6));
  const Value& y = b.other(shape);
  const ValueId is = b.call(above ? "gt.Tensor" : "le.Tensor", {b.x(), y}, shape, DType::kBool);
  Value& ones = b.result(b.call("_to_copy.default", {is, DType::kFloat32}, shape), shape);
  ones.range(0, 1);
  ones.plateaus = true;
}

OpSpec scale_operator() {
  return {.name = "scale",
          .weight = 3,
          .fits = is_number,
          .build = scale,
          .words = "scaling by {scaling_factor}",
          .ways = {{"", "{x} * {scaling_factor}"},
                   {"", "torch.mul({x}, {scaling_factor})"},
                   {"", "{x}.mul({scaling_factor})"},
                   {"", "{scaling_factor} * {x}"},
                   {"", "torch.multiply({x}, {scaling_factor})"}}};
}

OpSpec add_constant_operator() {
  return {.name = "add_constant",
          .weight = 2,
          .fits = is_number,
          .build = add_constant,
          .words = "adding {add_value}",
          .ways = {{"", "{x} + {add_value}"},
                   {"", "torch.add({x}, {add_value})"},
                   {"", "{x}.add({add_value})"},
                   {"", "{add_value} + {x}"},
                   {"", "torch.sub({x}, -{add_value})"}}};
}

OpSpec subtract_constant_operator() {
  return {.name = "subtract_constant",
          .weight = 2,
          .fits = is_number,
          .build = subtract_constant,
          .words = "subtracting {subtract_value}",
          .ways = {{"", "{x} - {subtract_value}"},
                   {"", "torch.sub({x}, {subtract_value})"},
                   {"", "{x}.sub({subtract_value})"},
                   {"", "torch.subtract({x}, {subtract_value})"},
                   {"", "-{subtract_value} + {x}"}}};
}

OpSpec divide_operator() {
  return {.name = "divide",
          .weight = 2,
          .fits = is_number,
          .build = divide,
          .words = "dividing by {divisor}",
          .ways = {{"", "{x} / {divisor}"},
                   {"", "torch.div({x}, {divisor})"},
                   {"", "{x}.div({divisor})"},
                   {"", "torch.true_divide({x}, {divisor})"},
                   {"", "{x} * (1.0 / {divisor})"}}};
}

OpSpec residual_operator() {
  return {.name = "residual",
          .weight = 4,
          .fits = is_number,
          .build = residual,
          .words = "adding another tensor of its shape",
          .ways = {{"", "{x} + {y}"},
                   {"", "torch.add({x}, {y})"},
                   {"", "{x}.add({y})"},
                   {"", "{y} + {x}"},
                   {"", "torch.sum(torch.stack([{x}, {y}]), dim=0)"}},
          .join = {.weight = 3, .adds = true}};
}

OpSpec multiply_operator() {
  return {.name = "multiply",
          .weight = 2,
          .fits = is_number,
          .build = multiply,
          .words = "multiplying by another tensor of its shape",
          .ways = {{"", "{x} * {y}"},
                   {"", "torch.mul({x}, {y})"},
                   {"", "{x}.mul({y})"},
                   {"", "{y} * {x}"},
                   {"", "torch.multiply({x}, {y})"}},
          .join = {.weight = 2.5}};
}

OpSpec affine_operator() {
  return {.name = "affine",
          .weight = 1.5,
          .fits = has_elements,
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
          .weight = 2.5,
          .domain = Domain::kImage,
          .fits = has_two_channels,
          .build = channel_bias,
          .words = "adding a bias to each channel",
          .ways = {{"", "{x} + {bias}"},
                   {"", "torch.add({x}, {bias})"},
                   {"", "{x}.add({bias})"},
                   {"", "{bias} + {x}"},
                   {"", "{x} + {bias}.view({spread})"},
                   {"", "{x} - (-{bias})"}},
          .shifts_channels = true};
}

OpSpec channel_scale_operator() {
  return {.name = "channel_scale",
          .weight = 1.5,
          .domain = Domain::kImage,
          .fits = has_two_channels,
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
          .fits = has_elements,
          .build = masked_fill,
          .words = "putting {fill_value} where a mask is true",
          .ways = {{"", "{x}.masked_fill({y}, {fill_value})"},
                   {"", "torch.masked_fill({x}, {y}, {fill_value})"},
                   {"", "torch.where({y}, {fill_value}, {x})"},
                   {"", "torch.where({y}, torch.full_like({x}, {fill_value}), {x})"},
                   {"", "{x} * ~{y} + {fill_value} * {y}"}},
          .makes_equal = true,
          .half = false};
}

OpSpec extreme_of_two_operator() {
  return {.name = "extreme_of_two",
          .fits = has_elements,
          .build = extreme_of_two,
          .words = "the larger (largest: {largest}, else the smaller) of two elements,",
          .ways = {{"", "torch.maximum({x}, {y})", "largest"},
                   {"", "torch.max({x}, {y})", "largest"},
                   {"", "torch.where({x} > {y}, {x}, {y})", "largest"},
                   {"", "{x}.maximum({y})", "largest"},
                   {"", "torch.fmax({x}, {y})", "largest"},
                   {"", "torch.stack([{x}, {y}]).amax(dim=0)", "largest"},
                   {"", "torch.minimum({x}, {y})", "!largest"},
                   {"", "torch.min({x}, {y})", "!largest"},
                   {"", "torch.where({x} < {y}, {x}, {y})", "!largest"},
                   {"", "torch.fmin({x}, {y})", "!largest"},
                   {"", "{x}.minimum({y})", "!largest"},
                   {"", "torch.stack([{x}, {y}], dim=0).min(dim=0).values", "!largest"}},
          .join = {.weight = 1}};
}

OpSpec subtract_operator() {
  return {.name = "subtract",
          .weight = 1.5,
          .fits = has_elements,
          .build = subtract_other,
          .words = "the difference of two tensors,",
          .ways = {{"", "{x} - {y}"},
                   {"", "torch.sub({x}, {y})"},
                   {"", "{x}.sub({y})"},
                   {"", "torch.subtract({x}, {y})"},
                   {"", "torch.add({x}, {y}, alpha=-1)"}},
          .join = {.weight = 1.5, .adds = true}};
}

OpSpec subtract_mean_operator() {
  return {.name = "subtract_mean",
          .tier = 2,
          .fits = has_long_rows,
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
          .weight = 0.7,
          .fits = has_elements,
          .build = compare,
          .words =
              "1 where the first is greater (above: {above}, else not greater), else 0, for two "
              "tensors,",
          .ways = {{"", "({x} > {y}).float()", "above"},
                   {"", "torch.gt({x}, {y}).to({x}.dtype)", "above"},
                   {"", "torch.where({x} > {y}, 1.0, 0.0)", "above"},
                   {"", "{y}.lt({x}).float()", "above"},
                   {"", "torch.clamp(torch.sign({x} - {y}), min=0)", "above"},
                   {"", "({x} <= {y}).float()", "!above"},
                   {"", "{x}.le({y}).to(torch.float32)", "!above"},
                   {"", "torch.where({x} > {y}, torch.zeros_like({x}), torch.ones_like({x}))",
                    "!above"},
                   {"", "1.0 - ({x} > {y}).float()", "!above"},
                   {"", "torch.logical_not({x} > {y}).to({x}.dtype)", "!above"}},
          .makes_equal = true,
          .two_valued = true,
          .half = false};
}

}  // namespace

std::vector<OpSpec> arithmetic_operators() {
  return in_half_too({scale_operator(), add_constant_operator(), subtract_constant_operator(),
                      divide_operator(), residual_operator(), multiply_operator(),
                      affine_operator(), channel_bias_operator(), channel_scale_operator(),
                      masked_fill_operator(), extreme_of_two_operator(), subtract_operator(),
                      subtract_mean_operator(), compare_operator()});
}

}  // namespace kw::writer::generate
