// Arithmetic, one element at a time.
#include <algorithm>

#include "writer/generate/operators.h"

namespace kw::writer::generate {
namespace {

bool is_tensor(const Value& x, const Limits&) {
  return x.dtype == task::DType::kFloat32 && x.magnitude() < 1e4;
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

constexpr std::string_view kFamily = "elementwise";

OpSpec scale_operator() {
  return {.name = "scale",
          .family = kFamily,
          .weight = 3,
          .fits = is_tensor,
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
          .family = kFamily,
          .weight = 2,
          .fits = is_tensor,
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
          .family = kFamily,
          .weight = 2,
          .fits = is_tensor,
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
          .family = kFamily,
          .weight = 2,
          .fits = is_tensor,
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
          .family = kFamily,
          .weight = 4,
          .fits = is_tensor,
          .build = residual,
          .words = "adding another tensor of its shape",
          .ways = {{"", "{x} + {y}"},
                   {"", "torch.add({x}, {y})"},
                   {"", "{x}.add({y})"},
                   {"", "{y} + {x}"},
                   {"", "torch.sum(torch.stack([{x}, {y}]), dim=0)"}}};
}

OpSpec multiply_operator() {
  return {.name = "multiply",
          .family = kFamily,
          .weight = 2,
          .fits = is_tensor,
          .build = multiply,
          .words = "multiplying by another tensor of its shape",
          .ways = {{"", "{x} * {y}"},
                   {"", "torch.mul({x}, {y})"},
                   {"", "{x}.mul({y})"},
                   {"", "{y} * {x}"},
                   {"", "torch.multiply({x}, {y})"}}};
}

}  // namespace

std::vector<OpSpec> elementwise_operators() {
  return {scale_operator(),  add_constant_operator(), subtract_constant_operator(),
          divide_operator(), residual_operator(),     multiply_operator()};
}

}  // namespace kw::writer::generate
